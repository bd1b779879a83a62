"""What a budget would make of a kernel: the study's own method on simulated shots."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.allocators import Allocator
from aqka.allocators.schedule import Schedule
from aqka.backends.simulated import MatrixBackend
from aqka.core.defaults import DEFAULT_ALLOCATOR, DEFAULT_C, DEFAULT_READOUT
from aqka.core.target_scale import TargetScale
from aqka.insight.fold_scores import FoldScores, has_classes, score_folds
from aqka.maths.metrics import Fold
from aqka.sessions import acquire, predict, predict_values

SMALLEST_BUDGET = 2


@dataclass(frozen=True)
class Spending:
    """How shots would be spent and read.

    Attributes
    ----------
    budget
        Shots for the training kernel of ``n_train`` points.
    n_train
        Training points that the budget is for.
    test_shots
        At most so many, on average, for each pair of a held-out and a training point.
    allocator, schedule, readout, ridge, C
        As :func:`~aqka.acquire` and the readouts take them.
    """

    budget: int
    n_train: int
    test_shots: int = 100
    allocator: str | Allocator = DEFAULT_ALLOCATOR
    schedule: Schedule | None = None
    readout: str = DEFAULT_READOUT
    ridge: float = 0.01
    C: float = DEFAULT_C

    @property
    def shots_per_pair(self) -> float:
        """Shots for each pair of training points if all get the same."""
        return 2 * self.budget / (self.n_train * (self.n_train - 1))

    def budget_of(self, n_points: int) -> int:
        """Return the shots for another number of points, as many for each pair."""
        if n_points == self.n_train:
            return self.budget
        shots = self.shots_per_pair * n_points * (n_points - 1) / 2
        return max(SMALLEST_BUDGET, round(shots))


def forecast(
    name: str,
    kernel: FloatArray,
    y: NDArray[Any],
    folds: list[Fold],
    spending: Spending,
    on_fold: Callable[[], None] | None = None,
) -> FoldScores:
    """Score heads that are bought with simulated shots, each fold with a seed of its own."""
    seeds = {id(fold): seed for seed, fold in enumerate(folds)}

    def predict_bought(fold: Fold) -> NDArray[Any]:
        answers = _buy_and_predict(kernel, y, fold, spending, seeds[id(fold)])
        if on_fold is not None:
            on_fold()
        return answers

    return score_folds(name, predict_bought, y, folds)


def _buy_and_predict(
    kernel: FloatArray, y: NDArray[Any], fold: Fold, spending: Spending, seed: int
) -> NDArray[Any]:
    classes, targets = has_classes(y), y[fold.kept]
    scale = None if classes else TargetScale.of(targets)
    session = acquire(
        MatrixBackend(kernel[np.ix_(fold.kept, fold.kept)], seed=seed),
        targets if scale is None else scale.scaled(targets),
        spending.budget_of(len(fold.kept)),
        spending.allocator,
        schedule=spending.schedule,
        ridge=spending.ridge,
        C=spending.C,
        seed=seed,
    )
    head = session.fit(spending.readout)
    block = kernel[np.ix_(fold.held, fold.kept)]
    backend = MatrixBackend(block, rectangular=True, seed=seed)
    budget = block.size * spending.test_shots
    if scale is None:
        return predict(head, backend, budget).labels
    return predict_values(head, backend, budget).in_units(scale.spread, scale.centre).f


def measure_evenly(
    kernel: FloatArray, spending: Spending, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return a kernel as the same shots on every pair show it: among training points, and rows.

    Rows are those of held-out points, which have shots of their own. Where there is less than a
    shot a pair, pairs without one read the mean of the others.
    """
    upper = np.triu_indices(len(kernel), 1)
    chances = np.clip(kernel[upper], 0.0, 1.0)
    measured = []
    for per_pair in (spending.shots_per_pair, float(spending.test_shots)):
        shots = np.floor(per_pair + rng.random(len(chances))).astype(np.int64)
        hits = rng.binomial(shots, chances)
        mean = hits.sum() / max(int(shots.sum()), 1)
        seen = np.eye(len(kernel))
        seen[upper] = np.where(shots > 0, hits / np.maximum(shots, 1), mean)
        measured.append(np.maximum(seen, seen.T))
    return measured[0], measured[1]
