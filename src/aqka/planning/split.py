"""How to split one budget between training and prediction."""

import math
from dataclasses import dataclass
from typing import Literal

from aqka._util.arrays import as_count
from aqka.errors import InputError

Design = Literal["pairs", "points"]

# Squared error of f that a shot on every training pair leaves, in units of that of a shot on every
# pair of a new and a training point. To first order it is |(K + λI)⁻¹ k|² for a new row k, the
# share of directions that the ridge lets through. docs/explanation/prediction.md measures it.
TRAINING_WEIGHT = 1 / 8


@dataclass(frozen=True)
class BudgetSplit:
    """A budget in two parts.

    Attributes
    ----------
    training, prediction
        Shots for the training kernel, and for the new points.
    reason
        Why, in words.
    """

    training: int
    prediction: int
    reason: str


def split_budget(budget: int, n_train: int, n_new: int, design: Design = "pairs") -> BudgetSplit:
    """Return how many of all shots to train with, and how many to keep for new points.

    Parameters
    ----------
    budget
        Shots in all.
    n_train, n_new
        Numbers of training points N and of new points n.
    design
        What a shot is spent on. ``"pairs"``: new points need N entries each, and errors of
        f are least, w/s + 1/t at s shots a training pair and t a new one, where the parts are
        as √(w N(N-1)/2) to √(N n), w being 1/8. ``"points"``: a new point costs what a training
        point does, so every point gets the same.

    Examples
    --------
    >>> split = split_budget(100_000, n_train=60, n_new=60)
    >>> split.training, split.prediction
    (19866, 80134)
    >>> split.reason[:60]
    '20% for training: 60 new points have 3,600 pairs with the 60'
    >>> split_budget(100_000, 60, 60, design="points").training
    50000
    """
    budget = as_count(budget, "budget", minimum=2)
    n_train, n_new = as_count(n_train, "n_train", minimum=2), as_count(n_new, "n_new")
    if design not in ("pairs", "points"):
        raise InputError(f"design must be 'pairs' or 'points', got {design!r}.")
    share, reason = (_of_pairs if design == "pairs" else _of_points)(n_train, n_new)
    training = min(max(round(share * budget), 1), budget - 1)
    return BudgetSplit(training, budget - training, f"{share:.0%} for training: {reason}")


def _of_pairs(n_train: int, n_new: int) -> tuple[float, str]:
    pairs, new_pairs = n_train * (n_train - 1) // 2, n_train * n_new
    training, prediction = math.sqrt(TRAINING_WEIGHT * pairs), math.sqrt(new_pairs)
    reason = (
        f"{n_new:,} new points have {new_pairs:,} pairs with the {n_train:,} training points, "
        f"which have {pairs:,} among themselves, and the noise of a training pair reaches a "
        "prediction only through what the ridge lets through."
    )
    return training / (training + prediction), reason


def _of_points(n_train: int, n_new: int) -> tuple[float, str]:
    reason = (
        f"a new point costs what a training point does, so {n_train:,} training and {n_new:,} new "
        "points get the same shots each."
    )
    return n_train / (n_train + n_new), reason
