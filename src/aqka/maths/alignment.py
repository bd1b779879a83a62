"""Kernel alignment: how well the entries of a kernel say which targets agree.

The loss of a trainable map is minus the correlation of k_ij with t_ij over pairs of different
points (centred alignment, Cortes et al. 2012, without the diagonal, which carries no information).
It is a mean over pairs, so M pairs of one shot each know it to about 1/√M, however many points
there are.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray

MOST_EXPONENT = 100.0


def pair_targets(y: NDArray[Any], *, classes: bool) -> FloatArray:
    """Return what the kernel should be like: 1 where classes agree, products of centred targets."""
    if classes:
        return np.asarray(y[:, None] == y, dtype=np.float64)
    centred = (y - y.mean(axis=0)).reshape(len(y), -1)
    return np.asarray(centred @ centred.T)


def alignment(k: FloatArray, t: FloatArray, weights: FloatArray | IntArray | None = None) -> float:
    """Return the correlation of entries and targets over some pairs; 0 where one does not vary."""
    w = np.ones(len(k)) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.sum() == 0:
        return 0.0
    a, b = k - np.average(k, weights=w), t - np.average(t, weights=w)
    size = np.sqrt(np.sum(w * a * a) * np.sum(w * b * b))
    return float(np.sum(w * a * b) / size) if size > 0 else 0.0


def alignment_slope(kernel: FloatArray, targets: FloatArray) -> tuple[float, FloatArray]:
    """Return the alignment of a kernel, and its derivative by each pair's entry as a matrix.

    The matrix is symmetric: entry (i, j) is the derivative by K_ij = K_ji; the diagonal is 0.
    """
    upper = np.triu_indices(len(kernel), 1)
    k, t = kernel[upper], targets[upper]
    a, b = k - k.mean(), t - t.mean()
    size_a, size_b = np.linalg.norm(a), np.linalg.norm(b)
    slope = np.zeros_like(kernel)
    if size_a == 0 or size_b == 0:
        return 0.0, slope
    found = float(a @ b / (size_a * size_b))
    slope[upper] = (b / size_b - found * a / size_a) / size_a
    return found, slope + slope.T


def kernel_of_distances(distances: FloatArray) -> FloatArray:
    """Return exp(-D / the mean D of all pairs): a Gaussian kernel of the width the points have."""
    # Distances less their noise may be far below 0 where their mean is about 0.
    return np.asarray(np.exp(np.minimum(-distances / _mean_of_pairs(distances), MOST_EXPONENT)))


def distance_slope(distances: FloatArray, targets: FloatArray) -> tuple[float, FloatArray]:
    """Return the alignment of that kernel, and its derivative by each pair's distance."""
    kernel, mean = kernel_of_distances(distances), _mean_of_pairs(distances)
    found, slope = alignment_slope(kernel, targets)
    by_entry = slope * kernel / mean
    upper = np.triu_indices(len(kernel), 1)
    by_mean = np.mean((by_entry * distances)[upper]) / mean
    return found, (by_mean - by_entry) * (1 - np.eye(len(kernel)))


def _mean_of_pairs(distances: FloatArray) -> float:
    mean = float(distances[np.triu_indices(len(distances), 1)].mean())
    return mean if mean > 0 else 1.0  # of points that are all alike
