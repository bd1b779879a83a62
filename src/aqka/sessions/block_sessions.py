"""What sessions on test points share: checks, and how the budget grows from round to round."""

import numpy as np

from aqka.backends import Backend
from aqka.errors import InputError
from aqka.readouts import FittedHead


def check_head(head: FittedHead) -> None:
    """Refuse what is no fitted head, or one with coefficients that are no numbers."""
    if not isinstance(head, FittedHead):
        raise InputError(
            f"head must be a FittedHead, got {type(head).__name__}; session.fit() gives one."
        )
    if not np.all(np.isfinite(np.asarray(head.alpha, dtype=np.float64))):
        raise InputError("head has coefficients that are NaN or infinite; fit it anew.")


def check_columns(head: FittedHead, backend: Backend) -> None:
    """Refuse a backend whose columns are not the head's training points."""
    if backend.shape[1] != len(head.alpha):
        raise InputError(
            f"the head was trained on {len(head.alpha)} points, so the backend must have that many "
            f"columns, one row per test point; its shape is {backend.shape}."
        )


def milestones(budget: int, rounds: int, n_pairs: int) -> list[int]:
    """Return the shots spent after each round.

    They grow by a common factor from one shot a pair, or less where the budget is small.

    Examples
    --------
    >>> milestones(8000, 4, n_pairs=1000)
    [1000, 2000, 4000, 8000]
    """
    first = min(budget / rounds, float(n_pairs))
    ends = np.geomspace(budget, first, rounds)[::-1]  # of one round, the budget
    return [int(end) for end in np.unique(np.rint(ends).astype(np.int64))]
