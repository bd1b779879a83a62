"""Standard errors of projected kernels.

Operators that are read from the same shots move together, so each point has a covariance matrix C
of its expectations a, taken from its own shots. A squared distance D = Σ w (a - b)² then has

    Var D ≈ 4 vᵀ(C_a + C_b)v + 2 Tr (W(C_a + C_b))²,  v = w ∘ (a - b), W = diag w

where the second term matters for near points: there the first one vanishes. With the measured
a - b the first term is too large by twice the second, on average, which is taken off again.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka.core.points import PointTable
from aqka.estimates.projected import ReducedStates, operator_values, squared_distances


@dataclass(frozen=True, eq=False)
class DistanceErrors:
    """Squared distances between reduced states, and how well they are known.

    Attributes
    ----------
    distances
        Unbiased estimates, as :func:`~aqka.estimates.projected.squared_distances` gives them.
    variances
        Their variances; 0 on the diagonal of a point with itself.
    """

    distances: FloatArray
    variances: FloatArray


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
        yield (
            measured,
            points,
            away * scale[np.ix_(points, measured)] * np.sqrt(table.counts[entries, None]),
        )


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


def distance_errors(
    table: PointTable, states: ReducedStates, confusion: FloatArray | None = None
) -> DistanceErrors:
    """Return the squared distances of all points with their variances."""
    covariances = expectation_covariances(table, states, confusion)
    w = states.weights
    scaled = covariances * w[:, None] * w  # W C W: w ∘ (a - b) is applied as a - b
    half = covariances * w[:, None]  # W C
    flat, turned = half.reshape(table.n_points, -1), half.transpose(0, 2, 1)
    traces = flat @ turned.reshape(table.n_points, -1).T  # Tr WC_i WC_j
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
    return DistanceErrors(squared_distances(states), variances)


def overlap_variances(
    table: PointTable, states: ReducedStates, confusion: FloatArray | None = None
) -> FloatArray:
    """Return the variances of Σ Tr ρσ over the reduced states; 0 on the diagonal.

    The overlap of two points is Σ w a b and a constant, so that its variance is
    (wb)ᵀC_a(wb) + (wa)ᵀC_b(wa) + Tr WC_a WC_b. With the measured a and b each of the first two is
    too large by the third, on average, which is taken off again.
    """
    covariances = expectation_covariances(table, states, confusion)
    w = states.weights
    sides = states.expectations * w
    half = covariances * w[:, None]
    flat, turned = half.reshape(table.n_points, -1), half.transpose(0, 2, 1)
    traces = flat @ turned.reshape(table.n_points, -1).T
    first = np.einsum("jo,iop,jp->ij", sides, covariances, sides, optimize=True)
    variances = np.maximum(first + first.T - traces, traces)
    np.fill_diagonal(variances, 0.0)
    return np.asarray(variances)
