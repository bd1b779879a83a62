"""The contract of an allocator over points, and the fill toward targets."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aqka._util.arrays import FloatArray, IntArray, as_count, as_fraction
from aqka.allocators.schedule import ONE_SHOT, Schedule
from aqka.allocators.targets import fill, kkt_targets, raise_lowest, raise_to_floor
from aqka.core.points import PointTable
from aqka.errors import InputError


class PointAllocator(ABC):
    """Decides which point gets how many of a round's shots; its settings share them evenly.

    An allocator keeps no state: all it may know is passed in, so that a run survives a restart.
    """

    schedule: ClassVar[Schedule] = ONE_SHOT
    """The schedule a run uses unless the user gives another."""

    ledger_name: ClassVar[str]
    """What ledgers call the class; it stays when the class is moved or renamed. A class without
    one of its own goes by its module and name."""

    @abstractmethod
    def point_shots(self, table: PointTable, y: FloatArray, shots: int) -> IntArray:
        """Return the shots of each point, exactly ``shots`` together.

        Parameters
        ----------
        table
            Everything measured so far.
        y
            Targets of the points, one column or one for each output.
        shots
            Shots of this round.
        """

    def describe(self) -> str:
        """Return class and settings, the same in every process and every version."""
        kind = type(self)
        settings = ", ".join(f"{name}={value!r}" for name, value in sorted(vars(self).items()))
        # Of the class itself: a subclass is another allocator.
        name = vars(kind).get("ledger_name", f"{kind.__module__}.{kind.__qualname__}")
        return f"{name}({settings})"


def level_points(table: PointTable, shots: int) -> IntArray:
    """Return shots for the points that have fewest, so that all end as equal as can be."""
    return raise_lowest(table.shots_per_point, as_count(shots, "shots"), _ties(table))


def _ties(table: PointTable) -> np.random.Generator:
    """Return what breaks exact ties: of a round's own, and the same when it is asked again."""
    return np.random.default_rng(table.total)


@dataclass(frozen=True)
class PointFill(PointAllocator):
    """Fills toward shots ∝ sqrt(v), v the variance that a point adds at one shot.

    Points without shots come first: nothing is known about them.

    Attributes
    ----------
    floor
        sqrt(v) is raised to this fraction of the largest one, so that an estimate that is too low
        starves no point.
    """

    floor: float = 0.2

    def __post_init__(self) -> None:
        """Check the floor."""
        as_fraction(self.floor, "floor")

    @abstractmethod
    def variances(self, table: PointTable, y: FloatArray) -> FloatArray:
        """Return v of each point; only ratios count. ``y`` has a column for each output."""

    def point_shots(self, table: PointTable, y: FloatArray, shots: int) -> IntArray:
        """Return the shots of each point (docs/explanation/points.md)."""
        targets = np.asarray(y, dtype=np.float64)
        if len(targets) != table.n_points:
            raise InputError(
                f"y must have a target for each of {table.n_points} points, got {len(targets)}."
            )
        if table.shots_per_point.min() == 0:
            return level_points(table, shots)
        v = self.variances(table, targets.reshape(table.n_points, -1))
        score = raise_to_floor(np.sqrt(v), self.floor)
        wanted = kkt_targets(score, table.total + as_count(shots, "shots"))
        return fill(wanted, table.shots_per_point, shots, _ties(table))
