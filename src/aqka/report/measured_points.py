"""What a run of points says of its kernel: how it was read, and how well it is known."""

from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.points import PointTable
from aqka.estimates.projected import (
    ReducedStates,
    linear_projected_kernel,
    median_gamma,
    readable_points,
    reduced_states,
)
from aqka.estimates.projected_errors import distance_errors, overlap_variances
from aqka.estimates.state_errors import (
    bootstrap_is_affordable,
    bootstrap_kernel_errors,
    pure_kernel_errors,
)
from aqka.estimates.state_rank import RankTest, choose_rank
from aqka.estimates.states import FittedStates, KernelOf
from aqka.sessions.gaussian_points import ProjectedHead, ProjectedPoints, gaussian_meaning
from aqka.sessions.linear_points import LinearHead, LinearProjectedPoints, linear_meaning
from aqka.sessions.point_contract import PointHead, PointKernel
from aqka.sessions.point_heads import (
    MEANINGS,
    FidelityOfPoints,
    StateHead,
)
from aqka.sessions.point_kernels import default_point_kernel
from aqka.study.rounds import MAX_ASSESSED_POINTS

# Errors that take more than ten seconds or so are left out: those of pure states need 8ⁿ steps a
# point, those of mixed ones a bootstrap.
MAX_PURE_STEPS = 2**30


@dataclass(frozen=True, eq=False)
class MeasuredPoints:
    """The kernel that the counts of points give.

    Attributes
    ----------
    kernel
        K̂ of all points with each other.
    errors
        Standard errors of its entries, 0 on the diagonal; None where they would take minutes.
    is_fidelity
        Whether it is the kernel that pairs would have measured, and not a projected one.
    sentences
        Which kernel it is, and whether the states are pure.
    """

    kernel: FloatArray
    errors: FloatArray | None
    is_fidelity: bool
    sentences: list[str]

    def above_diagonal(self) -> tuple[FloatArray, FloatArray]:
        """Return the entries above the diagonal and their errors, where these are known."""
        above = np.triu_indices(len(self.kernel), k=1)
        errors = np.zeros(0) if self.errors is None else self.errors[above]
        return self.kernel[above], errors

    @property
    def median_error(self) -> float | None:
        """Median standard error of an entry."""
        return None if self.errors is None else float(np.median(self.above_diagonal()[1]))

    @property
    def equivalent_shots(self) -> float | None:
        """Shots on every pair that would give the same mean variance; None where pairs cannot."""
        if self.errors is None or not self.is_fidelity:
            return None
        entries, errors = self.above_diagonal()
        return float(np.mean(entries * (1 - entries))) / max(float(np.mean(errors**2)), 1e-300)


def measured_points(
    table: PointTable,
    head: PointHead | None = None,
    confusion: FloatArray | None = None,
    kernel: PointKernel | None = None,
) -> MeasuredPoints | None:
    """Return what the counts say; None while points have too few shots, or for too many points.

    Parameters
    ----------
    table
        The counts.
    head
        What was trained on them; without one, as of a run whose labels nobody recorded, they are
        read as a head would read them.
    confusion
        Readout errors of a run without a head.
    kernel
        Which kernel a run without a head is read as; None for the default of its settings.
    """
    if table.n_points > MAX_ASSESSED_POINTS or not table.shots.any(axis=1).all():
        return None
    if isinstance(head, ProjectedHead):
        return _projected(table, head.states, head.gamma, head.confusion)
    if isinstance(head, LinearHead):
        return _linear(table, head.states, head.confusion)
    if isinstance(head, StateHead):
        fitted = head.states if head.rank == 1 else head.fit_points(table)
        return _fitted(table, fitted, head.tests, head.kernel_of)
    chosen = default_point_kernel(table.settings) if kernel is None else kernel
    return _without_head(table, chosen.with_confusion(confusion))


def _without_head(table: PointTable, kernel: PointKernel) -> MeasuredPoints | None:
    """Return what the counts say, read as a kernel of ours; None where it cannot be read yet."""
    if isinstance(kernel, FidelityOfPoints):
        how = {"confusion": kernel.confusion, "kernel_of": kernel.kernel_of}
        states, tests = choose_rank(table, np.random.default_rng(0), **how)  # type: ignore[arg-type]
        return _fitted(table, states, tests, kernel.kernel_of)
    if not isinstance(kernel, ProjectedPoints | LinearProjectedPoints):
        return None
    if len(readable_points(table, kernel.locality)) < table.n_points:
        return None
    reduced = reduced_states(table, kernel.locality, kernel.confusion)
    if isinstance(kernel, LinearProjectedPoints):
        return _linear(table, reduced, kernel.confusion)
    gamma = median_gamma(reduced) if kernel.gamma is None else kernel.gamma
    return _projected(table, reduced, gamma, kernel.confusion)


def _fitted(
    table: PointTable, states: FittedStates, tests: list[RankTest], kernel_of: KernelOf = "purified"
) -> MeasuredPoints:
    def kernel(some: FittedStates) -> FloatArray:
        return some.behind(kernel_of).kernel()

    random, found = np.random.default_rng(0), None
    if states.rank == 1 and table.n_points * 8**table.n_qubits <= MAX_PURE_STEPS:
        found = pure_kernel_errors(table, states, random, kernel_of=kernel_of)
    elif states.rank > 1 and bootstrap_is_affordable(table):
        found = bootstrap_kernel_errors(table, states, random, kernel)
    return MeasuredPoints(
        kernel(states),
        None if found is None else np.sqrt(found.variance),
        True,
        [MEANINGS[kernel_of], *(test.sentence for test in tests)],
    )


def _projected(
    table: PointTable,
    states: ReducedStates,
    gamma: float,
    confusion: FloatArray | None = None,
) -> MeasuredPoints:
    found = distance_errors(table, states, confusion)
    kernel = np.exp(-gamma * np.maximum(found.distances, 0.0))
    errors = gamma * kernel * np.sqrt(found.variances)
    return MeasuredPoints(kernel, errors, False, [gaussian_meaning(states, gamma)])


def _linear(
    table: PointTable, states: ReducedStates, confusion: FloatArray | None
) -> MeasuredPoints:
    kernel = linear_projected_kernel(states) / states.n_states
    errors = np.sqrt(overlap_variances(table, states, confusion)) / states.n_states
    return MeasuredPoints(kernel, errors, False, [linear_meaning(states)])
