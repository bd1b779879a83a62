"""Projected kernels of reduced states, and their shot noise (Huang et al. 2021).

Operators that are read from the same shots move together, so each point has a covariance matrix C
of its expectations a, taken from its own shots. A squared distance D = Σ w (a - b)² then has

    Var D ≈ 4 vᵀ(C_a + C_b)v + 2 Tr (W(C_a + C_b))²,  v = w ∘ (a - b), W = diag w

where the second term matters for near points. With the measured a - b the first term is too large
by twice the second, on average, which is taken off again.
"""

from collections.abc import Iterator

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka.core.points import PointTable
from aqka.estimates.reduced_states import ReducedStates, operator_values


def squared_distances(states: ReducedStates, others: ReducedStates | None = None) -> FloatArray:
    """Return unbiased estimates of Σ ‖ρ - σ‖² (Frobenius) over the reduced states of two points.

    The shot noise that a squared difference contains is taken off, so a small one may be negative.
    """
    columns = states if others is None else others
    scale = np.sqrt(states.weights)
    left, right = states.expectations * scale, columns.expectations * scale
    left_square = np.sum(left**2 - states.variances * states.weights, axis=1)
    right_square = np.sum(right**2 - columns.variances * columns.weights, axis=1)
    distances = left_square[:, None] + right_square - 2 * left @ right.T
    if others is None:
        np.fill_diagonal(distances, 0.0)
    return np.asarray(distances)


def median_gamma(states: ReducedStates) -> float:
    """Return γ = 1 / the median squared distance: kernel entries are then about 1/e."""
    distances = squared_distances(states)[np.triu_indices(len(states.expectations), k=1)]
    return float(1 / max(float(np.median(distances)), 1e-12)) if distances.size else 1.0


def gaussian_projected_kernel(
    states: ReducedStates,
    gamma: float,
    others: ReducedStates | None = None,
    keep_noise: bool = False,
) -> FloatArray:
    """Return exp(-γ Σ ‖ρ - σ‖²), with negative estimates of a distance taken as 0.

    With ``keep_noise`` the distances are those of the measured expectations, noise and all: the
    matrix is then positive semi-definite, and heads learn better from it
    (docs/explanation/points.md). ``others`` are the points that a head was trained on: their noise
    is kept, and that of the new ``states`` is taken as the mean of theirs, so that what a head says
    of a new point does not depend on how often it was measured.
    """
    distances = squared_distances(states, others)
    if keep_noise:
        columns = states if others is None else others
        noise = columns.variances @ columns.weights
        rows = noise[:, None] if others is None else np.mean(noise)
        distances = distances + rows + noise
        if others is None:
            np.fill_diagonal(distances, 0.0)
    return np.exp(-gamma * np.maximum(distances, 0.0))


def linear_projected_kernel(
    states: ReducedStates, others: ReducedStates | None = None
) -> FloatArray:
    """Return unbiased estimates of Σ Tr ρσ over the reduced states.

    Only the diagonal, a point with itself, has a shot-noise bias to be taken off.
    """
    columns = states if others is None else others
    kernel = (states.expectations * states.weights) @ columns.expectations.T
    if others is None:
        kernel[np.diag_indices_from(kernel)] -= states.variances @ states.weights
    return np.asarray(kernel + states.n_states / 2**states.operators.locality)


def expectation_covariances(
    table: PointTable, states: ReducedStates, confusion: FloatArray | None = None
) -> FloatArray:
    """Return the covariance matrix of each point's expectations, points × operators × operators."""
    size = states.operators.size
    covariances = np.zeros((table.n_points, size, size))
    for measured, points, away in _deviations(table, states, confusion):
        ends = np.searchsorted(points, np.arange(table.n_points + 1))
        for i in range(table.n_points):
            mine = away[ends[i] : ends[i + 1]]
            covariances[i][np.ix_(measured, measured)] += mine.T @ mine
    return covariances


def _deviations(
    table: PointTable, states: ReducedStates, confusion: FloatArray | None
) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Yield for each setting its operators, the points of its entries, and their deviations.

    A deviation is what an entry adds to its point's expectation, so that the covariance is the sum
    of their products: divided by the shots, times the root of the counts and of n/(n - 1), each
    operator with its own shots, which makes the variances unbiased.
    """
    shots = states.operators.shots(table).astype(np.float64)
    scale = 1 / np.sqrt(shots * (shots - 1))
    for measured, entries, values in operator_values(table, states.operators, confusion):
        points = table.cells[entries] // table.n_settings
        away = values - states.expectations[np.ix_(points, measured)]
        away = away * scale[np.ix_(points, measured)] * np.sqrt(table.counts[entries, None])
        yield measured, points, away


def linear_variances(
    table: PointTable,
    states: ReducedStates,
    slopes: FloatArray,
    confusion: FloatArray | None = None,
) -> FloatArray:
    """Return the variance of Σ_P slope_P ⟨P⟩ of each point, a column for each of ``slopes``."""
    variances = np.zeros((table.n_points, slopes.shape[1]))
    for measured, points, away in _deviations(table, states, confusion):
        np.add.at(variances, points, (away @ slopes[measured]) ** 2)
    return variances


def _traces(covariances: FloatArray, weights: FloatArray) -> FloatArray:
    """Return Tr WC_i WC_j of all points."""
    half = covariances * weights[:, None]
    n_points = len(half)
    return np.asarray(half.reshape(n_points, -1) @ half.transpose(0, 2, 1).reshape(n_points, -1).T)


def distance_variances(
    table: PointTable, states: ReducedStates, confusion: FloatArray | None = None
) -> FloatArray:
    """Return the variances of the squared distances of all points; 0 on the diagonal."""
    covariances = expectation_covariances(table, states, confusion)
    w = states.weights
    scaled = covariances * w[:, None] * w  # W C W: w ∘ (a - b) is applied as a - b
    traces = _traces(covariances, w)
    own = np.diagonal(traces)
    second_order = 2 * (own[:, None] + own + 2 * traces)
    variances = -second_order
    for i, a in enumerate(states.expectations):
        away = a - states.expectations
        mine = np.einsum("jo,op,jp->j", away, scaled[i], away, optimize=True)
        variances[i] += 4 * mine
        variances[:, i] += 4 * mine
    variances = np.maximum(variances, second_order)
    np.fill_diagonal(variances, 0.0)
    return np.asarray(variances)


def overlap_variances(
    table: PointTable, states: ReducedStates, confusion: FloatArray | None = None
) -> FloatArray:
    """Return the variances of Σ Tr ρσ over the reduced states; 0 on the diagonal.

    The overlap of two points is Σ w a b and a constant, so that its variance is
    (wb)ᵀC_a(wb) + (wa)ᵀC_b(wa) + Tr WC_a WC_b. With the measured a and b each of the first two is
    too large by the third, on average, which is taken off again.
    """
    covariances = expectation_covariances(table, states, confusion)
    sides, traces = states.expectations * states.weights, _traces(covariances, states.weights)
    first = np.einsum("jo,iop,jp->ij", sides, covariances, sides, optimize=True)
    variances = np.maximum(first + first.T - traces, traces)
    np.fill_diagonal(variances, 0.0)
    return np.asarray(variances)
