"""Nyström-QKE: landmark rows only, the rest of the kernel reconstructed."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from aqka._util.arrays import BoolArray, IntArray, as_count
from aqka.allocators._base import Allocation, Allocator
from aqka.allocators.aqka import ridge_gradient
from aqka.allocators.schedule import ONE_LOOK, ONE_SHOT, Schedule
from aqka.allocators.targets import fill, kkt_targets, raise_to_floor, spread
from aqka.core.pairs import PairTable
from aqka.core.plans import Landmarks
from aqka.core.problem import Problem
from aqka.errors import InputError
from aqka.maths.spectrum import Spectrum


def landmark_block(table: PairTable, points: IntArray) -> BoolArray:
    """Return the pairs that touch a landmark: {(i, j) : i ∈ L or j ∈ L}."""
    chosen = np.zeros(table.n_points, dtype=np.bool_)
    chosen[points] = True
    return table.condense(np.logical_or.outer(chosen, chosen))


@dataclass(frozen=True)
class Nystrom(Allocator):
    """Equal shots for all pairs that touch one of m_ℓ random landmarks (Appendix C.6)."""

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
        shots_per_pair = spread(landmark_block(table, points), shots, rng)
        return Allocation(shots_per_pair, Landmarks(points, keep_block=False))


@dataclass(frozen=True)
class NystromLeverage(Nystrom):
    """Landmarks drawn without replacement, p ∝ ℓ_i of the warm-up kernel (Appendix C.10)."""

    ledger_name: ClassVar[str] = "nystrom-leverage"
    schedule: ClassVar[Schedule] = ONE_LOOK

    def choose(self, table: PairTable, problem: Problem, rng: Generator) -> IntArray:
        """Draw the landmark points by leverage."""
        leverage = Spectrum.of(problem.reading.kernel(table)).leverage(problem.ridge)
        weights = leverage / leverage.sum()
        return rng.choice(table.n_points, self.count(table.n_points), replace=False, p=weights)


@dataclass(frozen=True)
class Hybrid(Nystrom):
    """Landmarks by the row sums of |ĝ|, sensitivity fill within their block (Appendix C.11).

    The learner keeps what was measured in the block and reconstructs the rest.
    """

    ledger_name: ClassVar[str] = "hybrid"
    schedule: ClassVar[Schedule] = ONE_LOOK

    def ask(self, table: PairTable, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Choose the landmarks from the warm-up and fill inside their rows."""
        sensitivity = np.abs(ridge_gradient(problem.reading.kernel(table), problem))
        row_sums = sensitivity.sum(axis=1)
        points = np.argsort(-row_sums, kind="stable")[: self.count(table.n_points)]
        block = landmark_block(table, points)
        score = raise_to_floor(table.condense(sensitivity)) * problem.reading.deviation(table)
        if not score[block].any():
            score = np.ones_like(score)
        targets = kkt_targets(np.where(block, score, 0.0), table.total + shots)
        return Allocation(fill(targets, table.shots, shots, rng), Landmarks(points, True))
