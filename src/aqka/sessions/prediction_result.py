"""Prediction: decision values of test points, their intervals, and what is settled."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import BoolArray, FloatArray, IntArray, as_fraction
from aqka._util.shown import Shown
from aqka.core.blocks import BlockTable
from aqka.errors import InputError
from aqka.readouts import FittedHead


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(Shown):
    """What the shots say about test points.

    Attributes
    ----------
    labels
        The settled class, or the most likely one of a point that is still open.
    f
        Decision values from the measured entries; with more than two classes a column each.
    low, high
        Interval for the f that exact test entries would give, the fitted model taken as given.
    settled
        Whether the class is settled at the error rate; the budget ended before the others were.
    shots
        Shots spent on each point.
    total_low, total_high
        Interval for the f of the same readout on the exact kernel; see
        :func:`~aqka.insight.with_total_interval`. None until asked for.
    could_flip
        Whether that readout could give another class; None until asked for.
    level
        Level of the intervals.
    head, table
        The fitted head, and the counts of the test entries.
    """

    labels: NDArray[Any]
    f: FloatArray
    low: FloatArray
    high: FloatArray
    settled: BoolArray
    shots: IntArray
    level: float
    head: FittedHead
    table: BlockTable
    total_low: FloatArray | None = None
    total_high: FloatArray | None = None
    could_flip: BoolArray | None = None

    def _figures(self) -> dict[str, object]:
        figures: dict[str, object] = {
            "points": len(self.labels),
            "settled": int(self.settled.sum()),
            "shots": int(self.shots.sum()),
            "classes": ", ".join(str(label) for label in self.head.classes),
        }
        if self.could_flip is not None:
            figures["could flip"] = int(self.could_flip.sum())
        return figures


def estimate(head: FittedHead, table: BlockTable) -> tuple[FloatArray, FloatArray]:
    """Return f and its standard deviation from the counts, in the shape of the head's output."""
    prior = table.prior()
    f = head.decision_function(table.estimate(prior.mean))
    return f, np.sqrt(table.variance(prior) @ np.asarray(head.alpha) ** 2)


def prediction_of(
    head: FittedHead, table: BlockTable, settled: BoolArray, level: float
) -> Prediction:
    """Return what the counts say of points some of which are settled."""
    f, deviation = estimate(head, table)
    reach = normal_quantile(level) * deviation
    return Prediction(
        labels=head.labels(f),
        f=f,
        low=f - reach,
        high=f + reach,
        settled=settled,
        shots=table.shots.sum(axis=1),
        level=level,
        head=head,
        table=table,
    )


def check_level(level: float) -> float:
    """Return the level of an interval, strictly between 0 and 1."""
    level = as_fraction(level, "level")
    if level in (0, 1):
        raise InputError(f"level must lie strictly between 0 and 1, got {level}; for example 0.9.")
    return level


def normal_quantile(level: float) -> float:
    """Return how many standard deviations a two-sided interval of a level reaches.

    Examples
    --------
    >>> round(normal_quantile(0.9), 3)
    1.645
    """
    from scipy.special import ndtri  # imported here: `import aqka` need not wait for it

    return float(ndtri((1 + level) / 2))
