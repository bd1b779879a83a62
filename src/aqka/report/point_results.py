"""The test points of a run, from its counts: decisions, intervals, and how sure they are."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aqka._util.arrays import BoolArray, FloatArray, IntArray
from aqka._util.text import inert
from aqka.core.blocks import BlockTable
from aqka.core.plans import ShotPlan
from aqka.insight.intervals import with_total_interval
from aqka.maths.metrics import balanced_accuracy, share_interval
from aqka.readouts import FittedHead, Readout
from aqka.runs.export import measurements
from aqka.sessions.acquisition import Acquisition
from aqka.sessions.predicted import Prediction, estimate, normal_quantile
from aqka.study.data import Points
from aqka.study.directory import PREDICTIONS_NAME

LEVEL = 0.9
REDRAWN_TRAININGS = 20  # give the width of the total interval to within some 16 %


@dataclass(frozen=True, eq=False)
class PointResults:
    """Test points, in their order.

    Attributes
    ----------
    truth, predicted
        Their classes and those predicted, as text.
    right
        Where the two agree.
    value
        The decision value f; of more than two classes, how far the leader is ahead.
    low, high
        90 % interval of the value from the test shots, the head taken as given.
    total_low, total_high
        Interval that counts the training shots too; None where it is not known.
    settled
        Whether more test shots could hardly change the class.
    could_flip
        Whether the same readout on the exact kernel could give another class; None: unknown.
    shots
        Shots spent on each point.
    balanced_accuracy, majority_accuracy
        Over all test points; the majority is that of the training points.
    gain, gain_error
        Accuracy above the majority's, point by point, and its standard error.
    """

    truth: list[str]
    predicted: list[str]
    right: BoolArray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    total_low: FloatArray | None
    total_high: FloatArray | None
    settled: BoolArray
    could_flip: BoolArray | None
    shots: IntArray
    classes: list[str]
    balanced_accuracy: float
    majority_accuracy: float
    gain: float
    gain_error: float

    @property
    def accuracy(self) -> float:
        """Share of test points that are predicted right."""
        return float(self.right.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of the accuracy."""
        return float(np.sqrt(self.accuracy * (1 - self.accuracy) / self.right.size))

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the accuracy by Wilson's formula."""
        return share_interval(int(self.right.sum()), self.right.size)


def point_results(
    directory: Path,
    session: Acquisition,
    readout: Readout,
    points: Points,
    stored: dict[str, Any],
    *,
    total: bool,
) -> PointResults | None:
    """Return the test points of a run; None while its predictions are not finished.

    What is settled and the classes stand in the ``stored`` results; everything else is read from
    the counts. ``total`` asks for the intervals that count the training shots too.
    """
    table = _counts(directory, points)
    predicted, settled = _stored(stored, len(points.test))
    if table is None or predicted is None or settled is None:
        return None
    head = session.fit(readout)
    f, deviation = estimate(head, table)
    reach = normal_quantile(LEVEL) * deviation
    found = Prediction(
        labels=head.labels(f),
        f=f,
        low=f - reach,
        high=f + reach,
        settled=settled,
        shots=table.shots.sum(axis=1),
        level=LEVEL,
        head=head,
        table=table,
    )
    if total:
        found = with_total_interval(found, session, readout, repetitions=REDRAWN_TRAININGS)
    value, deviation = _margin(head, table, found)
    reach = normal_quantile(LEVEL) * deviation
    binary = f.ndim == 1
    truth = np.array([str(label) for label in points.test_labels])
    right = truth == np.array(predicted)
    classes, counts = np.unique(points.train_labels, return_counts=True)
    usual = points.test_labels == classes[np.argmax(counts)]
    gain = right.astype(np.float64) - usual
    return PointResults(
        truth=[inert(label) for label in truth],
        predicted=[inert(label) for label in predicted],
        right=right,
        value=value,
        low=value - reach,
        high=value + reach,
        total_low=found.total_low if binary else None,
        total_high=found.total_high if binary else None,
        settled=settled,
        could_flip=found.could_flip,
        shots=found.shots,
        classes=[inert(label) for label in head.classes],
        balanced_accuracy=balanced_accuracy(truth, np.array(predicted)),
        majority_accuracy=points.majority_accuracy,
        gain=float(gain.mean()),
        gain_error=float(np.std(gain) / np.sqrt(gain.size)),
    )


def _margin(
    head: FittedHead, table: BlockTable, found: Prediction
) -> tuple[FloatArray, FloatArray]:
    """Return f and its deviation; of several classes, the leader's gap to the next."""
    f, alpha = found.f, np.asarray(head.alpha)
    variance = table.variance(table.prior())
    if f.ndim == 1:
        return f, np.asarray(np.sqrt(variance @ alpha**2))
    order = np.argsort(f, axis=1)
    rows = np.arange(len(f))
    leader, second = order[:, -1], order[:, -2]
    contrast = (alpha[:, leader] - alpha[:, second]).T
    return f[rows, leader] - f[rows, second], np.sqrt(np.sum(variance * contrast**2, axis=1))


def _counts(directory: Path, points: Points) -> BlockTable | None:
    """Return the counts of the test-by-train block; None where the ledger does not fit it."""
    found = measurements(directory / PREDICTIONS_NAME)
    table = BlockTable(len(points.test), len(points.train))
    if found.row.max(initial=-1) >= len(points.test):
        return None
    if found.col.max(initial=-1) >= len(points.train):
        return None
    table.add(ShotPlan(found.row, found.col, found.shots), found.hits)
    return table


def _stored(stored: dict[str, Any], count: int) -> tuple[list[str] | None, BoolArray | None]:
    """Return classes and what is settled as the results say, if they are a run's of that size."""
    results = stored.get("results")
    if not isinstance(results, dict):
        return None, None
    predicted, settled = results.get("predictions"), results.get("settled")
    if not isinstance(predicted, list) or not isinstance(settled, list):
        return None, None
    if len(predicted) != count or len(settled) != count:
        return None, None
    return [str(label) for label in predicted], np.array([bool(s) for s in settled])
