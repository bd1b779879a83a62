"""What counts say about kernel entries before they are looked at one by one."""

from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka.core.pairs import PairTable

FEWEST_REPEATED = 10  # pairs with two shots or more, below which their spread says nothing
DEFAULT_SPREAD = 0.1  # of the largest possible variance m(1 - m)


@dataclass(frozen=True)
class KernelPrior:
    """A Beta prior for kernel entries, fitted to the counts of many (empirical Bayes).

    Attributes
    ----------
    mean
        Mean kernel value m.
    strength
        How many shots the prior is worth: ν, so that a pair reads (hits + νm) / (shots + ν).
    """

    mean: float
    strength: float

    @classmethod
    def of_counts(cls, shots: IntArray, hits: IntArray) -> "KernelPrior":
        """Fit mean and variance by moments.

        h(h-1) / s(s-1) is unbiased for K² where s ≥ 2, so the variance of the *entries* is found
        without that of the shots. A Beta variable of variance m(1-m)/(ν+1) has strength ν.
        """
        seen = shots > 0
        if not seen.any():
            return cls(0.5, 1.0)
        mean = float(np.mean(hits[seen] / shots[seen]))
        largest = max(mean * (1 - mean), np.finfo(float).tiny)
        repeated = shots >= 2
        variance = DEFAULT_SPREAD * largest
        if repeated.sum() >= FEWEST_REPEATED:
            s, h = shots[repeated].astype(float), hits[repeated].astype(float)
            weight = (s - 1) / np.sum(s - 1)
            square = float(np.sum(weight * h * (h - 1) / (s * (s - 1))))
            variance = square - float(np.sum(weight * h / s)) ** 2
        # Strengths from a tenth of a shot to ten thousand.
        variance = min(max(variance, 1e-4 * largest), largest / 1.1)
        return cls(mean, largest / variance - 1)

    @classmethod
    def of(cls, table: PairTable) -> "KernelPrior":
        """Fit the off-diagonal entries of a training kernel."""
        off_diagonal = ~table.on_diagonal()
        return cls.of_counts(table.shots[off_diagonal], table.hits[off_diagonal])

    def posterior_mean(self, table: PairTable) -> FloatArray:
        """Return (hits + νm) / (shots + ν) per pair; a measured diagonal is expected at 1."""
        mean = np.where(table.on_diagonal(), 1.0, self.mean)
        return np.asarray((table.hits + self.strength * mean) / (table.shots + self.strength))

    def variance(self, k: FloatArray, shots: IntArray) -> FloatArray:
        """Return the variance of K-hat per pair; of an unseen one, that of the prior.

        ``k`` is the posterior mean: at K-hat = 0 the plug-in variance would claim certainty.
        """
        return np.asarray(k * (1 - k) / np.where(shots == 0, self.strength + 1, shots))

    def variances(self, table: PairTable) -> FloatArray:
        """Return the variance of K-hat of each pair of a table."""
        return self.variance(self.posterior_mean(table), table.shots)
