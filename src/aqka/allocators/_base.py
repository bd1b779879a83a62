"""The contract of an allocator, and the fill toward targets that most of them share."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from aqka.arrays import FloatArray, IntArray
from aqka.pairs import PairTable
from aqka.plan import Landmarks
from aqka.problem import Problem
from aqka.schedule import Schedule
from aqka.targets import SENSITIVITY_FLOOR, fill, kkt_targets


@dataclass(frozen=True, eq=False)
class Allocation:
    """Shots per pair of the table, and the landmarks where the readout needs them."""

    shots: IntArray
    landmarks: Landmarks | None = None


class Allocator(ABC):
    """Decides which pair gets how many of a round's shots.

    An allocator keeps no state: all it may know is passed in, so that a run survives a restart.
    """

    schedule: ClassVar[Schedule] = Schedule()
    """The schedule a run uses unless the user gives another."""

    chooses_once: ClassVar[bool] = False
    """Whether a choice made in the first round must hold, so that only one round is possible."""

    @abstractmethod
    def ask(self, table: PairTable, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Allocate exactly ``shots`` shots, given everything measured so far."""


@dataclass(frozen=True)
class TargetFill(Allocator):
    """Fills toward targets ∝ a score; a subclass writes the score and nothing else.

    Attributes
    ----------
    floor
        Sensitivities are raised to this fraction of the largest one.
    """

    floor: float = SENSITIVITY_FLOOR

    @abstractmethod
    def score(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return sensitivity × sqrt(K(1-K)) per pair of the table."""

    def ask(self, table: PairTable, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Allocate one round's exploitation shots (Algorithm 1, lines 8 and 9)."""
        # Line 8. The target is cumulative: what all shots up to the end of this round should
        # look like (docs/errata.md, "B_t").
        targets = kkt_targets(self.score(table, problem), table.total + shots)
        return Allocation(fill(targets, table.shots, shots, rng))  # line 9
