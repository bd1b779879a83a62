from fractions import Fraction

import numpy as np
import pytest

from aqka import InputError, Problem
from aqka.core.problem import TargetScale, as_targets


@pytest.mark.parametrize("y", [[1, -1, 1], ["a", "b", "c"] * 2, [0.5, 2.0, -1.0]])
def test_what_an_allocator_is_handed_cannot_be_changed(y):
    kernel = np.eye(len(y))
    problem = Problem(y, true_kernel=kernel)
    for array in (problem.y, problem.true_kernel, problem.classes, problem.outputs):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    kernel[0, 0] = 0.5  # what the caller has stays the caller's
    assert problem.true_kernel[0, 0] == 1


def test_the_callers_targets_stay_writable():
    y, kernel = np.array([0.5, 2.0, -1.0]), np.eye(3)
    Problem(y, true_kernel=kernel)
    y[0], kernel[0, 1] = 7, 1


@pytest.mark.parametrize("kind", [list, np.array])
def test_a_label_of_half_a_character_is_refused(kind):
    with pytest.raises(InputError, match=r"y holds the label 'b\?' with half of a character"):
        as_targets(kind(["a", "b\ud800", "a", "b\ud800"]))


def test_targets_are_centred_by_an_exact_sum_whatever_their_order():
    """Sums in another order, as on another processor, must not give other labels."""
    rng = np.random.default_rng(0)
    targets = rng.normal(size=501) * 10.0 ** rng.integers(-6, 7, size=501)
    exact = float(sum(map(Fraction, targets.tolist()))) / 501
    scales = {TargetScale.of(rng.permutation(targets)) for _ in range(20)}
    assert scales == {TargetScale(exact, np.abs(targets - exact).max())}
    assert len({np.sum(rng.permutation(targets)) for _ in range(20)}) > 1  # so it matters
