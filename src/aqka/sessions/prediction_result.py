"""Prediction: decision values of test points, their intervals, and what is settled."""

from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import BoolArray, FloatArray, as_fraction
from aqka.core.blocks import BlockTable
from aqka.errors import InputError
from aqka.estimates.rows import RowPrior, RowReading
from aqka.maths.spectrum import Spectrum
from aqka.readouts import FittedHead
from aqka.sessions.decisions import Decisions


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(Decisions):
    """What shots on pairs say about test points.

    What it shares with other decisions is described at :class:`~aqka.sessions.Decisions`; f is
    read from the measured entries as ``aqka.estimates.rows`` says.

    Attributes
    ----------
    total_low, total_high
        Interval for the f of the same readout on the exact kernel; see
        :func:`~aqka.insight.with_total_interval`. None until asked for.
    could_flip
        Whether that readout could give another class; None until asked for.
    head, table, reading
        The fitted head, the counts of the test entries, and how f is read from them.
    """

    head: FittedHead
    table: BlockTable
    reading: RowReading
    total_low: FloatArray | None = None
    total_high: FloatArray | None = None
    could_flip: BoolArray | None = None

    def _figures(self) -> dict[str, object]:
        figures = super()._figures()
        figures["classes"] = ", ".join(str(label) for label in self.head.classes)
        if self.could_flip is not None:
            figures["could flip"] = int(self.could_flip.sum())
        return figures


def read_block(head: FittedHead, table: BlockTable, *, as_measured: bool = False) -> RowReading:
    """Return what the counts of test rows say about the head's sums, a column per output."""
    alpha = np.asarray(head.alpha, dtype=np.float64).reshape(len(head.alpha), -1)
    if as_measured:
        return RowReading.as_measured(table, alpha)
    return RowReading.linear_bayes(table, row_prior(head), alpha)


def row_prior(head: FittedHead) -> RowPrior:
    """Return what the rows of a head's training kernel say about any row."""
    return RowPrior.of(head.spectrum or Spectrum.of(np.asarray(head.kernel)))


def estimate(head: FittedHead, reading: RowReading) -> tuple[FloatArray, FloatArray]:
    """Return f and its standard deviation, in the shape of the head's output."""
    shape = (len(reading.values), *np.asarray(head.alpha).shape[1:])
    f = reading.values.reshape(shape) + head.intercept
    return np.asarray(f), np.sqrt(reading.variances().reshape(shape))


def leading_margin(found: Prediction) -> tuple[FloatArray, FloatArray]:
    """Return f and its deviation; of several classes, those of the leader's gap to the next."""
    if found.f.ndim == 1:
        return found.f, estimate(found.head, found.reading)[1]
    rows = np.arange(len(found.f))
    second, leader = np.argsort(found.f, axis=1)[:, -2:].T
    contrast = np.zeros_like(found.f)
    contrast[rows, leader], contrast[rows, second] = 1.0, -1.0
    return np.sum(contrast * found.f, axis=1), np.sqrt(found.reading.variance(contrast))


def prediction_of(
    head: FittedHead,
    table: BlockTable,
    settled: BoolArray,
    level: float,
    *,
    as_measured: bool = False,
) -> Prediction:
    """Return what the counts say of points some of which are settled."""
    reading = read_block(head, table, as_measured=as_measured)
    f, deviation = estimate(head, reading)
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
        reading=reading,
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
