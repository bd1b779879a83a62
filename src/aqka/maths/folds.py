"""The one way points are held out: always the same folds for the same number of points."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from aqka._util.arrays import IntArray

FOLDS = 5
FOLD_SEED = 0  # folds are part of the method, not of the experiment: always the same


class Fold(NamedTuple):
    """Numbers of the points that train, in rising order, and of those held out meanwhile."""

    kept: IntArray
    held: IntArray


def split_folds(n_points: int, folds: int = FOLDS) -> Iterator[Fold]:
    """Yield folds that hold out every point once; at most as many as there are points.

    Examples
    --------
    >>> [fold.held.tolist() for fold in split_folds(5, folds=2)]
    [[2, 4, 3], [0, 1]]
    """
    order = np.random.default_rng(FOLD_SEED).permutation(n_points)
    for held in np.array_split(order, min(folds, n_points)):
        yield Fold(np.setdiff1d(order, held), held)
