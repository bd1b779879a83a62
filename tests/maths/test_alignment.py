"""Centred alignment against numpy's correlation, and its derivative against differences."""

import numpy as np
import pytest

from aqka.maths.alignment import (
    alignment,
    alignment_slope,
    kernel_of_distances,
    pair_targets,
)


def make_kernel(rng, n=9):
    A = rng.uniform(0, 1, (n, n))
    return (A + A.T) / 2


@pytest.mark.parametrize("classes", [True, False])
def test_the_slope_is_that_of_the_correlation_without_the_diagonal(classes):
    rng = np.random.default_rng(0)
    kernel = make_kernel(rng)
    y = rng.integers(0, 3, 9) if classes else rng.normal(size=9)
    targets = pair_targets(y, classes=classes)
    upper = np.triu_indices(9, 1)
    found, slope = alignment_slope(kernel, targets)
    assert found == pytest.approx(np.corrcoef(kernel[upper], targets[upper])[0, 1])
    for i, j in [(0, 1), (2, 7), (3, 8)]:
        ends = []
        for step in (1e-6, -1e-6):
            other = kernel.copy()
            other[i, j] += step
            other[j, i] += step
            ends.append(alignment(other[upper], targets[upper]))
        assert slope[i, j] == slope[j, i] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5)
    assert not slope.diagonal().any()


def test_distances_that_are_noise_alone_give_finite_entries():
    noise = np.array([[0.0, 0.1, -0.1], [0.1, 0.0, 1e-5], [-0.1, 1e-5, 0.0]])
    kernel = kernel_of_distances(noise)
    assert np.isfinite(kernel).all()
    assert alignment(kernel[0, 1:], np.array([0.0, 1.0])) == pytest.approx(1.0)


def test_two_classes_are_the_product_of_signs():
    signs = np.array([1, -1, -1, 1, 1])
    kernel = make_kernel(np.random.default_rng(1), 5)
    upper = np.triu_indices(5, 1)
    agree = pair_targets(signs, classes=True)[upper]
    assert alignment(kernel[upper], agree) == pytest.approx(
        alignment(kernel[upper], np.outer(signs, signs)[upper].astype(float))
    )


def test_weights_count_like_repetitions_and_nothing_varies_is_zero():
    k, t = np.array([0.1, 0.7, 0.4]), np.array([0.0, 1.0, 1.0])
    assert alignment(k, t, np.array([2, 0, 3])) == pytest.approx(
        np.corrcoef([0.1, 0.1, 0.4, 0.4, 0.4], [0, 0, 1, 1, 1])[0, 1]
    )
    assert alignment(np.full(3, 0.5), t) == alignment(k, t, np.zeros(3)) == 0.0
    assert alignment_slope(np.ones((3, 3)), np.eye(3))[0] == 0.0
