import numpy as np

from aqka import Problem
from aqka.allocators import make_allocator
from tests.allocators.tables import measured_table
from tests.conftest import make_kernel, make_labels


def test_bernoulli_follows_the_deviation_alone():
    problem = Problem(make_labels(9), ridge=0.2)
    table = measured_table(problem, make_kernel(9))
    score = make_allocator("bernoulli").score(table, problem)
    np.testing.assert_array_equal(score, problem.reading.deviation(table))
    assert score.std() > 0.01
