import numpy as np

from aqka import Problem
from aqka.allocators.baselines import Shofar
from aqka.maths.spectrum import Spectrum
from tests.allocators.tables import measured_table
from tests.conftest import make_kernel, make_labels


def test_shofar_measures_only_inside_the_support():
    kernel, y = make_kernel(12), make_labels(12)
    problem = Problem(y, ridge=0.2)
    table = measured_table(problem, kernel)
    alpha = np.abs(Spectrum.of(problem.reading.kernel(table)).solve(y, 0.2))
    support = np.flatnonzero(alpha > 0.6 * alpha.max())
    assert 2 <= len(support) < 12
    shots = Shofar(threshold=0.6).ask(table, problem, 1000, np.random.default_rng(0)).shots
    rows, cols = table.pairs(np.flatnonzero(shots))
    assert set(rows) | set(cols) == set(support)
    inside = shots[shots > 0]
    assert len(inside) == len(support) * (len(support) - 1) // 2
    assert inside.max() - inside.min() <= 1


def test_shofar_with_a_support_of_one_point_measures_that_row():
    problem = Problem(make_labels(8), ridge=0.2)
    table = measured_table(problem, make_kernel(8))
    shots = Shofar(threshold=0.9999).ask(table, problem, 70, np.random.default_rng(0)).shots
    assert np.count_nonzero(shots) == 7
    assert set(shots[shots > 0].tolist()) == {10}
