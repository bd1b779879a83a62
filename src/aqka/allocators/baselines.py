"""What the paper compares AQKA with: even, random and fewer shots, and landmark rows."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from aqka._util.arrays import BoolArray, FloatArray, IntArray, as_count, as_fraction
from aqka.allocators._base import Allocation, Allocator, TargetFill
from aqka.allocators.aqka import ridge_gradient
from aqka.allocators.schedule import ONE_LOOK, ONE_SHOT, Schedule
from aqka.allocators.targets import (
    fill,
    kkt_targets,
    raise_lowest,
    raise_to_floor,
    sample_uniformly,
    spread,
)
from aqka.core.pairs import PairTable
from aqka.core.plans import Landmarks, UnitTable
from aqka.core.problem import Problem
from aqka.errors import InputError


@dataclass(frozen=True)
class Uniform(Allocator):
    """Every pair or point gets the same shots; a remainder goes to a random choice of them."""

    ledger_name: ClassVar[str] = "uniform"
    schedule: ClassVar[Schedule] = ONE_SHOT
    units: ClassVar[tuple[str, ...]] = ("pair", "point")
    steers: ClassVar[bool] = False

    def ask(self, table: UnitTable, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Raise those that have fewest shots, so that all end equal."""
        return Allocation(raise_lowest(table.unit_shots, shots, rng))

    def explain(self, table: UnitTable, problem: Problem) -> str:
        """Say what each has had."""
        units = len(table.unit_shots)
        what = "point" if units == table.n_points else "pair"
        return f"Even shots: {table.total / units:.3g} per {what}, whatever the counts show."


