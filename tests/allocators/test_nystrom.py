import numpy as np
import pytest

from aqka import InputError, Problem, Schedule, Training
from aqka.allocators import make_allocator
from aqka.allocators.nystrom import Nystrom
from tests.allocators.tables import measured_table
from tests.conftest import make_kernel, make_labels


@pytest.mark.parametrize("name", ["nystrom", "nystrom-leverage"])
def test_nystrom_measures_only_landmark_rows(name):
    kernel, y = make_kernel(20), make_labels(20)
    problem = Problem(y, ridge=0.2)
    table = measured_table(problem, kernel)
    allocation = make_allocator(name).ask(table, problem, 5000, np.random.default_rng(0))
    landmarks = allocation.landmarks.points
    assert len(set(landmarks.tolist())) == 5  # ⌈√20⌉
    assert not allocation.landmarks.keep_block
    rows, cols = table.pairs(np.flatnonzero(allocation.shots))
    assert np.all(np.isin(rows, landmarks) | np.isin(cols, landmarks))
    assert len(rows) == 5 * (2 * 20 - 5 - 1) // 2
    assert allocation.shots[allocation.shots > 0].max() - 5000 // len(rows) <= 1


def test_nystrom_refuses_rounds_and_impossible_counts():
    with pytest.raises(InputError, match="rounds must be 1 for Nystrom"):
        Training(Problem(make_labels(6)), 100, "nystrom", Schedule(rounds=2))
    with pytest.raises(InputError, match="landmarks must lie between 1 and 6, got 7"):
        Training(Problem(make_labels(6)), 100, Nystrom(landmarks=7))
    for wrong in (2.5, True, "3", 0):
        with pytest.raises(InputError, match="landmarks must be a whole number"):
            Nystrom(landmarks=wrong)
