"""What every table of counts has: units that shots are spent on."""

from abc import abstractmethod
from typing import Any, ClassVar, Self

from aqka._util.arrays import IntArray
from aqka._util.shown import Shown
from aqka.core.plans import Plan


class UnitTable(Shown):
    """Counts of training points; a unit is what an allocator gives shots to, a pair or a point."""

    n_points: int
    PLAN: ClassVar[type[Plan]]
    """Plans whose answers it counts."""

    @property
    @abstractmethod
    def unit_shots(self) -> IntArray:
        """Shots of each unit."""

    @property
    def total(self) -> int:
        """All shots spent so far."""
        return int(self.unit_shots.sum())

    @abstractmethod
    def add(self, plan: Any, answer: Any) -> None:
        """Count what came back for an executed plan; on bad input the table is unchanged."""

    @abstractmethod
    def read_only(self) -> Self:
        """Return a copy whose counts cannot be changed, for code that is not trusted with them."""
