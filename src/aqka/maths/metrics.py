"""Scores of predictions, and how sure they are."""

import numpy as np
from numpy.typing import ArrayLike


def balanced_accuracy(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Return the mean over the classes present of the share predicted right.

    Examples
    --------
    >>> balanced_accuracy([0, 0, 0, 1], [0, 0, 0, 0])
    0.5
    """
    labels, answers = np.asarray(truth), np.asarray(predicted)
    # Of the classes in the truth alone; scikit-learn's function warns of any other.
    right = [np.mean(answers[labels == label] == label) for label in np.unique(labels)]
    return float(np.mean(right))


def share_interval(successes: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval for a share; unlike ± 2 SE it is sound at 0 and 1.

    Examples
    --------
    >>> low, high = share_interval(10, 10)
    >>> round(low, 3), round(high, 3)
    (0.722, 1.0)
    """
    from scipy.stats import binomtest

    found = binomtest(successes, trials).proportion_ci(level, method="wilson")
    return float(found.low), float(found.high)
