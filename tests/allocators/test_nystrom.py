"""Landmark rows, and how they are chosen."""

import numpy as np
import pytest

from aqka import InputError, Problem, Schedule, Training
from aqka.allocators import make_allocator
from aqka.allocators.baselines import Nystrom, NystromLeverage
from aqka.maths.sensitivity import krr_gradient
from aqka.maths.spectrum import Spectrum
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


def test_hybrid_takes_the_rows_with_the_largest_sensitivity():
    kernel, y = make_kernel(20), make_labels(20)
    problem = Problem(y, ridge=0.2)
    table = measured_table(problem, kernel)
    allocation = make_allocator("hybrid").ask(table, problem, 50_000, np.random.default_rng(0))
    spectrum = Spectrum.of(problem.reading.kernel(table))
    alpha = spectrum.solve(y, 0.2)
    sums = np.abs(krr_gradient(alpha, spectrum.solve(alpha, 0.2), 0.2)).sum(axis=1)
    assert set(allocation.landmarks.points) == set(np.argsort(sums)[-5:])
    assert allocation.landmarks.keep_block
    rows, cols = table.pairs(np.flatnonzero(allocation.shots))
    points = allocation.landmarks.points
    assert np.all(np.isin(rows, points) | np.isin(cols, points))
