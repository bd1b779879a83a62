"""Models beside a run's own, on the same test points: the exact kernel, plain models, guessing."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import BoolArray, FloatArray
from aqka.insight.baselines import baselines
from aqka.insight.fold_scores import subsample
from aqka.maths.metrics import Fold, PairedShares, compare_shares, share_interval
from aqka.report.exact_kernel import ExactKernel

MAX_TRAINED = 500  # training points of a plain model: tuning on more takes seconds
MIN_TRAINED = 200  # but so many whatever the number of columns
MAX_CELLS = 16_000  # numbers that a plain model is tuned on
LEVEL = 0.05  # p-values below are believed

Kind = Literal["exact", "plain", "guessing"]


@dataclass(frozen=True)
class Rival:
    """How another model did on a run's test points.

    Attributes
    ----------
    name, kind
        What it is; ``exact`` is the run's own kernel without noise.
    score
        Its accuracy, from 0 to 1.
    interval
        95 % interval of the score.
    against
        The run against it, point by point.
    n_trained
        Training points it learnt from; 0 of what needs none.
    learnt
        Whether it is clearly better than guessing itself.
    trials
        Rivals of its kind: the best of several by luck must not count as better.
    """

    name: str
    kind: Kind
    score: float
    interval: tuple[float, float]
    against: PairedShares
    n_trained: int
    learnt: bool
    trials: int = 1

    @property
    def p_value(self) -> float:
        """Of no difference to the run, by the exact McNemar test times the trials (Bonferroni)."""
        return min(1.0, self.against.p_value * self.trials)

    @property
    def better(self) -> bool:
        """Whether it is clearly better than the run."""
        return self.against.difference < 0 and self.p_value < LEVEL

    @property
    def worse(self) -> bool:
        """Whether it is clearly worse than the run."""
        return self.against.difference > 0 and self.p_value < LEVEL


def plain_predictions(
    train: FloatArray, test: FloatArray, labels: NDArray[Any]
) -> tuple[dict[str, NDArray[Any]], int]:
    """Return what plain models predict for test points, by name, and how many points taught them.

    They are those of :mod:`aqka.insight.baselines`, tuned inside the training points.
    """
    affordable = max(MIN_TRAINED, min(MAX_TRAINED, MAX_CELLS // train.shape[1]))
    chosen = subsample(labels, affordable, 0)
    X = np.concatenate([train[chosen], test])
    # Labels of test points are not looked at, but a model wants one for every row.
    y = np.concatenate([labels[chosen], np.resize(labels[chosen], len(test))])
    fold = Fold(np.arange(len(chosen)), np.arange(len(chosen), len(X)))
    return {name: predict(fold) for name, predict in baselines(X, y).items()}, len(chosen)


def rivals(
    right: BoolArray,
    guess_right: BoolArray,
    truth: NDArray[Any],
    exact: ExactKernel | str | None,
    plain: dict[str, NDArray[Any]],
    n_plain: int,
) -> list[Rival]:
    """Return all rivals of a run that was ``right`` on some of its test points."""

    def rival(
        name: str, kind: Kind, other: BoolArray, n_trained: int = 0, trials: int = 1
    ) -> Rival:
        over_guessing = compare_shares(other, guess_right)
        return Rival(
            name,
            kind,
            score=float(other.mean()),
            interval=share_interval(int(other.sum()), other.size),
            against=compare_shares(right, other),
            n_trained=n_trained,
            learnt=over_guessing.difference > 0 and over_guessing.p_value < LEVEL,
            trials=trials,
        )

    found = []
    if isinstance(exact, ExactKernel) and exact.predicted is not None:
        found.append(rival("exact kernel", "exact", exact.predicted == truth, exact.n_trained))
    for name, predicted in plain.items():
        found.append(rival(name, "plain", predicted == truth, n_plain, len(plain)))
    return [*found, rival("majority class", "guessing", guess_right)]
