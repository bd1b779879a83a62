"""The test points of a run: what was predicted, how sure, how good, and beside other models."""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import BoolArray, FloatArray, IntArray
from aqka._util.text import figure_text
from aqka.maths.metrics import PairedShares, compare_shares, share_interval
from aqka.report.chart import Interval
from aqka.report.words import capital, p_text, range_text
from aqka.study.results import ValueScores
from aqka.study.rivals import Beside

LEVEL = 0.05  # p-values below are believed
MOST_WIDER = 2.0  # times the narrow intervals' reach, that a drawing makes room for


Kind = Literal["exact", "plain", "guessing"]


@dataclass(frozen=True)
class PairedErrors:
    """The squared errors of two models on the same points."""

    n_points: int
    difference: float  # by how much those of the first are smaller
    error: float  # standard error of the difference

    @property
    def p_value(self) -> float:
        """p-value of no difference, by Student's paired test."""
        from scipy.special import stdtr

        if self.n_points < 2 or not self.difference:
            return 1.0
        if not self.error:
            return 0.0  # every point says the same
        # The standard error has the variance of n points; the test wants that of n - 1.
        statistic = abs(self.difference / self.error) * np.sqrt(1 - 1 / self.n_points)
        return float(2 * stdtr(self.n_points - 1, -statistic))


@dataclass(frozen=True)
class Rival:
    """How another model did on a run's test points; ``exact`` is its own kernel without noise."""

    name: str
    kind: Kind
    score: float  # accuracy, or the root mean square error of its values
    interval: Interval  # 95 %
    against: PairedShares | PairedErrors  # the run against it, point by point
    n_trained: int  # training points it learnt from; 0 if it needs none
    learnt: bool  # whether it is clearly better than guessing itself
    trials: int = 1  # rivals of its kind: the best of several by luck must not count as better
    detail: str = ""  # one figure more: the points that each alone has right, or R²

    @property
    def p_value(self) -> float:
        """p-value of no difference to the run, times the trials (Bonferroni)."""
        return min(1.0, self.against.p_value * self.trials)

    @property
    def better(self) -> bool:
        """Whether it is clearly better than the run."""
        return self.against.difference < 0 and self.p_value < LEVEL

    @property
    def worse(self) -> bool:
        """Whether it is clearly worse than the run."""
        return self.against.difference > 0 and self.p_value < LEVEL

    @property
    def compared(self) -> str:
        """How it compares with the run, in words."""
        how = "better" if self.better else "worse" if self.worse else "no clear difference"
        return f"{how}, {p_text(self.p_value)}"


@dataclass(frozen=True, eq=False)
class PointResults:
    """What test points of classes and of values share, in their order."""

    ids: list[str]  # what the user's file calls them
    value: FloatArray  # f, or the lead of the first of several classes; of a regression the value
    low: FloatArray  # 90 % interval of the value from the test shots, the head taken as given
    high: FloatArray
    total_low: FloatArray | None  # the same with the training shots; None where it is not known
    total_high: FloatArray | None
    no_total: str  # why it is not known
    shots: IntArray

    def narrow(self, k: int) -> Interval:
        """Return the interval of a point from its test shots."""
        return float(self.low[k]), float(self.high[k])

    def wide(self, k: int) -> Interval | None:
        """Return the interval of a point that counts the training shots too."""
        if self.total_low is None or self.total_high is None:
            return None
        return float(self.total_low[k]), float(self.total_high[k])


