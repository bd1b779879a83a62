"""What the training shots say: where they went, and the kernel that follows from them."""

from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka.core.pairs import PairTable
from aqka.core.points import PointTable
from aqka.core.settings import LETTERS
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
from aqka.insight.hindsight import noise_floor
from aqka.sessions.gaussian_points import ProjectedHead, ProjectedPoints, gaussian_meaning
from aqka.sessions.linear_points import LinearHead, LinearProjectedPoints, linear_meaning
from aqka.sessions.point_contract import PointHead, PointKernel
from aqka.sessions.point_heads import MEANINGS, FidelityOfPoints, StateHead
from aqka.study.rounds import MAX_ASSESSED_POINTS

# Errors that take more than about ten seconds are left out: those of pure states need 8ⁿ steps a
# point, those of mixed ones a bootstrap.
MAX_PURE_STEPS = 2**30
ZERO = 1e-9  # of the largest eigenvalue


@dataclass(frozen=True, eq=False)
class Measured:
    """The counts of a run, and the kernel that they give.

    Attributes
    ----------
    table, unit, shots
        The counts, what a shot is spent on (``pair`` or ``point``), and the shots of each.
    eigenvalues, noise_floor
        Of the kernel estimate, falling, empty where it is not known; and the largest that shot
        noise alone can reach, 0 where that is not known.
    sensitivity
        |g| of each pair; None without labels.
    kernel, errors
        Of points, K̂ of all with each other, and the standard errors of its entries; None where
        they are not worked out.
    by_setting
        Of points, the letters of each Pauli setting and its shots.
    is_fidelity
        Whether it is the fidelity kernel, which pairs measure, and not a projected one.
    sentences
        Which kernel it is, and whether the states are pure.
    """

    table: Any
    unit: str
    shots: IntArray
    eigenvalues: FloatArray = field(default_factory=lambda: np.zeros(0))
    noise_floor: float = 0.0
    sensitivity: FloatArray | None = None
    kernel: FloatArray | None = None
    errors: FloatArray | None = None
    by_setting: list[tuple[str, int]] = field(default_factory=list)
    is_fidelity: bool = True
    sentences: list[str] = field(default_factory=list)

    @property
    def seen(self) -> float:
        """Share of the pairs or points with at least one shot."""
        return float(np.mean(self.shots > 0))

    @property
    def a_unit(self) -> str:
        """Shots of a pair or a point on average, in words."""
        mean = float(self.shots.mean())
        return f"{mean:,.{1 if mean < 100 else 0}f} per {self.unit}"

    def maps(self) -> dict[str, FloatArray]:
        """Return the matrices of the heat maps: counts and sensitivities of pairs, or K̂."""
        if self.kernel is not None:
            found = {"kernel": self.kernel, "errors": self.errors}
            return {name: values for name, values in found.items() if values is not None}
        if self.by_setting:
            return {}
        values = {"shots": self.shots, "hits": self.table.hits}
        if self.sensitivity is not None and self.sensitivity.max(initial=0) > 0:
            values["sensitivity"] = self.sensitivity / self.sensitivity.max()
        return {
            name: self.table.square(value.astype(np.float64), known_diagonal=0.0)
            for name, value in values.items()
        }

    def above_diagonal(self) -> tuple[FloatArray, FloatArray]:
        """Return the entries of K̂ above the diagonal and their errors, where these are known."""
        if self.kernel is None or self.errors is None:
            return np.zeros(0), np.zeros(0)
        above = np.triu_indices(len(self.kernel), k=1)
        return self.kernel[above], self.errors[above]

    @property
    def median_error(self) -> float | None:
        """Median standard error of an entry, where errors are known."""
        errors = self.above_diagonal()[1]
        return float(np.median(errors)) if errors.size else None

    @property
    def equivalent_shots(self) -> float | None:
        """Shots on every pair that would give the same mean variance; None where pairs cannot."""
        entries, errors = self.above_diagonal()
        if not errors.size or not self.is_fidelity:
            return None
        return float(np.mean(entries * (1 - entries))) / max(float(np.mean(errors**2)), 1e-300)


def measured_pairs(
    table: PairTable, eigenvalues: FloatArray, sensitivity: FloatArray | None = None
) -> Measured:
    """Return what the counts of pairs say."""
    floor = noise_floor(table)
    return Measured(table, "pair", table.shots, np.asarray(eigenvalues), floor, sensitivity)


