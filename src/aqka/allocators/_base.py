"""The contract of an allocator, and the fill toward targets that most of them share."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.random import Generator

from aqka._util.arrays import FloatArray, IntArray, as_fraction
from aqka.allocators.schedule import Schedule
from aqka.allocators.targets import SENSITIVITY_FLOOR, fill, kkt_targets, raise_to_floor, sample
from aqka.core.plans import Landmarks
from aqka.core.problem import Problem
from aqka.errors import InputError
from aqka.maths.spectrum import Spectrum


@dataclass(frozen=True, eq=False)
class Allocation:
    """What an allocator answers.

    Parameters
    ----------
    shots : array of int
        Shots for each unit of the table.
    landmarks : Landmarks, default=None
        The rows that are measured, where the others are reconstructed.
    """

    shots: IntArray
    landmarks: Landmarks | None = None


class Allocator(ABC):
    """Decides which unit, a pair or a point, gets how many of a round's shots.

    An allocator keeps no state: all it may know is passed in, so that a run survives a restart.
    """

    schedule: ClassVar[Schedule] = Schedule()
    """The schedule a run uses unless the user gives another."""

    ledger_name: ClassVar[str]
    """What ledgers call the class, and tags, simulated hits and jobs in flight depend on: it stays
    when the class is moved or renamed. A class without one goes by its module and name."""

    units: ClassVar[tuple[str, ...]] = ("pair",)
    """What it can give shots to."""

    steers: ClassVar[bool] = True
    """Whether it looks at what was measured."""

    chooses_once: ClassVar[bool] = False
    """Whether a choice made in the first round must hold, so that only one round is possible."""

    def spectrum(self, table: Any, problem: Problem) -> Spectrum:
        """Return the decomposition of what was measured (Algorithm 1, line 5)."""
        return Spectrum.of(problem.reading.kernel(table))

    @abstractmethod
    def ask(self, table: Any, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Allocate exactly ``shots`` shots, given everything measured so far."""

    def over(self, unit: str) -> "Allocator":
        """Return the allocator for units of a kind, or refuse those that it has no meaning for."""
        if unit not in self.units:
            raise InputError(
                f"allocator {type(self).__name__} gives shots to {self.units[0]}s, not {unit}s; "
                "take 'uniform', 'aqka' or 'predictive', or the other design."
            )
        return self

    def check(self, problem: Problem) -> None:  # noqa: B027
        """Raise an InputError if the problem lacks something; called before the first shot."""

    def explain(self, table: Any, problem: Problem) -> str:
        """Say in words what the allocator makes of what has been measured; empty if nothing."""
        return ""

    def describe(self) -> str:
        """Return class and settings, the same in every process and every version."""
        kind = type(self)
        settings = ", ".join(f"{name}={value!r}" for name, value in sorted(vars(self).items()))
        # That of the class itself: a subclass is another allocator.
        name = vars(kind).get("ledger_name", f"{kind.__module__}.{kind.__qualname__}")
        return f"{name}({settings})"


@dataclass(frozen=True)
class TargetFill(Allocator):
    """Fills toward targets ∝ sensitivity × deviation; a subclass writes the sensitivity.

    Parameters
    ----------
    floor : float, default=0.05
        Sensitivities are raised to this fraction of the largest one.
    """

    floor: float = SENSITIVITY_FLOOR
    over_points: ClassVar["type[TargetFill] | None"] = None
    """Its like over points, where ``units`` names them too."""

    def __post_init__(self) -> None:
        as_fraction(self.floor, "floor")

    @abstractmethod
    def sensitivity(self, table: Any, problem: Problem) -> FloatArray:
        """Return how strongly each pair of the table matters; only ratios count."""

    def deviation(self, table: Any, problem: Problem) -> FloatArray:
        """Return sqrt(K(1-K)) per pair."""
        return problem.reading.deviation(table)

    def score(self, table: Any, problem: Problem) -> FloatArray:
        """Return |g| sqrt(K(1-K)) per pair, with the floor (Eq. 11)."""
        sensitivity = raise_to_floor(self.sensitivity(table, problem), self.floor)
        return sensitivity * self.deviation(table, problem)

    def ask(self, table: Any, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Allocate one round's exploitation shots (Algorithm 1, lines 8 and 9)."""
        # Line 8. The target is cumulative: what the shots so far and these together should look
        # like (docs/explanation/errata.md, "B_t").
        targets = kkt_targets(self.score(table, problem), table.total + shots)
        return Allocation(fill(targets, table.unit_shots, shots, rng))  # line 9

    def over(self, unit: str) -> Allocator:
        """Return it, or its like over points, which has a floor of its own unless one is given."""
        super().over(unit)
        if unit == self.units[0] or self.over_points is None:
            return self
        return self.over_points(*(() if self.floor == type(self).floor else (self.floor,)))


class SampledScore(TargetFill):
    """Draws each shot's pair at random from the score, instead of filling toward it."""

    def ask(self, table: Any, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Draw every shot's pair independently."""
        return Allocation(sample(self.score(table, problem), shots, rng))
