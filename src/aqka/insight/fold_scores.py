"""Scores on repeated folds, their standard errors, and paired differences between models."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray
from aqka.core.problem import DEFAULT_C, Problem
from aqka.designs import KernelEstimate
from aqka.errors import InputError
from aqka.learners import labels_of, make_learner
from aqka.learners.ridge import best_loo_ridge
from aqka.maths.metrics import FOLDS, Fold, balanced_accuracy
from aqka.maths.spectrum import Spectrum, left_out

REPEATS = 2  # the error of more hardly shrinks, see standard_error

Predict = Callable[[Fold], NDArray[Any]]


def has_classes(y: NDArray[Any]) -> bool:
    """Return whether targets are classes; floats of more than two values are real targets."""
    return y.dtype.kind != "f" or np.unique(y).size <= 2


def subsample(y: NDArray[Any], size: int, seed: int = 0) -> IntArray:
    """Return at most ``size`` points, in rising order; classes keep their shares."""
    if len(y) <= size:
        return np.arange(len(y))
    from sklearn.model_selection import train_test_split

    fewest = min(size, len(y) - size)  # either part needs a point of every class
    stratify = y if has_classes(y) and 2 <= np.unique(y).size <= fewest else None
    how = {"train_size": size, "random_state": seed, "stratify": stratify}
    return np.sort(train_test_split(np.arange(len(y)), **how)[0])


def repeated_folds(
    y: NDArray[Any], n_train: int | None = None, repeats: int = REPEATS, seed: int = 0
) -> list[Fold]:
    """Return folds that hold every point out once a repetition; classes keep their shares.

    The training points of a fold are drawn down to ``n_train``, if given, so that models learn from
    as many as they will have.
    """
    from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

    if has_classes(y):
        classes, counts = np.unique(y, return_counts=True)
        if len(classes) < 2 or counts.min() < 2:
            raise InputError(
                f"y must have two classes or more with at least two points each, got "
                f"{len(classes)} with {int(counts.min())} points in the smallest."
            )
        kind, n_folds = RepeatedStratifiedKFold, int(min(FOLDS, counts.min()))
    else:
        kind, n_folds = RepeatedKFold, min(FOLDS, len(y) // 2)
    splitter = kind(n_splits=n_folds, n_repeats=repeats, random_state=seed)
    folds = []
    for number, (kept, held) in enumerate(splitter.split(np.zeros(len(y)), y)):
        if n_train is not None and n_train < len(kept):
            kept = kept[subsample(y[kept], n_train, seed + number)]
        folds.append(Fold(np.asarray(kept), np.asarray(held)))
    return folds


@dataclass(frozen=True, eq=False)
class FoldScores:
    """How a model scored on every fold; all models of a check share their folds."""

    name: str
    values: FloatArray  # one row per fold, one column per metric; the first one decides
    n_folds: int  # of a repetition

    @property
    def means(self) -> FloatArray:
        """The mean of each metric."""
        return np.asarray(self.values.mean(axis=0))

    @property
    def errors(self) -> FloatArray:
        """The standard error of each mean; see :func:`standard_error`."""
        return standard_error(self.values, self.n_folds)

    def __str__(self) -> str:
        return f"{self.means[0]:.2f} ± {self.errors[0]:.2f}"


@dataclass(frozen=True)
class Difference:
    """A paired difference of two models in the first metric, and its standard error."""

    mean: float
    error: float

    @property
    def clear(self) -> bool:
        """Whether the first model is better by more than two standard errors."""
        return self.mean > max(2 * self.error, 1e-9)

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ± {self.error:.3f}"


def difference(first: FoldScores, second: FoldScores) -> Difference:
    """Return by how much the first model scores better, on the folds that both were scored on."""
    n_rows = min(len(first.values), len(second.values))
    gaps = first.values[:n_rows, :1] - second.values[:n_rows, :1]
    return Difference(float(gaps.mean()), float(standard_error(gaps, first.n_folds)[0]))


def standard_error(values: FloatArray, n_folds: int) -> FloatArray:
    """Return the standard error of means over J repeated folds: s sqrt(1/J + 1/(k - 1)).

    Training sets overlap, so folds are no independent trials; the second term is the correction of
    Nadeau and Bengio (Machine Learning 52, 2003).
    """
    spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.full(values.shape[1], math.nan)
    return np.asarray(spread * math.sqrt(1 / len(values) + 1 / max(n_folds - 1, 1)))


def metric_names(y: NDArray[Any]) -> tuple[str, ...]:
    """Return which scores are taken, the deciding one first."""
    return ("balanced accuracy", "accuracy") if has_classes(y) else ("R²",)


def score(truth: NDArray[Any], predicted: NDArray[Any], classes: bool) -> list[float]:
    """Return the scores of predictions, in the order of :func:`metric_names`."""
    if classes:
        return [balanced_accuracy(truth, predicted), float(np.mean(truth == predicted))]
    spread = float(np.sum((truth - truth.mean()) ** 2))
    return [1.0 - float(np.sum((truth - predicted) ** 2)) / spread if spread > 0 else 0.0]


def score_folds(name: str, predict: Predict, y: NDArray[Any], folds: list[Fold]) -> FoldScores:
    """Score a model on every fold by what it predicts for the held-out points."""
    rows = [score(y[fold.held], predict(fold), has_classes(y)) for fold in folds]
    return FoldScores(name, np.array(rows), folds_a_repetition(folds, len(y)))


def folds_a_repetition(folds: list[Fold], n_points: int) -> int:
    """Return how many folds hold every point out once."""
    held = np.cumsum([len(fold.held) for fold in folds])
    return int(np.searchsorted(held, n_points)) + 1


@dataclass(frozen=True, eq=False)
class KernelHead:
    """Predicts from kernels: ridge regression tuned by leave-one-out, or an SVM with C."""

    y: NDArray[Any]
    svm: bool = False
    C: float = DEFAULT_C
    _problems: dict[bytes, tuple[Problem, float]] = field(default_factory=dict, init=False)

    def predict(
        self, kernel: FloatArray, fold: Fold, rows: FloatArray | None = None
    ) -> NDArray[Any]:
        """Return predictions for the held-out points; ``rows`` are theirs if not the kernel's."""
        train, centre = self._problem(fold.kept)
        inner = kernel[np.ix_(fold.kept, fold.kept)]
        block = (kernel if rows is None else rows)[np.ix_(fold.held, fold.kept)]
        fitted = make_learner("svm" if self.svm else "ridge-loo").fit(KernelEstimate(inner), train)
        return self._answers(fitted.decision_function(block), train, centre)

    def judge(self, kernel: FloatArray, points: IntArray) -> float:
        """Return the score of the ridge head by leave-one-out among some points.

        It has not seen any other, so that it may choose between kernels for them.
        """
        problem, centre = self._problem(points)
        spectrum = Spectrum.of(kernel[np.ix_(points, points)])
        values = left_out(spectrum, problem.outputs, best_loo_ridge(spectrum, problem.outputs))
        answers = self._answers(values.reshape(problem.y.shape), problem, centre)
        return score(self.y[points], answers, has_classes(self.y))[0]

    def choose(self, kernels: list[FloatArray], fold: Fold) -> NDArray[Any]:
        """Return predictions by the kernel that is best among the training points."""
        best = max(kernels, key=lambda kernel: self.judge(kernel, fold.kept))
        return self.predict(best, fold)

    def _problem(self, points: IntArray) -> tuple[Problem, float]:
        """Return what is learnt from some points; a scan asks for the same few again and again."""
        key = points.tobytes()
        if key not in self._problems:
            targets, centre = self.y[points], 0.0
            if not has_classes(self.y):  # a ridge head has no intercept
                centre = float(targets.mean())
                targets = targets - centre
            self._problems[key] = Problem(targets, C=self.C), centre
        return self._problems[key]

    def _answers(self, values: FloatArray, problem: Problem, centre: float) -> NDArray[Any]:
        return labels_of(values, problem.classes) if has_classes(self.y) else values + centre
