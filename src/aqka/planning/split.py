"""How one budget is split between training and predictions."""

import math
from dataclasses import dataclass
from typing import Literal

from aqka._util.arrays import as_count, as_fraction
from aqka.errors import InputError

Design = Literal["pairs", "points"]

# Squared error of f that a shot on every training pair leaves, in units of that of a shot on every
# pair of a new and a training point. To first order it is |(K + λI)⁻¹ k|² for a new row k, the
# share of directions that the ridge lets through. docs/explanation/prediction.md measures it.
TRAINING_WEIGHT = 1 / 8


@dataclass(frozen=True)
class Split:
    """A number of shots in two parts.

    Attributes
    ----------
    train, predict
        Shots of the training kernel, and at most of the predictions.
    reason
        Why so, in words.
    """

    train: int
    predict: int
    reason: str


def split_budget(budget: int, n_train: int, n_new: int, design: str = "pairs") -> Split:
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
    >>> split.train, split.predict
    (19866, 80134)
    >>> print(split.reason)
    20 % for training: 60 new points have 3,600 pairs with the 60 training points, which have ...
    >>> split_budget(100_000, 60, 60, design="points").train
    50000
    """
    budget = as_count(budget, "budget", minimum=2)
    n_train, n_new = as_count(n_train, "n_train", minimum=2), as_count(n_new, "n_new")
    if design not in ("pairs", "points"):
        raise InputError(f"design must be 'pairs' or 'points', got {design!r}.")
    share, reason = (_of_pairs if design == "pairs" else _of_points)(n_train, n_new)
    return _by_share(budget, share, f"{share:.0%} for training: {reason}".replace("%", " %", 1))


def split_shots(
    shots: int,
    n_points: int,
    new_points: int,
    *,
    design: str = "pairs",
    train_share: float | None = None,
    test_shots: int | None = None,
) -> Split:
    """Split shots as a user wants them split, and else as :func:`split_budget` does.

    Parameters
    ----------
    shots
        Of both together.
    n_points, new_points
        Training points, and points to predict.
    design
        What a shot is spent on, pairs or points.
    train_share
        The training's share, as its user wants it.
    test_shots
        Shots of each pair of a new and a training point, or of each new point where points are
        measured; training gets the rest.

    Examples
    --------
    >>> split_shots(100_000, 100, 50).train
    26024
    >>> split_shots(100_000, 100, 50, test_shots=10).train
    50000
    """
    as_count(shots, "shots")
    if new_points == 0:
        return Split(shots, 0, "No points to predict: all shots are for training.")
    if test_shots is not None:
        unit, units = ("pair", n_points) if design == "pairs" else ("point", 1)
        wanted = new_points * units * as_count(test_shots, "test_shots", minimum=0)
        return Split(shots - wanted, wanted, f"Predictions get {test_shots} shots a {unit}.")
    if train_share is not None:
        share = as_fraction(train_share, "train_share")
        if not 0 < share < 1:
            raise InputError(
                f"train_share must lie between 0 and 1, got {train_share!r}; for training alone "
                "predict no points."
            )
        return _by_share(shots, share, f"Training gets the share of {share:g} asked.")
    return split_budget(max(shots, 2), n_points, new_points, design)


def _by_share(shots: int, share: float, reason: str) -> Split:
    train = min(max(round(share * shots), 1), shots - 1)
    return Split(train, shots - train, reason)


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
