"""Shots that are the same for every method that measures the same pair: common random numbers."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray
from aqka.core.pairs import PairTable
from aqka.core.plans import ShotPlan

COMMON = 64
"""So many shots of every pair are drawn ahead. What comes after them is drawn by the round."""


class CommonShots:
    """Bernoulli shots of a kernel whose first 64 outcomes a pair depend on the seed alone.

    Two runs that put shots on the same pair get the same outcomes, whatever else they measure and
    in whatever rounds, so that the difference of the two is not one of luck.

    Parameters
    ----------
    kernel
        The exact training kernel.
    seed
        All outcomes depend on it.

    Examples
    --------
    >>> kernel = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> once, twice = CommonShots(kernel, seed=0), CommonShots(kernel, seed=0)
    >>> whole = once.hits(ShotPlan([0], [1], [50]), round=0)
    >>> first = twice.hits(ShotPlan([0], [1], [20]), round=0)
    >>> (first + twice.hits(ShotPlan([0], [1], [30]), round=1) == whole).all()
    np.True_
    """

    def __init__(self, kernel: FloatArray, seed: int) -> None:
        self._seed = seed
        table = PairTable(len(kernel), "measured")
        self.index, self.n_pairs = table.index, table.n_pairs
        # A computed fidelity may be 1 + 1e-16.
        self._kernel = np.clip(kernel, 0.0, 1.0)[np.triu_indices(len(kernel))]
        self._outcomes = _outcomes(self._kernel.tobytes(), seed)
        self._taken = np.zeros(len(self._outcomes), dtype=np.int64)

    def hits(self, plan: ShotPlan, round: int) -> IntArray:
        """Return the hits of a plan's pairs, each of which it names once."""
        index = self.index(plan.rows, plan.cols)
        start = self._taken[index]
        self._taken[index] = start + plan.shots
        return self.hits_after(start, index, plan.shots, round)

    def hits_after(self, start: IntArray, index: IntArray, shots: IntArray, round: int) -> IntArray:
        """Return the hits of so many shots of pairs that have had ``start`` shots each.

        ``index`` numbers the pairs of a table with the diagonal.
        """
        ahead = np.clip(COMMON - start, 0, shots)
        window = self._outcomes[index] >> np.minimum(start, COMMON - 1).astype(np.uint64)
        hits: IntArray = np.bitwise_count(window & _ONES[ahead]).astype(np.int64)
        later = shots - ahead
        drawn = np.flatnonzero(later)  # where there are none, nothing would be drawn either
        if drawn.size:
            rng = np.random.default_rng([self._seed, round])
            hits[drawn] += rng.binomial(later[drawn], self._kernel[index[drawn]])
        return hits


_ONES = np.array([2**count - 1 for count in range(COMMON + 1)], dtype=np.uint64)
"""Numbers whose lowest bits are set, by how many."""


@lru_cache(maxsize=4)
def _outcomes(kernel: bytes, seed: int) -> NDArray[np.uint64]:
    """Return the first 64 outcomes of every pair with the diagonal, as the bits of a number."""
    k = np.frombuffer(kernel)
    rng = np.random.default_rng([seed, 64])
    outcomes = np.zeros(len(k), dtype=np.uint64)
    for shot in range(COMMON):
        outcomes |= (rng.random(len(k)) < k).astype(np.uint64) << np.uint64(shot)
    return outcomes