@dataclass(frozen=True, eq=False)
class ClassResults(PointResults):
    """Test points of a classifier; classes are texts."""

    truth: list[str]
    predicted: list[str]
    classes: list[str]
    right: BoolArray
    guess_right: BoolArray  # where always answering the training majority class is right
    settled: BoolArray  # where more test shots could hardly change the class
    could_flip: BoolArray | None  # where the same fit on the exact kernel could give another class
    balanced_accuracy: float
    on_prior: str = ""  # what cost no shot, and how its audit went

    metric: ClassVar = "accuracy"
    guess: ClassVar = "majority class"
    detail: ClassVar = "–"
    detail_heading: ClassVar = "only it right : only the run right"
    test_words: ClassVar = "by the exact McNemar test"
    sign: ClassVar = 1  # of a better score

    @property
    def n_open(self) -> int:
        """Points whose class is not settled."""
        return int((~self.settled).sum())

    @property
    def score(self) -> float:
        """The accuracy."""
        return float(self.right.mean())

    @property
    def interval(self) -> Interval:
        """95 % interval of the accuracy by Wilson's formula."""
        return share_interval(int(self.right.sum()), self.right.size)

    @property
    def majority_accuracy(self) -> float:
        """Share that the training majority class is right on."""
        return float(self.guess_right.mean())

    @property
    def accuracy_levels(self) -> list[float]:
        """What an axis of accuracy must hold: the ends of the interval, and the majority class."""
        return [*self.interval, self.majority_accuracy]

    @property
    def over_guessing(self) -> PairedShares:
        """The predictions against the training majority class, point by point."""
        return compare_shares(self.right, self.guess_right)

    @property
    def reach(self) -> float:
        """How far from the border a drawing goes: wide intervals may leave it."""
        narrow = float(np.max(np.abs([self.low, self.high]), initial=0.0))
        if self.total_low is None or self.total_high is None:
            return narrow or 1.0
        wide = float(np.max(np.abs([self.total_low, self.total_high]), initial=0.0))
        return min(wide, MOST_WIDER * narrow) or 1.0

    def shown(self, *scores: float) -> str:
        """Return an accuracy, or an interval of it, as text."""
        return range_text(*scores) if len(scores) == 2 else f"{scores[0]:.3f}"

    @property
    def settled_words(self) -> str:
        """How many points are settled."""
        return f"{self.settled.sum()} of {len(self.truth)}"

    @property
    def score_words(self) -> str:
        """The accuracy, and on how many points."""
        return f"{self.score:.3f} on {len(self.truth)} test points"

    def accuracy_words(self, guess: Rival | None) -> list[str]:
        """Return the accuracy beside that of the majority class, in sentences."""
        against = self.over_guessing
        how = "not shown to be better than"
        if against.p_value < LEVEL:
            how = "better than" if against.difference > 0 else "worse than"
        return [
            f"{self.score_words} (95 % interval {range_text(*self.interval)}).",
            f"This is {how} always answering the majority class, which scores "
            f"{self.majority_accuracy:.3f} (difference {against.difference:+.3f}; only the run is "
            f"right on {against.only_first}, only the majority class on {against.only_second}; "
            f"{p_text(against.p_value)}).",
        ]

    def certainty_words(self) -> str:
        """Return how many classes are settled, and how many could flip."""
        text = (
            f"{self.settled_words} classes are settled: more test shots would hardly change them."
        )
        text = f"{text} {self.on_prior}".rstrip()
        if self.could_flip is None:
            return text
        return (
            f"{text} {self.could_flip.sum()} could still get another class with the exact training "
            "kernel: their intervals, widened by the noise of training shots, reach one."
        )

    def tiles(self) -> list[tuple[str, str]]:
        """Return the large figures of the page, each with what it is."""
        return [
            (f"{self.score:.3f}", f"test accuracy, 95\u00a0%: {range_text(*self.interval)}"),
            (f"{self.majority_accuracy:.3f}", "majority class"),
            (f"{self.balanced_accuracy:.3f}", "balanced accuracy"),
            (self.settled_words, "test points settled"),
        ]

    def facts(self) -> dict[str, Any]:
        """Return the figures for a program."""
        found = {
            "accuracy": self.score,
            "standard_error": float(np.sqrt(self.score * (1 - self.score) / self.right.size)),
            "interval": list(self.interval),
            "balanced_accuracy": self.balanced_accuracy,
            "majority_accuracy": self.majority_accuracy,
            "gain": self.over_guessing.difference,
            "gain_p_value": self.over_guessing.p_value,
            "ids": self.ids,
            "predicted": self.predicted,
            "settled": int(self.settled.sum()),
            "could_flip": None if self.could_flip is None else int(self.could_flip.sum()),
            "points": len(self.truth),
            "shots": int(self.shots.sum()),
        }
        return {"test_points": found}


