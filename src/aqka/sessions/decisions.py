"""Decisions: what shots say about new points, whatever the shots were spent on."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from aqka._util.arrays import BoolArray, FloatArray, IntArray
from aqka._util.shown import Shown


@dataclass(frozen=True, eq=False, repr=False)
class Decisions(Shown):
    """What the shots say about new points.

    Attributes
    ----------
    labels
        The settled class, or the most likely one of a point that is still open.
    f
        Decision values; with more than two classes a column each.
    low, high
        Interval for the f that infinitely many shots on the point would give, the fitted model
        taken as given.
    settled
        Whether the class is settled at the error rate; the budget ended before the others were.
    shots
        Shots spent on each point.
    level
        Level of the intervals.
    """

    labels: NDArray[Any]
    f: FloatArray
    low: FloatArray
    high: FloatArray
    settled: BoolArray
    shots: IntArray
    level: float

    def _figures(self) -> dict[str, object]:
        return {
            "points": len(self.labels),
            "settled": int(self.settled.sum()),
            "shots": int(self.shots.sum()),
        }
