"""BlockTable: shots and hits of a test-by-train block, and what they say about its entries."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from aqka.arrays import BoolArray, FloatArray, IntArray, as_count
from aqka.errors import InputError
from aqka.plan import ShotPlan, checked_hits

FEWEST_PSEUDO_SHOTS = 1.0
MOST_PSEUDO_SHOTS = 20.0  # a stronger prior would drown a pair that differs from the rest


class Prior(NamedTuple):
    """Entries are expected like Beta draws with this mean, worth this many pseudo-shots."""

    mean: float
    pseudo_shots: float


class BlockTable:
    """Shots and hits of every pair (test point, training point).

    Parameters
    ----------
    n_rows, n_cols
        Numbers of test and of training points.

    Examples
    --------
    >>> table = BlockTable(2, 3)
    >>> table.add(ShotPlan([0, 1], [2, 0], [10, 4]), [5, 4])
    >>> table.total, table.estimate(unseen=0.1).tolist()
    (14, [[0.1, 0.1, 0.5], [1.0, 0.1, 0.1]])
    """

    def __init__(self, n_rows: int, n_cols: int) -> None:
        shape = (as_count(n_rows, "n_rows"), as_count(n_cols, "n_cols"))
        self.shots: IntArray = np.zeros(shape, dtype=np.int64)
        self.hits: IntArray = np.zeros(shape, dtype=np.int64)

    @property
    def total(self) -> int:
        """All shots so far."""
        return int(self.shots.sum())

    @property
    def seen(self) -> BoolArray:
        """Pairs that have been measured."""
        return self.shots > 0

    def add(self, plan: ShotPlan, hits: ArrayLike) -> None:
        """Count the hits of an executed plan; on bad input the table is unchanged."""
        counts = checked_hits(plan, hits)
        for name, points, size in zip(
            ("rows", "cols"), (plan.rows, plan.cols), self.shots.shape, strict=True
        ):
            if points.size and points.max() >= size:
                raise InputError(f"{name} of the plan must be below {size}, got {points.max()}.")
        np.add.at(self.shots, (plan.rows, plan.cols), plan.shots)
        np.add.at(self.hits, (plan.rows, plan.cols), counts)

    def estimate(self, unseen: float) -> FloatArray:
        """Return K-hat = hits / shots per pair (Eq. 4), with ``unseen`` where nothing is known."""
        return np.where(self.seen, self.hits / np.maximum(self.shots, 1), unseen)

    def prior(self) -> Prior:
        """Return what the measured entries say about any entry, by matching two moments.

        Of K-hat over the entries, the variance is v + (m(1 - m) - v) / shots, where m and v are
        mean and variance of K; a Beta with these is worth m(1 - m) / v - 1 shots.
        """
        shots = self.shots[self.seen]
        if shots.size == 0:
            return Prior(0.5, FEWEST_PSEUDO_SHOTS)
        k_hat = self.hits[self.seen] / shots
        # One pseudo-shot keeps the mean away from 0 and 1, where nothing would be measured again.
        mean = (float(k_hat.sum()) + 0.5) / (shots.size + 1)
        spread, noise = float(np.mean((k_hat - mean) ** 2)), float(np.mean(1 / shots))
        bernoulli = mean * (1 - mean)
        excess = spread - noise * bernoulli
        if noise == 1 or excess <= 0:  # single shots show no variance of K, nor did these
            strength = FEWEST_PSEUDO_SHOTS if noise == 1 else MOST_PSEUDO_SHOTS
        else:
            strength = bernoulli * (1 - noise) / excess - 1
        return Prior(mean, float(np.clip(strength, FEWEST_PSEUDO_SHOTS, MOST_PSEUDO_SHOTS)))

    def smoothed(self, prior: Prior) -> FloatArray:
        """Return the posterior mean per pair; strictly between 0 and 1."""
        weight = prior.pseudo_shots
        return np.asarray((self.hits + weight * prior.mean) / (self.shots + weight))

    def variance(self, prior: Prior) -> FloatArray:
        """Return the variance of ``estimate`` per pair, of an unseen one that of the prior.

        It takes K from ``smoothed``: at K-hat = 0 the plug-in variance would claim certainty.
        """
        k = self.smoothed(prior)
        return np.where(
            self.seen,
            k * (1 - k) / np.maximum(self.shots, 1),
            prior.mean * (1 - prior.mean) / (prior.pseudo_shots + 1),
        )
