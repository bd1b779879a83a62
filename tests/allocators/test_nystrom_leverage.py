import numpy as np

from aqka import Problem
from aqka.allocators.nystrom import NystromLeverage
from tests.allocators.tables import measured_table
from tests.conftest import make_labels


def test_leverage_landmarks_are_drawn_by_leverage():
    # A tight cluster shares its leverage, a lone point has its own: it is drawn more often.
    x = np.concatenate([np.full(15, 0.0), [50.0]])[:, None]
    kernel = np.exp(-((x - x.T) ** 2))
    problem = Problem(make_labels(16), ridge=0.5)
    table = measured_table(problem, kernel)
    allocator = NystromLeverage(landmarks=1)
    drawn = [
        allocator.choose(table, problem, np.random.default_rng(seed))[0] for seed in range(200)
    ]
    # Leverage of the lone point is about 0.67 of a total of about 1.6; uniform would give 1/16.
    assert np.mean(np.array(drawn) == 15) > 0.25
