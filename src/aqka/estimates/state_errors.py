"""Standard errors of the kernel of fitted states."""

from typing import NamedTuple

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.points import PointTable
from aqka.estimates.states import FittedStates, KernelOf, draw_counts, fit_states, some_points
from aqka.maths.product_bases import ProductBases
from aqka.maths.state_errors import kernel_moments, overlap_variances, tangent_roots

CALIBRATION_POINTS = 100
MAX_BOOTSTRAP_OUTCOMES = 2**15  # of all points and settings: fifty fits take about ten seconds
REPLICATES = 24  # of a bootstrap: the relative error of a standard error is 1/sqrt(2 · 24)
LARGEST_VARIANCE = 0.25  # of any number between 0 and 1; the delta method knows no bounds


class KernelErrors(NamedTuple):
    """What shot noise does to a kernel estimate K̂: E K̂ - K and Var K̂.

    An interval for an entry is ``K̂ - bias ± z · sqrt(variance)``. The bias is of second order:
    near states look less alike, and orthogonal ones overlap a little. Taking it off brings K̂
    closer to the exact kernel but out of the positive semi-definite matrices, and labels do not
    gain by it; so learners use K̂ and its variance.
    """

    bias: FloatArray
    variance: FloatArray


def bootstrap_is_affordable(table: PointTable) -> bool:
    """Return whether the bootstrap that errors of mixed states need takes seconds, not minutes."""
    return bool(table.shots.size * 2**table.n_qubits <= MAX_BOOTSTRAP_OUTCOMES)


def kernel_errors(
    table: PointTable,
    states: FittedStates,
    random: np.random.Generator,
    kernel_of: KernelOf = "purified",
) -> KernelErrors:
    """Return the errors of the kernel that is meant, of states of any rank.

    Those of pure states follow from the Fisher information by the delta method, which is right
    where shots are many; at 8 · 2^n shots a point, its standard errors are about a third too small.
    Those of mixed states are a parametric bootstrap's, which covers too rarely, 83 to 94 % instead
    of 95 %, because a fit of a mixed state has less noise in it than the counts had. So both are
    calibrated: counts are drawn once from the fitted states, fitted again, and the variance is
    multiplied by the mean of the squared standardised errors, never by less than 1.
    """

    def moments(table: PointTable, states: FittedStates) -> tuple[FloatArray, FloatArray]:
        if states.rank == 1:
            return delta_moments(table, states)
        return bootstrap_moments(table, states, random, kernel_of)

    bias, variance = moments(table, states)
    # Where pure states leave out noise that is seen, counts are drawn from states that have it: so
    # the bias of leaving it out counts as noise does. A bootstrap does not see it.
    source = states.noisy if states.rank == 1 and states.noisy is not None else states
    part, truth = some_points(table, source, CALIBRATION_POINTS)
    if part.n_points < 2:
        return KernelErrors(bias, variance)
    drawn = draw_counts(truth, part, random)
    fitted = fit_states(drawn, states.rank, confusion=states.confusion)
    error = fitted.behind(kernel_of).kernel() - truth.behind(kernel_of).kernel()
    upper = np.triu_indices(len(error), k=1)
    shift, spread = (moment[upper] for moment in moments(drawn, fitted))
    calibration = float(np.mean((error[upper] - shift) ** 2 / np.maximum(spread, 1e-300)))
    return KernelErrors(bias, np.minimum(variance * max(1.0, calibration), LARGEST_VARIANCE))


def delta_moments(table: PointTable, states: FittedStates) -> tuple[FloatArray, FloatArray]:
    """Return bias and variance by the delta method; a point with itself is 1 and has no error."""
    bases = ProductBases(table.settings)
    parts = []
    # A few points at a time: their covariances are (2 · 2^n)² numbers each.
    size = max(1, 2**22 // (2 * bases.dimension) ** 2)
    for first in range(0, table.n_points, size):
        some = slice(first, first + size)
        u = states.vectors[0, some]
        roots = tangent_roots(bases, u, table.shots[some].astype(np.float64), states.confusion)
        spread = np.einsum("iab,iab->i", roots, roots)  # E|δ|²
        parts.append((spread, *overlap_variances(roots, u, states.vectors[0])))
    spread, along, across, both = (np.concatenate(pieces) for pieces in zip(*parts, strict=True))
    bias, variance = kernel_moments(states.kernel(), spread, along, across, both)
    np.fill_diagonal(bias, 0.0)
    np.fill_diagonal(variance, 0.0)
    return np.clip(bias, -1.0, 1.0), np.minimum(variance, LARGEST_VARIANCE)


def bootstrap_moments(
    table: PointTable, states: FittedStates, random: np.random.Generator, kernel_of: KernelOf
) -> tuple[FloatArray, FloatArray]:
    """Return bias and variance over counts drawn from the states, and fitted again."""
    here = states.behind(kernel_of).kernel()
    total, square = np.zeros_like(here), np.zeros_like(here)
    for _ in range(REPLICATES):
        drawn = draw_counts(states, table, random)
        again = fit_states(drawn, states.rank, states, states.confusion)
        moved = again.behind(kernel_of).kernel() - here
        total += moved
        square += moved**2
    bias = total / REPLICATES
    variance = (square - REPLICATES * bias**2) / (REPLICATES - 1)
    return bias, np.maximum(variance, 0.0)
