"""The test points of a run, from its counts: decisions, intervals, and how sure they are."""

from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import BoolArray, FloatArray, IntArray
from aqka._util.text import inert
from aqka.insight.intervals import with_total_interval
from aqka.maths.metrics import PairedShares, balanced_accuracy, compare_shares, share_interval
from aqka.sessions.acquisition import Acquisition
from aqka.sessions.point_prediction import PredictedPoints
from aqka.sessions.prediction_result import Prediction, leading_margin, normal_quantile
from aqka.study.method import readout_of
from aqka.study.points import Points
from aqka.study.study_run import StudyRun

MOST_WIDER = 2.0  # times the narrow intervals' reach, that a drawing makes room for
REDRAWN_TRAININGS = 20  # give the width of the total interval to within some 16 %


@dataclass(frozen=True, eq=False)
class PointResults:
    """Test points, in their order.

    Attributes
    ----------
    ids
        What the user's file calls them.
    truth, predicted
        Their classes and those predicted, as text.
    right
        Where the two agree.
    guess_right
        Where always answering the training majority class is right.
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
    balanced_accuracy
        Over all test points.
    """

    ids: list[str]
    truth: list[str]
    predicted: list[str]
    right: BoolArray
    guess_right: BoolArray
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

    @property
    def accuracy(self) -> float:
        """Share of test points that are predicted right."""
        return float(self.right.mean())

    @property
    def reach(self) -> float:
        """How far from the border a drawing goes: wide intervals may leave it."""
        narrow = float(np.max(np.abs([self.low, self.high]), initial=0.0))
        if self.total_low is None or self.total_high is None:
            return narrow or 1.0
        wide = float(np.max(np.abs([self.total_low, self.total_high]), initial=0.0))
        return min(wide, MOST_WIDER * narrow) or 1.0

    @property
    def standard_error(self) -> float:
        """Standard error of the accuracy."""
        return float(np.sqrt(self.accuracy * (1 - self.accuracy) / self.right.size))

    @property
    def majority_accuracy(self) -> float:
        """Share that the training majority class is right on."""
        return float(self.guess_right.mean())

    @property
    def over_guessing(self) -> PairedShares:
        """The predictions against the training majority class, point by point."""
        return compare_shares(self.right, self.guess_right)

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
    wide: Prediction | None = None
    if isinstance(found, PredictedPoints):
        value, reach = found.leading()
    else:
        if total:
            assert isinstance(run.session, Acquisition)
            readout = readout_of(run.study)
            found = with_total_interval(found, run.session, readout, repetitions=REDRAWN_TRAININGS)
        wide = found
        value, deviation = leading_margin(found)
        reach = normal_quantile(found.level) * deviation
    drawn = wide is not None and found.f.ndim == 1
    truth = np.array([str(label) for label in points.test_labels])
    labels = np.array([str(label) for label in found.labels])
    return PointResults(
        ids=_names(None if points.origin is None else points.origin.test_ids, len(points.test)),
        truth=[inert(label) for label in truth],
        predicted=[inert(label) for label in labels],
        right=truth == labels,
        guess_right=_majority_is_right(points),
        value=value,
        low=value - reach,
        high=value + reach,
        total_low=wide.total_low if drawn and wide is not None else None,
        total_high=wide.total_high if drawn and wide is not None else None,
        settled=found.settled,
        could_flip=None if wide is None else wide.could_flip,
        shots=found.shots,
        classes=[inert(label) for label in head.classes],
        balanced_accuracy=balanced_accuracy(truth, labels),
    )


def train_ids(points: Points) -> list[str]:
    """Return what the user's file calls the training points; a run of 0.1.0 does not know."""
    return _names(None if points.origin is None else points.origin.train_ids, len(points.train))


def _names(ids: list[str] | None, count: int) -> list[str]:
    return [f"point {k}" for k in range(count)] if ids is None else [inert(name) for name in ids]


def _majority_is_right(points: Points) -> BoolArray:
    """Return for each test point whether it is of the training points' largest class."""
    classes, counts = np.unique(points.train_labels, return_counts=True)
    return np.asarray(points.test_labels == classes[np.argmax(counts)])
