"""How one budget is split between the training kernel and predictions."""

from dataclasses import dataclass

from aqka._util.arrays import as_count, as_fraction
from aqka.errors import InputError

LEAST_SHARE = 0.2  # of either side: below it the other side's errors no longer matter


@dataclass(frozen=True)
class Split:
    """A number of shots in two parts.

    Attributes
    ----------
    train, predict
        Shots of the training kernel, and at most of the predictions.
    reason
        Why so, in a sentence.
    """

    train: int
    predict: int
    reason: str


def split_shots(
    shots: int,
    n_points: int,
    new_points: int,
    *,
    train_share: float | None = None,
    test_shots: int | None = None,
) -> Split:
    """Split shots between training pairs and pairs of a new and a training point.

    Parameters
    ----------
    shots
        Of both together.
    n_points, new_points
        Training points, and points to predict.
    train_share
        The training kernel's share, as its user wants it.
    test_shots
        Shots of each pair of a new and a training point, as its user wants them; training gets
        the rest.

    Examples
    --------
    >>> split_shots(100_000, 100, 50).train
    49749
    >>> split_shots(100_000, 100, 50, test_shots=10).train
    50000
    """
    as_count(shots, "shots")
    if new_points == 0:
        return Split(shots, 0, "No points to predict: all shots are for training.")
    if test_shots is not None:
        wanted = new_points * n_points * as_count(test_shots, "test_shots", minimum=0)
        return Split(
            shots - wanted, wanted, f"Predictions get the {test_shots} shots a pair asked."
        )
    if train_share is not None:
        share = as_fraction(train_share, "train_share")
        if not 0 < share < 1:
            raise InputError(
                f"train_share must lie between 0 and 1, got {train_share!r}; for training alone "
                "predict no points."
            )
        return _by_share(shots, share, f"Training gets the share of {share:g} asked.")
    pairs = n_points * (n_points - 1) / 2
    even = pairs / (pairs + new_points * n_points)
    share = min(max(even, LEAST_SHARE), 1 - LEAST_SHARE)
    reason = f"Training gets {share:.0%}, so that every pair of both kinds has the same shots"
    if share != even:
        reason = f"Training gets {share:.0%}: neither side goes below {LEAST_SHARE:.0%}"
    return _by_share(shots, share, f"{reason}; predictions end sooner where labels settle.")


def _by_share(shots: int, share: float, reason: str) -> Split:
    train = round(share * shots)
    return Split(train, shots - train, reason)
