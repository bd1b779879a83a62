"""What a run of points says of its kernel: how it was read, and how well it is known."""

from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.points import PointTable
from aqka.estimates.projected import (
    ReducedStates,
    median_gamma,
    readable_points,
    reduced_states,
)
from aqka.estimates.projected_errors import distance_errors
from aqka.estimates.state_errors import bootstrap_kernel_errors, pure_kernel_errors
from aqka.estimates.state_rank import RankTest, choose_rank
from aqka.estimates.states import FittedStates, KernelOf
from aqka.sessions.point_heads import MAX_FIDELITY_QUBITS, PointHead, ProjectedHead, StateHead
from aqka.study.rounds import MAX_ASSESSED_POINTS

# Errors that take more than ten seconds or so are left out: those of pure states need 8ⁿ steps a
# point, those of mixed ones fifty fits to all outcomes.
MAX_PURE_STEPS = 2**30
MAX_MIXED_OUTCOMES = 2**15
MEANINGS: dict[KernelOf, str] = {
    "purified": "K̂ is the fidelity of states fitted to the counts, with most of a device's noise "
    "taken off.",
    "device": "K̂ is Tr ρσ of states fitted to the counts, with the device's noise.",
}


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
    table: PointTable, head: PointHead | None = None, confusion: FloatArray | None = None
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
    """
    if table.n_points > MAX_ASSESSED_POINTS or not table.shots.any(axis=1).all():
        return None
    if isinstance(head, ProjectedHead):
        return _projected(table, head.states, head.gamma, head.confusion)
    if isinstance(head, StateHead):
        fitted = head.states if head.rank == 1 else head.fit_points(table)
        return _fitted(table, fitted, head.tests, head.kernel_of)
    if table.n_qubits > MAX_FIDELITY_QUBITS:
        if len(readable_points(table)) < table.n_points:
            return None
        states = reduced_states(table, confusion=confusion)
        return _projected(table, states, median_gamma(states), confusion)
    return _fitted(table, *choose_rank(table, np.random.default_rng(0), confusion=confusion))


def _fitted(
    table: PointTable, states: FittedStates, tests: list[RankTest], kernel_of: KernelOf = "purified"
) -> MeasuredPoints:
    def kernel(some: FittedStates) -> FloatArray:
        return some.behind(kernel_of).kernel()

    random, found = np.random.default_rng(0), None
    if states.rank == 1 and table.n_points * 8**table.n_qubits <= MAX_PURE_STEPS:
        found = pure_kernel_errors(table, states, random, kernel_of=kernel_of)
    elif states.rank > 1 and table.shots.size * 2**table.n_qubits <= MAX_MIXED_OUTCOMES:
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
    sentence = (
        f"K̂ is the projected kernel exp(−γD) with γ = {gamma:.3g}: D is the squared distance of "
        f"the {states.n_states} reduced states of two points."
    )
    return MeasuredPoints(kernel, gamma * kernel * np.sqrt(found.variances), False, [sentence])