def measured_points(table: PointTable, reader: PointHead | PointKernel) -> Measured:
    """Return what the counts say, without a kernel while it cannot be read.

    ``reader`` is what was trained on the counts or, without a head, the kernel they are read as.
    """
    if table.n_points > MAX_ASSESSED_POINTS:
        why = f"Above {MAX_ASSESSED_POINTS} points the kernel is not worked out here."
        return _measured(table, [why])
    found = read_kernel(reader, table) if table.shots.any(axis=1).all() else None
    why = "Some points have no shots yet, or too few, so there is no kernel to show."
    return found or _measured(table, [why])


@singledispatch
def read_kernel(reader: Any, table: PointTable) -> Measured | None:
    """Return the kernel of the counts and its errors; None where it cannot be read."""
    return None


@read_kernel.register
def _(head: PointHead, table: PointTable) -> Measured:
    return _read(table, head.kernel(), None, [head.meaning])


@read_kernel.register
def _(head: StateHead, table: PointTable) -> Measured:
    fitted = head.states if head.rank == 1 else head.fit_points(table)
    return _fitted(table, fitted, head.tests, head.kernel_of)


@read_kernel.register
def _(kernel: FidelityOfPoints, table: PointTable) -> Measured:
    states, tests = choose_rank(
        table,
        np.random.default_rng(0),
        confusion=kernel.confusion,
        kernel_of=kernel.kernel_of,
    )
    return _fitted(table, states, tests, kernel.kernel_of)


@read_kernel.register
def _(head: ProjectedHead, table: PointTable) -> Measured:
    return _projected(table, head.states, head.gamma, head.confusion)


@read_kernel.register
def _(kernel: ProjectedPoints, table: PointTable) -> Measured | None:
    states = _reduced(table, kernel)
    if states is None:
        return None
    gamma = median_gamma(states) if kernel.gamma is None else kernel.gamma
    return _projected(table, states, gamma, kernel.confusion)


@read_kernel.register
def _(head: LinearHead, table: PointTable) -> Measured:
    return _linear(table, head.states, head.confusion)


@read_kernel.register
def _(kernel: LinearProjectedPoints, table: PointTable) -> Measured | None:
    states = _reduced(table, kernel)
    return None if states is None else _linear(table, states, kernel.confusion)


def _reduced(
    table: PointTable, kernel: ProjectedPoints | LinearProjectedPoints
) -> ReducedStates | None:
    if len(readable_points(table, kernel.locality)) < table.n_points:
        return None
    return reduced_states(table, kernel.locality, kernel.confusion)


def _fitted(
    table: PointTable, states: FittedStates, tests: list[RankTest], kernel_of: KernelOf
) -> Measured:
    def kernel(some: FittedStates) -> FloatArray:
        return some.behind(kernel_of).kernel()

    random, found = np.random.default_rng(0), None
    if states.rank == 1 and table.n_points * 8**table.n_qubits <= MAX_PURE_STEPS:
        found = pure_kernel_errors(table, states, random, kernel_of=kernel_of)
    elif states.rank > 1 and bootstrap_is_affordable(table):
        found = bootstrap_kernel_errors(table, states, random, kernel)
    errors = None if found is None else np.sqrt(found.variance)
    words = [MEANINGS[kernel_of], *(test.sentence for test in tests)]
    return _read(table, kernel(states), errors, words, is_fidelity=True)


def _projected(
    table: PointTable, states: ReducedStates, gamma: float, confusion: FloatArray | None
) -> Measured:
    found = distance_errors(table, states, confusion)
    kernel = np.exp(-gamma * np.maximum(found.distances, 0.0))
    errors = gamma * kernel * np.sqrt(found.variances)
    return _read(table, kernel, errors, [gaussian_meaning(states, gamma)])


def _linear(table: PointTable, states: ReducedStates, confusion: FloatArray | None) -> Measured:
    kernel = linear_projected_kernel(states) / states.n_states
    errors = np.sqrt(overlap_variances(table, states, confusion)) / states.n_states
    return _read(table, kernel, errors, [linear_meaning(states)])


def _read(
    table: PointTable,
    kernel: FloatArray,
    errors: FloatArray | None,
    words: list[str],
    is_fidelity: bool = False,
) -> Measured:
    values = np.linalg.eigvalsh(kernel)[::-1]
    others = values[np.abs(values) > ZERO * values[0]]  # states have at most 4ⁿ that are not 0
    found = {"eigenvalues": others, "kernel": kernel, "errors": errors, "is_fidelity": is_fidelity}
    return _measured(table, words, **found)


def _measured(table: PointTable, words: list[str], **found: Any) -> Measured:
    letters = ("".join(LETTERS[letter] for letter in row) for row in table.settings)
    by_setting = list(zip(letters, map(int, table.shots.sum(axis=0)), strict=True))
    shots = table.shots_per_point
    return Measured(table, "point", shots, by_setting=by_setting, sentences=words, **found)