@dataclass(frozen=True, eq=False)
class ValueResults(PointResults):
    """Test points of a regression, with their targets and how good the values are."""

    truth: FloatArray
    scores: ValueScores
    target: FloatArray | None  # 90 % interval of the targets, low and high; None: not known

    metric: ClassVar = "root mean square error"
    guess: ClassVar = "training points' mean"
    detail_heading: ClassVar = "R²"
    test_words: ClassVar = "by their squared errors, with Student's paired test"
    accuracy_levels: ClassVar[list[float]] = []
    sign: ClassVar = -1  # of a better score
    n_open: ClassVar = 0  # no value is ever settled

    @property
    def score(self) -> float:
        """The root mean square error."""
        return self.scores.rmse

    @property
    def interval(self) -> Interval:
        """95 % interval of the root mean square error."""
        return self.scores.rmse_interval

    @property
    def detail(self) -> str:
        """R²."""
        return f"{self.scores.r2:.3f}"

    def shown(self, *scores: float) -> str:
        """Return an error, or an interval of it, as text."""
        return " to ".join(figure_text(score) for score in scores)

    @property
    def score_words(self) -> str:
        """Error and R², and on how many points."""
        return (
            f"root mean square error {figure_text(self.score)} ± "
            f"{figure_text(self.scores.rmse_error, 2)} on {len(self.truth)} test points "
            f"(R² {self.scores.r2:.2f})"
        )

    def accuracy_words(self, guess: Rival | None) -> list[str]:
        """Return the error beside that of the training points' mean, in sentences."""
        how = "" if guess is None else f" ({guess.compared})"
        median = float(np.median(np.abs(self.value - self.truth)))
        return [
            f"{capital(self.score_words)}.",
            "Always answering the training points' mean gives "
            f"{figure_text(self.scores.mean_rmse)}{how}.",
            f"Half of the errors are below {figure_text(median)}.",
        ]

    def certainty_words(self) -> str:
        """Return what the intervals are for, and how many of the targets are inside."""

        def inside(low: FloatArray, high: FloatArray) -> str:
            return f"{100 * float(np.mean((low <= self.truth) & (self.truth <= high))):.0f} %"

        words = (
            "The intervals of the shot noise say where unlimited test shots would put the "
            f"prediction, not where the target lies ({inside(self.low, self.high)} of the targets "
            "are inside)."
        )
        if self.target is None:
            return words
        return (
            f"{words} Those of the target, by a Gaussian process with the measured kernel, should "
            f"hold 90 % of the targets and hold {inside(*self.target)}."
        )

    def tiles(self) -> list[tuple[str, str]]:
        """Return the large figures of the page, each with what it is."""
        return [
            (
                figure_text(self.score),
                f"root mean square error, ± {figure_text(self.scores.rmse_error, 2)}",
            ),
            (figure_text(self.scores.mean_rmse), "error of the training points' mean"),
            (self.detail, "R²"),
        ]

    def facts(self) -> dict[str, Any]:
        """Return the figures for a program."""
        return {"test_points": None, "test_values": asdict(self.scores)}


Tested = ClassResults | ValueResults


def rivals_beside(
    tested: Tested | None, truth: NDArray[Any], train_labels: NDArray[Any], beside: Beside
) -> list[Rival]:
    """Return other models on the test points, against the run."""
    if tested is None:
        return []
    if isinstance(tested, ValueResults):
        mean, n_train = float(train_labels.mean()), len(train_labels)
        return value_rivals(truth, tested.value, beside, mean, n_train)
    return class_rivals(tested.right, tested.guess_right, truth, beside)


def class_rivals(
    right: BoolArray, guess_right: BoolArray, truth: NDArray[Any], beside: Beside
) -> list[Rival]:
    """Return all rivals of a run that was ``right`` on some of its test points."""

    def rival(name: str, kind: Kind, other: BoolArray, n_trained: int, trials: int = 1) -> Rival:
        over_guessing, against = compare_shares(other, guess_right), compare_shares(right, other)
        learnt = over_guessing.difference > 0 and over_guessing.p_value < LEVEL
        score, ends = float(other.mean()), share_interval(int(other.sum()), other.size)
        detail = f"{against.only_second} : {against.only_first}"
        return Rival(name, kind, score, ends, against, n_trained, learnt, trials, detail)

    found, exact = [], beside.exact
    if exact.predicted is not None:
        same = np.asarray(exact.predicted) == truth
        found.append(rival("exact kernel", "exact", same, exact.n_trained))
    for name, predicted in beside.plain.items():
        same = np.asarray(predicted) == truth
        found.append(rival(name, "plain", same, beside.n_plain, len(beside.plain)))
    return [*found, rival("majority class", "guessing", guess_right, 0)]


def value_rivals(
    truth: FloatArray, value: FloatArray, beside: Beside, training_mean: float, n_train: int
) -> list[Rival]:
    """Return the rivals of a run that predicted ``value``.

    >>> truth, value = np.arange(8.0), np.arange(8.0) + 0.1
    >>> beside = Beside(plain={"ruler": list(truth + 3.0)}, n_plain=20)
    >>> found = value_rivals(truth, value, beside, 4.0, 30)
    >>> [(one.name, round(one.score, 1), one.worse) for one in found]
    [('ruler', 3.0, True), ("the training points' mean", 2.3, True)]
    """

    def rival(name: str, kind: Kind, other: FloatArray, n_trained: int, trials: int = 1) -> Rival:
        more = (other - truth) ** 2 - (value - truth) ** 2
        error = float(np.std(more) / np.sqrt(len(truth)))
        against = PairedErrors(len(truth), float(more.mean()), error)
        scores = ValueScores.of(truth, other, training_mean)
        learnt, ends = scores.gain > 2 * scores.gain_error, scores.rmse_interval
        detail = f"{scores.r2:.3f}"
        return Rival(name, kind, scores.rmse, ends, against, n_trained, learnt, trials, detail)

    n_plain, trials = beside.n_plain, len(beside.plain)
    found = [
        rival(name, "plain", np.array(other), n_plain, trials)
        for name, other in beside.plain.items()
    ]
    mean = np.full(len(truth), training_mean)
    return [*found, rival("the training points' mean", "guessing", mean, n_train)]
