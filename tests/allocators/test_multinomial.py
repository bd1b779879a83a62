import numpy as np

from aqka import Problem
from aqka.allocators import make_allocator
from tests.allocators.tables import measured_table
from tests.conftest import make_kernel, make_labels


def test_multinomial_draws_from_the_score_of_aqka():
    kernel, y = make_kernel(9), make_labels(9)
    problem = Problem(y, ridge=0.2)
    table = measured_table(problem, kernel)
    score = make_allocator("aqka").score(table, problem)
    shots = make_allocator("multinomial").ask(table, problem, 10**6, np.random.default_rng(0)).shots
    expected = 10**6 * score / score.sum()
    chi_square = np.sum((shots - expected) ** 2 / expected)
    assert abs(chi_square - (table.n_pairs - 1)) < 5 * np.sqrt(2 * table.n_pairs)
