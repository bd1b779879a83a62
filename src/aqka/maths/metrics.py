"""How points are held out, scores of predictions, and how sure these are."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import IntArray


def balanced_accuracy(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Return the mean over the classes present of the share predicted right."""
    labels, answers = np.asarray(truth), np.asarray(predicted)
    # Only the classes in the truth count; scikit-learn's function warns of any other.
    right = [np.mean(answers[labels == label] == label) for label in np.unique(labels)]
    return float(np.mean(right))


def share_interval(successes: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval for a share; unlike ± 2 SE it is sound at 0 and 1."""
    share, z = successes / trials, normal_quantile(level)
    reach = z * math.sqrt(share * (1 - share) / trials + (z / trials) ** 2 / 4)
    centre, scale = share + z**2 / trials / 2, 1 + z**2 / trials
    return max(0.0, (centre - reach) / scale), min(1.0, (centre + reach) / scale)


@dataclass(frozen=True)
class PairedShares:
    """How many points only one of two models has right; the others do not tell them apart."""

    n_points: int
    only_first: int
    only_second: int

    @property
    def difference(self) -> float:
        """How much larger the first one's share is."""
        return (self.only_first - self.only_second) / self.n_points

    @property
    def p_value(self) -> float:
        """p-value of the exact McNemar test."""
        from scipy.special import bdtr  # scipy.stats takes long to load

        differing = self.only_first + self.only_second
        fewer = min(self.only_first, self.only_second)
        return min(1.0, 2 * float(bdtr(fewer, differing, 0.5)))


def compare_shares(first: ArrayLike, second: ArrayLike) -> PairedShares:
    """Compare where two models are right, given for the same points in the same order."""
    one, two = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    return PairedShares(one.size, int(np.sum(one & ~two)), int(np.sum(two & ~one)))


FOLDS = 5
FOLD_SEED = 0  # folds are part of the method, not of the experiment: always the same


class Fold(NamedTuple):
    """Numbers of the points that train, in rising order, and of those held out meanwhile."""

    kept: IntArray
    held: IntArray


def split_folds(n_points: int, folds: int = FOLDS) -> Iterator[Fold]:
    """Yield folds that hold out every point once; at most as many as there are points."""
    order = np.random.default_rng(FOLD_SEED).permutation(n_points)
    for held in np.array_split(order, min(folds, n_points)):
        yield Fold(np.setdiff1d(order, held), held)


def normal_quantile(level: float) -> float:
    """Return how many standard deviations a two-sided interval of a level reaches."""
    from scipy.special import ndtri  # imported here: `import aqka` need not wait for it

    return float(ndtri((1 + level) / 2))
