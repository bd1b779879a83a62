"""Standard errors of projected kernels.

Operators that are read from the same shots move together, so each point has a covariance matrix C
of its expectations a, taken from its own shots. A squared distance D = Σ w (a - b)² then has

    Var D ≈ 4 vᵀ(C_a + C_b)v + 2 Tr (W(C_a + C_b))²,  v = w ∘ (a - b), W = diag w

where the second term matters for near points: there the first one vanishes. With the measured
a - b the first term is too large by twice the second, on average, which is taken off again.
"""

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.points import PointTable
from aqka.estimates.projected import ReducedStates, operator_values


def expectation_covariances(
    table: PointTable, states: ReducedStates, confusion: FloatArray | None = None
) -> FloatArray:
    """Return the covariance matrix of each point's expectations, points × operators × operators."""
    values, matching = operator_values(table, states.locality, confusion)
    setting, point = table.cells % table.n_settings, table.cells // table.n_settings
    shots = table.shots @ matching.T.astype(np.float64)  # of each point and operator
    size = values.shape[1]
    covariances = np.empty((table.n_points, size, size))
    ends = np.searchsorted(point, np.arange(table.n_points + 1))
    for i in range(table.n_points):
        mine = slice(ends[i], ends[i + 1])
        seen = matching.T[setting[mine]]
        away = np.where(seen, values[mine] - states.expectations[i], 0.0) / shots[i]
        product = (away * table.counts[mine, None]).T @ away
        # n/(n - 1), each operator with its own shots: an unbiased variance on the diagonal.
        unbiased = np.sqrt(shots[i] / (shots[i] - 1))
        covariances[i] = product * np.outer(unbiased, unbiased)
    return covariances


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
