"""Equal shots for every point, in one go."""

from dataclasses import dataclass
from typing import ClassVar

from aqka._util.arrays import FloatArray, IntArray
from aqka.allocators.points._base import PointAllocator, level_points
from aqka.core.points import PointTable


@dataclass(frozen=True)
class Even(PointAllocator):
    """Every point gets B / N shots; a remainder goes to a random choice of points."""

    ledger_name: ClassVar[str] = "even"

    def point_shots(self, table: PointTable, y: FloatArray, shots: int) -> IntArray:
        """Raise the points that have fewest shots, so that all end equal."""
        return level_points(table, shots)
