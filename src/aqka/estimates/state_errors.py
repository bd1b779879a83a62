"""Standard errors of the kernel of fitted states."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.points import PointTable
from aqka.errors import InputError
from aqka.estimates.states import FittedStates, KernelOf, draw_counts, fit_states, some_points
from aqka.maths.product_bases import ProductBases
from aqka.maths.state_errors import kernel_moments, overlap_variances, tangent_roots

CALIBRATION_POINTS = 100
MAX_BOOTSTRAP_OUTCOMES = 2**15
"""Outcomes of all points and settings together, to which fifty fits take ten seconds or so."""
LARGEST_VARIANCE = 0.25
"""Of any number between 0 and 1; where shots are few, the delta method knows no bounds."""


class KernelErrors(NamedTuple):
    """What shot noise does to a kernel estimate K̂: E K̂ - K and Var K̂.

    An interval for an entry is ``K̂ - bias ± z · sqrt(variance)``. The bias is of second order:
    near states look less alike, and orthogonal ones overlap a little. Taking it off brings K̂
    closer to the exact kernel but out of the positive semi-definite matrices, and labels do not
    gain by it; so learners use K̂ and its variance.
    """

    bias: FloatArray
    variance: FloatArray


def kernel_errors(
    table: PointTable, states: FittedStates, random: np.random.Generator, kernel_of: KernelOf
) -> KernelErrors:
    """Return the errors of the kernel that is meant, of states of any rank."""
    if states.rank == 1:
        return pure_kernel_errors(table, states, random, kernel_of=kernel_of)
    return bootstrap_kernel_errors(
        table, states, random, lambda fitted: fitted.behind(kernel_of).kernel()
    )


def bootstrap_is_affordable(table: PointTable) -> bool:
    """Return whether the bootstrap that errors of mixed states need takes seconds, not minutes."""
    return bool(table.shots.size * 2**table.n_qubits <= MAX_BOOTSTRAP_OUTCOMES)


def pure_kernel_errors(
    table: PointTable,
    states: FittedStates,
    random: np.random.Generator,
    kernel_of: KernelOf = "purified",
) -> KernelErrors:
    """Return the errors of the kernel of pure states from the Fisher information.

    The delta method is right where shots are many; at 8 · 2^n shots a point, its standard errors
    are about a third too small. They are calibrated: counts are drawn once from the fitted states,
    fitted again, and the variance is multiplied by the mean of the squared standardised errors,
    never by less than 1. Where noise is seen but left out (``states.noisy``), counts are drawn from
    the states that have it, so that the bias of leaving it out counts as noise does.
    """
    if states.rank != 1:
        raise InputError(
            f"states must be pure, got rank {states.rank}; use bootstrap_kernel_errors."
        )
    bias, variance = _moments(table, states)
    calibration = _calibration(table, states, random, kernel_of)
    return KernelErrors(bias, np.minimum(variance * calibration, LARGEST_VARIANCE))


def _moments(table: PointTable, states: FittedStates) -> tuple[FloatArray, FloatArray]:
    """Return bias and variance by the delta method; a point with itself is 1 and has no error."""
    bias, variance = kernel_moments(states.kernel(), *_contributions(table, states))
    np.fill_diagonal(bias, 0.0)
    np.fill_diagonal(variance, 0.0)
    return np.clip(bias, -1.0, 1.0), np.minimum(variance, LARGEST_VARIANCE)


def _contributions(
    table: PointTable, states: FittedStates
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the spread of each point, and how it moves the overlaps with the others."""
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
    return spread, along, across, both


def _calibration(
    table: PointTable, states: FittedStates, random: np.random.Generator, kernel_of: KernelOf
) -> float:
    """Return the mean squared standardised error of a kernel whose truth is known."""
    part, truth = some_points(table, states.noisy or states, CALIBRATION_POINTS)
    if part.n_points < 2:
        return 1.0
    drawn = draw_counts(truth, part, random)
    fitted = fit_states(drawn, confusion=states.confusion)
    moments = _moments(drawn, fitted)
    exact = truth.behind(kernel_of).kernel()
    return max(1.0, _mean_square(fitted.kernel() - exact, *moments))


def bootstrap_kernel_errors(
    table: PointTable,
    states: FittedStates,
    random: np.random.Generator,
    kernel: Callable[[FittedStates], FloatArray],
    replicates: int = 24,
) -> KernelErrors:
    """Return the errors of a kernel of states of any rank, by a parametric bootstrap.

    The relative error of a standard error is 1/sqrt(2 · replicates). A bootstrap alone covers too
    rarely, 83 to 94 % instead of 95 %, because a fit of a mixed state has less noise in it than the
    counts had. So it is calibrated as the pure states' errors are: it is run once more on counts
    drawn from the fitted states, whose kernel is known. Noise that a rank leaves out is not seen by
    it.
    """
    bias, variance = _bootstrap_moments(table, states, random, kernel, replicates)
    part, truth = some_points(table, states, CALIBRATION_POINTS)
    if part.n_points < 2:
        return KernelErrors(bias, variance)
    drawn = draw_counts(truth, part, random)
    fitted = fit_states(drawn, truth.rank, confusion=truth.confusion)
    moments = _bootstrap_moments(drawn, fitted, random, kernel, replicates)
    calibration = _mean_square(kernel(fitted) - kernel(truth), *moments)
    return KernelErrors(bias, np.minimum(variance * max(1.0, calibration), LARGEST_VARIANCE))


def _bootstrap_moments(
    table: PointTable,
    states: FittedStates,
    random: np.random.Generator,
    kernel: Callable[[FittedStates], FloatArray],
    replicates: int,
) -> tuple[FloatArray, FloatArray]:
    here = kernel(states)
    total, square = np.zeros_like(here), np.zeros_like(here)
    for _ in range(replicates):
        drawn = draw_counts(states, table, random)
        moved = kernel(fit_states(drawn, states.rank, states, states.confusion)) - here
        total += moved
        square += moved**2
    bias = total / replicates
    variance = (square - replicates * bias**2) / (replicates - 1)
    return bias, np.maximum(variance, 0.0)


def _mean_square(error: FloatArray, bias: FloatArray, variance: FloatArray) -> float:
    """Return the mean of the squared standardised errors off the diagonal."""
    upper = np.triu_indices(len(error), k=1)
    return float(np.mean((error - bias)[upper] ** 2 / np.maximum(variance[upper], 1e-300)))
