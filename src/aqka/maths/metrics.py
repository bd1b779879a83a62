"""Scores of predictions, and how sure they are."""

import math

import numpy as np
from numpy.typing import ArrayLike


def balanced_accuracy(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Return the mean over the classes present of the share predicted right.

    Examples
    --------
    >>> balanced_accuracy([0, 0, 0, 1], [0, 0, 0, 0])
    0.5
    """
    # Not by scikit-learn, which takes longer to load than a report of a small run to write.
    truth, predicted = np.asarray(truth), np.asarray(predicted)
    right = truth == predicted
    return float(np.mean([np.mean(right[truth == label]) for label in np.unique(truth)]))


def share_interval(successes: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval for a share; unlike ± 2 SE it is sound at 0 and 1.

    Examples
    --------
    >>> low, high = share_interval(10, 10)
    >>> round(low, 3), round(high, 3)
    (0.722, 1.0)
    """
    from scipy.special import ndtri  # not scipy.stats, which takes a second to load

    z = float(ndtri(0.5 + 0.5 * level))
    share = successes / trials
    room = 2 * (trials + z**2)
    centre = (2 * trials * share + z**2) / room
    reach = z / room * math.sqrt(4 * trials * share * (1 - share) + z**2)
    low = 0.0 if successes == 0 else centre - reach
    high = 1.0 if successes == trials else centre + reach
    return low, high
