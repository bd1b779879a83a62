"""Models beside a run's own, on the same test points: the exact kernel, plain models, guessing."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import BoolArray, FloatArray
from aqka.backends.feature_maps import DEFAULT_REPS
from aqka.backends.statevector import fidelities
from aqka.core.problem import Problem
from aqka.designs import KernelEstimate
from aqka.errors import InputError
from aqka.insight.baselines import baselines, guessing
from aqka.insight.exact_kernels import MAX_QUBITS, FeatureMap, map_states
from aqka.insight.fold_scores import (
    FoldScores,
    KernelHead,
    difference,
    metric_names,
    repeated_folds,
    score_folds,
    subsample,
)
from aqka.learners import make_learner
from aqka.maths.metrics import Fold, PairedShares, compare_shares, share_interval
from aqka.report.chart import Interval
from aqka.report.words import p_text
from aqka.study.results import ValueScores

MAX_PLAIN = 500  # training points of a plain model: tuning on more takes seconds
MIN_PLAIN = 200  # but so many whatever the number of columns
MAX_CELLS = 16_000  # numbers that a plain model is tuned on
MAX_EXACT = 1000  # training points of the exact kernel: more take seconds
MAX_JUDGED = 200  # of them for the cross-validation, as in a check
MAX_AMPLITUDES = 2**22  # of all states together: 64 MB, two seconds
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


@dataclass(frozen=True, eq=False)
class ExactKernel:
    """What a feature map gives without noise, and how it does among the training points."""

    unknown: str = ""  # why it is not known
    predicted: NDArray[Any] | None = None  # of the test points; None where they are too many
    n_trained: int = 0
    scores: FoldScores | None = None  # by cross-validation; None where a class has too few points
    guessing: FoldScores | None = None
    n_judged: int = 0  # points of the cross-validation
    metric: str = ""  # the score that decides there

    @property
    def learns(self) -> bool | None:
        """Whether it is better than guessing by two standard errors; None: unknown."""
        if self.scores is None or self.guessing is None:
            return None
        return difference(self.scores, self.guessing).clear

    @property
    def words(self) -> str:
        """How it does among the training points, beside guessing."""
        if self.scores is None or self.guessing is None:
            return "a class has too few training points to judge it"
        gap = difference(self.scores, self.guessing)
        return (
            f"{self.metric} {self.scores.means[0]:.2f} ± {self.scores.errors[0]:.2f} by "
            f"cross-validation on {self.n_judged} training points, guessing "
            f"{self.guessing.means[0]:.2f}; {gap}"
        )


def exact_kernel(
    feature_map: FeatureMap,
    train: FloatArray,
    test: FloatArray,
    labels: NDArray[Any],
    *,
    svm: bool,
    C: float,
    repetitions: int = DEFAULT_REPS,
) -> ExactKernel:
    """Simulate a run's kernel and learn from it; where that cannot be done, say why.

    ``svm`` and ``C`` give the head; without an SVM it is a ridge tuned by leave-one-out.
    """
    n_qubits: int = getattr(feature_map, "num_qubits", None) or train.shape[1]
    if n_qubits > MAX_QUBITS:
        return ExactKernel(
            f"{n_qubits} qubits are too many to simulate here; the most is {MAX_QUBITS}"
        )
    room = MAX_AMPLITUDES // 2**n_qubits
    chosen = subsample(labels, min(MAX_EXACT, room), 0)
    try:
        states = map_states(train[chosen], feature_map, repetitions)
        known = fidelities(states)
        head = make_learner("svm" if svm else "ridge-loo").fit(
            KernelEstimate(known), Problem(labels[chosen], C=C)
        )
        predicted = None
        if 0 < len(test) <= room:
            others = map_states(test, feature_map, repetitions)
            predicted = head.predict(fidelities(others, states))
    except (InputError, ImportError) as error:
        return ExactKernel(str(error).rstrip("."))
    return _judged(known, labels[chosen], predicted, svm, C)


def _judged(
    kernel: FloatArray, labels: NDArray[Any], predicted: NDArray[Any] | None, svm: bool, C: float
) -> ExactKernel:
    """Return the exact kernel with its scores by cross-validation, where folds have all classes."""
    judged = subsample(labels, MAX_JUDGED, 0)
    inner, y = kernel[np.ix_(judged, judged)], labels[judged]
    head, scores, guess = KernelHead(y, svm, C), None, None
    try:
        folds = repeated_folds(y)
        scores = score_folds("exact kernel", lambda fold: head.predict(inner, fold), y, folds)
        guess = score_folds(*guessing(y), y, folds)
    except InputError:
        pass  # a class without a point in some fold: there is nothing to cross-validate
    return ExactKernel("", predicted, len(labels), scores, guess, len(judged), metric_names(y)[0])


def plain_predictions(
    train: FloatArray, test: FloatArray, labels: NDArray[Any]
) -> tuple[dict[str, NDArray[Any]], int]:
    """Return what plain models predict for test points, by name, and how many points taught them.

    They are those of :mod:`aqka.insight.baselines`, tuned inside the training points.
    """
    affordable = max(MIN_PLAIN, min(MAX_PLAIN, MAX_CELLS // train.shape[1]))
    chosen = subsample(labels, affordable, 0)
    X = np.concatenate([train[chosen], test])
    # Labels of test points are not looked at, but a model wants one for every row.
    y = np.concatenate([labels[chosen], np.resize(labels[chosen], len(test))])
    fold = Fold(np.arange(len(chosen)), np.arange(len(chosen), len(X)))
    return {name: predict(fold) for name, predict in baselines(X, y).items()}, len(chosen)


def class_rivals(
    right: BoolArray,
    guess_right: BoolArray,
    truth: NDArray[Any],
    exact: ExactKernel,
    plain: dict[str, NDArray[Any]],
    n_plain: int,
) -> list[Rival]:
    """Return all rivals of a run that was ``right`` on some of its test points."""

    def rival(name: str, kind: Kind, other: BoolArray, n_trained: int, trials: int = 1) -> Rival:
        over_guessing, against = compare_shares(other, guess_right), compare_shares(right, other)
        learnt = over_guessing.difference > 0 and over_guessing.p_value < LEVEL
        score, ends = float(other.mean()), share_interval(int(other.sum()), other.size)
        detail = f"{against.only_second} : {against.only_first}"
        return Rival(name, kind, score, ends, against, n_trained, learnt, trials, detail)

    found = []
    if exact.predicted is not None:
        found.append(rival("exact kernel", "exact", exact.predicted == truth, exact.n_trained))
    for name, predicted in plain.items():
        found.append(rival(name, "plain", predicted == truth, n_plain, len(plain)))
    return [*found, rival("majority class", "guessing", guess_right, 0)]


def value_rivals(
    truth: FloatArray,
    value: FloatArray,
    plain: dict[str, NDArray[Any]],
    n_plain: int,
    training_mean: float,
    n_train: int,
) -> list[Rival]:
    """Return the rivals of a run that predicted ``value``; ``plain`` are others' predictions.

    Examples
    --------
    >>> truth, value = np.arange(8.0), np.arange(8.0) + 0.1
    >>> found = value_rivals(truth, value, {"ruler": truth + 3.0}, 20, 4.0, 30)
    >>> [(one.name, round(one.score, 1), one.worse) for one in found]
    [('ruler', 3.0, True), ("the training points' mean", 2.3, True)]
    """

    def rival(name: str, kind: Kind, other: FloatArray, n_trained: int, trials: int = 1) -> Rival:
        more = (other - truth) ** 2 - (value - truth) ** 2
        error = float(np.std(more) / np.sqrt(len(truth)))
        against = PairedErrors(len(truth), float(more.mean()), error)
        scores = ValueScores.of(truth, other, training_mean)
        learnt, ends = scores.gain > 2 * scores.gain_error, rmse_interval(scores)
        detail = f"{scores.r2:.3f}"
        return Rival(name, kind, scores.rmse, ends, against, n_trained, learnt, trials, detail)

    found = [rival(name, "plain", other, n_plain, len(plain)) for name, other in plain.items()]
    mean = np.full(len(truth), training_mean)
    return [*found, rival("the training points' mean", "guessing", mean, n_train)]


def rmse_interval(scores: ValueScores) -> Interval:
    """Return the 95 % interval of a root mean square error."""
    reach = 1.96 * scores.rmse_error
    return max(0.0, scores.rmse - reach), scores.rmse + reach
