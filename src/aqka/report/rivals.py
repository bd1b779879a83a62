"""A run against the models beside it, point by point: the exact kernel, plain models, guessing."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import BoolArray, FloatArray
from aqka.maths.metrics import PairedShares, compare_shares, share_interval
from aqka.report.chart import Interval
from aqka.report.words import p_text
from aqka.study.results import ValueScores
from aqka.study.rivals import Beside

LEVEL = 0.05  # p-values below are believed

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
