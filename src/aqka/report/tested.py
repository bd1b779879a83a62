"""The test points of a run: what was predicted, how sure, how good, and against other models."""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import BoolArray, FloatArray, IntArray
from aqka._util.text import figure_text
from aqka.maths.metrics import PairedShares, compare_shares, share_interval
from aqka.report.chart import Interval
from aqka.report.words import capital, p_text, range_text
from aqka.study.results import Beside, ValueScores

LEVEL = 0.05  # p-values below are believed
MOST_WIDER = 2.0  # times the narrow intervals' reach, that a drawing makes room for


Kind = Literal["exact", "plain", "guessing"]


@dataclass(frozen=True)
class PairedErrors:
    """The squared errors of two models on the same points."""

    difference: float  # by how much those of the first are smaller
    p_value: float  # of no difference, by Student's paired test

    @classmethod
    def of(cls, more: FloatArray) -> "PairedErrors":
        """Compare two models by how much larger the second one's are, point by point."""
        from scipy.special import stdtr

        mean, deviation, free = float(more.mean()), float(np.std(more)), len(more) - 1
        if not free or not mean:
            return cls(mean, 1.0)
        if not deviation:  # every point says the same
            return cls(mean, 0.0)
        return cls(mean, float(2 * stdtr(free, -abs(mean) / deviation * np.sqrt(free))))


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
    narrow: FloatArray  # low and high of the values' 90 % intervals from the test shots alone
    wide: FloatArray | None  # the same with the training shots; None where it is not known
    no_wide: str  # why it is not known
    shots: IntArray


