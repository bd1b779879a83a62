"""Models beside a regression, on the same test points: plain ones, and the training mean."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import t as student

from aqka._util.arrays import FloatArray
from aqka.report.number_text import p_text
from aqka.report.rivals import LEVEL
from aqka.study.results import ValueScores

HEADER = (
    "model",
    "root mean square error",
    "±",
    "R²",
    "against this run",
    "training points",
)


@dataclass(frozen=True)
class ValueRival:
    """How another model did on a regression's test points.

    Attributes
    ----------
    name, kind
        What it is.
    scores
        How good its values are.
    gain, gain_error
        By how much the run's squared errors are smaller, point by point, and the standard error.
    n_points
        Test points.
    n_trained
        Training points it learnt from.
    trials
        Rivals of its kind: the best of several by luck must not count as better.
    """

    name: str
    kind: Literal["plain", "guessing"]
    scores: ValueScores
    gain: float
    gain_error: float
    n_points: int
    n_trained: int
    trials: int

    @property
    def p_value(self) -> float:
        """Of no difference to the run, by Student's paired test times the trials (Bonferroni)."""
        if self.n_points < 2 or not self.gain:
            return 1.0
        if not self.gain_error:
            return 0.0  # every point says the same
        # The standard error has the variance of n points; the test wants that of n - 1.
        statistic = abs(self.gain / self.gain_error) * np.sqrt(1 - 1 / self.n_points)
        return min(1.0, float(2 * student.sf(statistic, self.n_points - 1)) * self.trials)

    @property
    def better(self) -> bool:
        """Whether it is clearly better than the run."""
        return self.gain < 0 and self.p_value < LEVEL

    @property
    def worse(self) -> bool:
        """Whether it is clearly worse than the run."""
        return self.gain > 0 and self.p_value < LEVEL

    @property
    def compared(self) -> str:
        """How it compares with the run, in words."""
        how = "better" if self.better else "worse" if self.worse else "not shown to differ"
        return f"{how}, {p_text(self.p_value)}"


def value_rivals(
    truth: FloatArray,
    value: FloatArray,
    plain: dict[str, FloatArray],
    n_plain: int,
    training_mean: float,
    n_train: int,
) -> list[ValueRival]:
    """Return the rivals of a run that predicted ``value``; ``plain`` are others' predictions.

    Examples
    --------
    >>> truth, value = np.arange(8.0), np.arange(8.0) + 0.1
    >>> found = value_rivals(truth, value, {"ruler": truth + 3.0}, 20, 4.0, 30)
    >>> [(one.name, round(one.scores.rmse, 1), one.worse) for one in found]
    [('ruler', 3.0, True), ("the training points' mean", 2.3, True)]
    """

    def rival(
        name: str,
        kind: Literal["plain", "guessing"],
        other: FloatArray,
        n_trained: int,
        trials: int = 1,
    ) -> ValueRival:
        more = (other - truth) ** 2 - (value - truth) ** 2
        error = float(np.std(more) / np.sqrt(len(truth)))
        scores = ValueScores.of(truth, other, training_mean)
        gain = float(more.mean())
        return ValueRival(name, kind, scores, gain, error, len(truth), n_trained, trials)

    found = [
        rival(name, "plain", predicted, n_plain, len(plain)) for name, predicted in plain.items()
    ]
    mean = np.full(len(truth), training_mean)
    return [*found, rival("the training points' mean", "guessing", mean, n_train)]


def rival_words(found: list[ValueRival]) -> str:
    """Return the best plain model in a sentence; nothing where there is none."""
    plain = [one for one in found if one.kind == "plain"]
    if not plain:
        return ""
    best = min(plain, key=lambda one: one.scores.rmse)
    return f" {best.name} has {best.scores.rmse:.4g} without a shot ({best.compared})."


def rival_rows(own: ValueScores, n_train: int, found: list[ValueRival]) -> list[tuple[str, ...]]:
    """Return a row per model, the run's own first."""
    rows = [_row("this run", own, "–", n_train)]
    return rows + [_row(one.name, one.scores, one.compared, one.n_trained) for one in found]


def _row(name: str, scores: ValueScores, compared: str, n_trained: int) -> tuple[str, ...]:
    figures = f"{scores.rmse:.4g}", f"{scores.rmse_error:.2g}", f"{scores.r2:.3f}"
    return (name, *figures, compared, f"{n_trained:,}")
