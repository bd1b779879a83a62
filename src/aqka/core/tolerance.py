"""Pairs of many qubits read by how many bits are flipped: K_w = E[w^h].

A pair's fidelity is the chance that no bit of its circuit's outcome is 1, which is hardly ever seen
with many qubits. Each shot has some number h of ones, though, and the mean of w^h is a kernel that
counts near misses too; w = 0 is the fidelity. It is another kernel: not symmetric for entangling
maps, and not exactly positive semi-definite.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray

Counts = NDArray[Any]
WEIGHTS = np.concatenate([[0.0], 1 - np.geomspace(0.9, 0.005, 40)])


def tolerant(histograms: Counts, w: float) -> tuple[FloatArray, FloatArray]:
    """Return K_w of each pair and its squared standard error.

    The last axis of ``histograms`` counts shots with 0, 1, … flipped bits.

    >>> tolerant(np.array([[3, 1]]), 0.5)[0]
    array([0.875])
    """
    powers = w ** np.arange(histograms.shape[-1], dtype=np.float64)
    shots = np.maximum(histograms.sum(axis=-1), 1)
    mean = histograms @ powers / shots
    spread = histograms @ powers**2 / shots - mean**2
    return mean, np.maximum(spread, 0.0) / np.maximum(shots - 1, 1)


def best_weight(histograms: Counts) -> float:
    """Return the w whose entries vary most relative to their errors, over pairs i < j, not labels.

    >>> near, far = [0, 40, 60, 0, 0], [0, 0, 0, 50, 50]
    >>> 0 < best_weight(np.array([near, far, near])) < 1
    True
    """

    def signal(w: float) -> float:
        kernel, error = tolerant(histograms, w)
        noise = float(np.mean(error))
        return float(np.var(kernel)) / noise if noise > 0 else 0.0

    return float(max(WEIGHTS, key=signal))


@dataclass(frozen=True)
class Tolerance:
    """How much of a hit a shot with flipped bits is, as the counts of training pairs say.

    Parameters
    ----------
    bits : int
        Bits of an outcome.
    weight : float, default=0.0
        w: a shot with h flipped bits is w^h of a hit.
    spread : float, default=1.0
        Variance of a shot, as a share of that of a hit with the same chance.
    """

    bits: int
    weight: float = 0.0
    spread: float = 1.0

    @classmethod
    def of(cls, flips: IntArray) -> Self:
        """Choose w by the pairs that have two shots or more; without them only 0 is a hit."""
        bits = flips.shape[1] - 1
        seen = flips[flips.sum(axis=1) >= 2].astype(np.float64)
        weight = best_weight(seen) if len(seen) > 1 else 0.0
        kernel, error = tolerant(seen, weight)
        shots = seen.sum(axis=1)
        own = float(np.sum(error * shots * (shots - 1)) / max(np.sum(shots - 1), 1))
        if own == 0:
            return cls(bits, weight)
        hit = (float(shots @ (kernel * (1 - kernel))) + own * len(seen)) / float(shots.sum())
        return cls(bits, weight, min(own / hit, 1.0))

    @property
    def meaning(self) -> str:
        """Which kernel it is, in a sentence."""
        which = "the fidelity" if self.is_fidelity else "a different kernel from the fidelity"
        return (
            f"K̂ is the mean of w^h over shots with h flipped bits, w = {self.weight:.3g}: {which}."
        )

    @property
    def is_fidelity(self) -> bool:
        """Whether only shots without a flipped bit count."""
        return self.weight == 0

    @property
    def worths(self) -> FloatArray:
        """How much of a hit a shot is, by the number of its flipped bits."""
        return np.asarray(self.weight ** np.arange(self.bits + 1, dtype=np.float64))
