"""The test points of a run, from its counts: decisions, intervals, and how sure they are."""

from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import BoolArray, FloatArray, IntArray
from aqka._util.text import inert
from aqka.insight.intervals import with_total_interval
from aqka.maths.metrics import balanced_accuracy, share_interval
from aqka.sessions.prediction_result import leading_margin, normal_quantile
from aqka.study.data import Points
from aqka.study.method import readout_of
from aqka.study.study_run import StudyRun

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


def point_results(run: StudyRun, *, total: bool) -> PointResults | None:
    """Return the test points of a run; None while its predictions are not finished.

    ``total`` asks for the intervals that count the training shots too.
    """
    found, points = run.prediction, run.points
    if found is None:
        return None
    head = found.head
    if total:
        readout = readout_of(run.study)
        found = with_total_interval(found, run.session, readout, repetitions=REDRAWN_TRAININGS)
    value, deviation = leading_margin(found)
    reach = normal_quantile(found.level) * deviation
    binary = found.f.ndim == 1
    truth = np.array([str(label) for label in points.test_labels])
    labels = np.array([str(label) for label in found.labels])
    gain = (truth == labels).astype(np.float64) - _majority_is_right(points)
    return PointResults(
        truth=[inert(label) for label in truth],
        predicted=[inert(label) for label in labels],
        right=truth == labels,
        value=value,
        low=value - reach,
        high=value + reach,
        total_low=found.total_low if binary else None,
        total_high=found.total_high if binary else None,
        settled=found.settled,
        could_flip=found.could_flip,
        shots=found.shots,
        classes=[inert(label) for label in head.classes],
        balanced_accuracy=balanced_accuracy(truth, labels),
        majority_accuracy=points.majority_accuracy,
        gain=float(gain.mean()),
        gain_error=float(np.std(gain) / np.sqrt(gain.size)),
    )


def _majority_is_right(points: Points) -> BoolArray:
    """Return for each test point whether it is of the training points' largest class."""
    classes, counts = np.unique(points.train_labels, return_counts=True)
    return np.asarray(points.test_labels == classes[np.argmax(counts)])