@dataclass(frozen=True, eq=False)
class ClassResults(PointResults):
    """Test points of a classifier; classes are texts."""

    truth: list[str]
    predicted: list[str]
    classes: list[str]
    right: BoolArray
    settled: BoolArray  # where more test shots could hardly change the class
    could_flip: BoolArray | None  # where the same fit on the exact kernel could give another class
    balanced_accuracy: float
    on_prior: str = ""  # what cost no shot, and how its audit went

    metric: ClassVar = "accuracy"
    guess: ClassVar = "majority class"
    detail: ClassVar = "–"
    detail_heading: ClassVar = "only this one right : only the run right"
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
    def reach(self) -> float:
        """How far from the border a drawing goes: wide intervals may leave it."""
        narrow = float(np.max(np.abs(self.narrow), initial=0.0))
        if self.wide is None:
            return narrow or 1.0
        return min(float(np.max(np.abs(self.wide), initial=0.0)), MOST_WIDER * narrow) or 1.0

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

    def accuracy_words(self, guess: Rival) -> list[str]:
        """Return the accuracy against that of the majority class, in sentences."""
        against, how = guess.against, "not shown to be better than"
        assert isinstance(against, PairedShares)
        if guess.worse or guess.better:
            how = "better than" if guess.worse else "worse than"
        return [
            f"{self.score_words} (95 % interval {range_text(*self.interval)}).",
            f"This is {how} always answering the majority class, which scores {guess.score:.3f} "
            f"(difference {against.difference:+.3f}; only the run is right on "
            f"{against.only_first}, only the majority class on {against.only_second}; "
            f"{p_text(guess.p_value)}).",
        ]

    def compare(self, predicted: Any, truth: NDArray[Any], guess: Any) -> dict[str, Any]:
        """Return how other predictions do, against the run and a constant guess."""
        same = np.asarray(predicted) == truth
        over_guessing = compare_shares(same, guess == truth)
        against = compare_shares(self.right, same)
        return {
            "score": float(same.mean()),
            "interval": share_interval(int(same.sum()), same.size),
            "against": against,
            "learnt": over_guessing.difference > 0 and over_guessing.p_value < LEVEL,
            "detail": f"{against.only_second} : {against.only_first}",
        }

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

    def tiles(self, guess: Rival) -> list[tuple[str, str]]:
        """Return the large figures of the page, each with what it is."""
        return [
            (f"{self.score:.3f}", f"test accuracy, 95\u00a0%: {range_text(*self.interval)}"),
            (f"{guess.score:.3f}", "majority class"),
            (f"{self.balanced_accuracy:.3f}", "balanced accuracy"),
            (self.settled_words, "test points settled"),
        ]

    def facts(self, guess: Rival) -> dict[str, Any]:
        """Return the figures for a program."""
        found = {
            "accuracy": self.score,
            "standard_error": float(np.sqrt(self.score * (1 - self.score) / self.right.size)),
            "interval": list(self.interval),
            "balanced_accuracy": self.balanced_accuracy,
            "majority_accuracy": guess.score,
            "gain": guess.against.difference,
            "gain_p_value": guess.against.p_value,
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

    def accuracy_words(self, guess: Rival) -> list[str]:
        """Return the error against that of the training points' mean, in sentences."""
        median = float(np.median(np.abs(self.value - self.truth)))
        return [
            f"{capital(self.score_words)}.",
            "Always answering the training points' mean gives "
            f"{figure_text(guess.score)} ({guess.compared}).",
            f"Half of the errors are below {figure_text(median)}.",
        ]

    def compare(self, predicted: Any, truth: FloatArray, guess: float) -> dict[str, Any]:
        """Return how other values do, against the run and a constant guess."""
        other = np.broadcast_to(predicted, truth.shape)
        more = (other - truth) ** 2 - (self.value - truth) ** 2
        scores = ValueScores.of(truth, other, guess)
        return {
            "score": scores.rmse,
            "interval": scores.rmse_interval,
            "against": PairedErrors.of(more),
            "learnt": scores.gain > 2 * scores.gain_error,
            "detail": f"{scores.r2:.3f}",
        }

    def certainty_words(self) -> str:
        """Return what the intervals are for, and how many of the targets are inside."""

        def inside(low: FloatArray, high: FloatArray) -> str:
            return f"{100 * float(np.mean((low <= self.truth) & (self.truth <= high))):.0f} %"

        words = (
            "The intervals of the shot noise say where unlimited test shots would put the "
            f"prediction, not where the target lies ({inside(*self.narrow)} of the targets "
            "are inside)."
        )
        if self.target is None:
            return words
        return (
            f"{words} Those of the target, by a Gaussian process with the measured kernel, should "
            f"hold 90 % of the targets and hold {inside(*self.target)}."
        )

    def tiles(self, guess: Rival) -> list[tuple[str, str]]:
        """Return the large figures of the page, each with what it is."""
        return [
            (
                figure_text(self.score),
                f"root mean square error, ± {figure_text(self.scores.rmse_error, 2)}",
            ),
            (figure_text(guess.score), "error of the training points' mean"),
            (self.detail, "R²"),
        ]

    def facts(self, guess: Rival) -> dict[str, Any]:
        """Return the figures for a program."""
        return {"test_points": None, "test_values": asdict(self.scores)}


Tested = ClassResults | ValueResults


def rivals_beside(
    tested: Tested, truth: NDArray[Any], train_labels: NDArray[Any], beside: Beside
) -> list[Rival]:
    """Return other models on the test points, against the run; the last one guesses."""
    others: list[tuple[str, Kind, Any, int, int]] = [
        (name, "plain", predicted, beside.n_plain, len(beside.plain))
        for name, predicted in beside.plain.items()
    ]
    exact = beside.exact
    if isinstance(tested, ValueResults):
        guess = float(train_labels.mean())
        others.append(("the training points' mean", "guessing", guess, len(train_labels), 1))
    else:
        classes, counts = np.unique(train_labels, return_counts=True)
        guess = classes[np.argmax(counts)]
        others.append(("majority class", "guessing", guess, 0, 1))
        if exact.predicted is not None:
            others.insert(0, ("exact kernel", "exact", exact.predicted, exact.n_trained, 1))
    return [
        Rival(name, kind, n_trained=n_trained, trials=trials, **tested.compare(other, truth, guess))
        for name, kind, other, n_trained, trials in others
    ]
