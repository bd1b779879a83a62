"""Two models on the same points: who is right where the other is not."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class PairedShares:
    """Shares of the same points that two models have right, compared point by point.

    Attributes
    ----------
    n_points
        All points.
    only_first, only_second
        Points that one of them alone has right; the others say nothing about which is better.
    """

    n_points: int
    only_first: int
    only_second: int

    @property
    def difference(self) -> float:
        """How much more the first has right, as a share of all points."""
        return (self.only_first - self.only_second) / self.n_points

    @property
    def p_value(self) -> float:
        """Of the exact McNemar test: each point that they differ on is a fair coin."""
        from scipy.stats import binomtest

        differing = self.only_first + self.only_second
        return float(binomtest(self.only_first, differing).pvalue) if differing else 1.0


def compare_shares(first: ArrayLike, second: ArrayLike) -> PairedShares:
    """Compare where two models are right, given for the same points in the same order.

    Examples
    --------
    >>> found = compare_shares([1, 1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0, 0])
    >>> found.only_first, found.only_second, round(found.p_value, 4)
    (6, 0, 0.0312)
    """
    one, two = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    return PairedShares(one.size, int(np.sum(one & ~two)), int(np.sum(two & ~one)))