@dataclass(frozen=True)
class Random(Allocator):
    """Independent uniform pair sampling: the paper's ``random``."""

    ledger_name: ClassVar[str] = "random"
    schedule: ClassVar[Schedule] = ONE_SHOT
    steers: ClassVar[bool] = False

    def ask(self, table: UnitTable, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Draw every shot's pair independently."""
        return Allocation(sample_uniformly(len(table.unit_shots), shots, rng))


@dataclass(frozen=True)
class Bernoulli(TargetFill):
    """s* ∝ sqrt(K̂(1-K̂)): what is left of AQKA when the sensitivity is flat.

    ``floor`` is that of :class:`Aqka`.
    """

    ledger_name: ClassVar[str] = "bernoulli"

    def sensitivity(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return the same for every pair."""
        return np.ones(table.n_pairs)


@dataclass(frozen=True)
class Leverage(TargetFill):
    """s* ∝ (ℓ_i + ℓ_j) sqrt(K̂(1-K̂)): safer than AQKA when the sensitivity is dense (Eq. 52).

    ``floor`` is that of :class:`Aqka`.
    """

    ledger_name: ClassVar[str] = "leverage"

    def sensitivity(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return the leverage of a pair's two points."""
        leverage = self.spectrum(table, problem).leverage(problem.ridge)
        return table.condense(np.add.outer(leverage, leverage))


@dataclass(frozen=True)
class Shofar(Allocator):
    """The remaining budget spread equally over S × S, S = {i : |α̂_i| > τ max|α̂|} (Appendix C.6).

    Parameters
    ----------
    threshold : float, default=0.05
        τ: points of smaller coefficients, relative to the largest, are outside the support.
    """

    ledger_name: ClassVar[str] = "shofar"
    threshold: float = 0.05  # τ
    schedule: ClassVar[Schedule] = ONE_LOOK

    def __post_init__(self) -> None:
        as_fraction(self.threshold, "threshold")

    def ask(self, table: PairTable, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Spread the shots over the pairs whose two points are in the support."""
        alpha = self.spectrum(table, problem).solve(problem.outputs, problem.ridge)
        size = np.linalg.norm(alpha, axis=1)  # over the outputs; of one output it is |α̂_i|
        support = size > self.threshold * size.max()
        inside = table.condense(np.logical_and.outer(support, support))
        if not inside.any():  # one point alone has no pair when the diagonal is known
            inside = table.condense(np.logical_or.outer(support, support))
        return Allocation(spread(inside, shots, rng))


def landmark_block(table: PairTable, points: IntArray) -> BoolArray:
    """Return the pairs that touch a landmark: {(i, j) : i ∈ L or j ∈ L}."""
    chosen = np.zeros(table.n_points, dtype=np.bool_)
    chosen[points] = True
    return table.condense(np.logical_or.outer(chosen, chosen))


@dataclass(frozen=True)
class Nystrom(Allocator):
    """Equal shots for all pairs that touch one of m_ℓ random landmarks (Appendix C.6).

    Parameters
    ----------
    landmarks : int, default=None
        Number m_ℓ of landmark points; None takes ⌈√N⌉.
    """

    ledger_name: ClassVar[str] = "nystrom"
    landmarks: int | None = None  # m_ℓ; None for ⌈√N⌉
    schedule: ClassVar[Schedule] = ONE_SHOT
    chooses_once: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.landmarks is not None:
            as_count(self.landmarks, "landmarks")

    def count(self, n_points: int) -> int:
        """Return m_ℓ for a problem of that size."""
        return math.ceil(math.sqrt(n_points)) if self.landmarks is None else self.landmarks

    def check(self, problem: Problem) -> None:
        """Require at least as many points as landmarks."""
        if self.count(problem.n_points) > problem.n_points:
            raise InputError(
                f"landmarks must lie between 1 and {problem.n_points}, got {self.landmarks}."
            )

    def choose(self, table: PairTable, problem: Problem, rng: Generator) -> IntArray:
        """Choose the landmark points."""
        return rng.choice(table.n_points, self.count(table.n_points), replace=False)

    def ask(self, table: PairTable, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Spread the shots over the landmark rows."""
        points = self.choose(table, problem, rng)
        block = landmark_block(table, points)
        return Allocation(spread(block, shots, rng), Landmarks(points, keep_block=False))


@dataclass(frozen=True)
class NystromLeverage(Nystrom):
    """Landmarks drawn without replacement, p ∝ ℓ_i of the warm-up kernel (Appendix C.10).

    ``landmarks`` is that of :class:`Nystrom`.
    """

    ledger_name: ClassVar[str] = "nystrom-leverage"
    schedule: ClassVar[Schedule] = ONE_LOOK

    def choose(self, table: PairTable, problem: Problem, rng: Generator) -> IntArray:
        """Draw the landmark points by leverage."""
        leverage = self.spectrum(table, problem).leverage(problem.ridge)
        weights = leverage / leverage.sum()
        return rng.choice(table.n_points, self.count(table.n_points), replace=False, p=weights)


@dataclass(frozen=True)
class Hybrid(Nystrom):
    """Landmarks by the row sums of |ĝ|, sensitivity fill within their block (Appendix C.11).

    The learner keeps what was measured in the block and reconstructs the rest. ``landmarks`` is
    that of :class:`Nystrom`.
    """

    ledger_name: ClassVar[str] = "hybrid"
    schedule: ClassVar[Schedule] = ONE_LOOK

    def ask(self, table: PairTable, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Choose the landmarks from the warm-up and fill inside their rows."""
        sensitivity = np.abs(ridge_gradient(self.spectrum(table, problem), problem))
        row_sums = sensitivity.sum(axis=1)
        points = np.argsort(-row_sums, kind="stable")[: self.count(table.n_points)]
        block = landmark_block(table, points)
        score = raise_to_floor(table.condense(sensitivity)) * problem.reading.deviation(table)
        if not score[block].any():
            score = np.ones_like(score)
        targets = kkt_targets(np.where(block, score, 0.0), table.total + shots)
        return Allocation(fill(targets, table.shots, shots, rng), Landmarks(points, True))
