"""Pairs of many qubits read by how many bits are flipped: K_w = E[w^h].

A pair's fidelity is the chance that no bit of its circuit's outcome is 1, which is hardly ever seen
with many qubits. Each shot has some number h of ones, though, and the mean of w^h is a kernel that
counts near misses too; w = 0 is the fidelity. It is another kernel: not symmetric for entangling
maps, and not exactly positive semi-definite.

aqka measures the all-zero count alone: the histogram would have to pass through plans, answers,
ledgers, tables and the tests that settle new points, for a reading that points beat at equal shots.
"""

import numpy as np

from aqka._util.arrays import FloatArray, IntArray

WEIGHTS = np.concatenate([[0.0], 1 - np.geomspace(0.9, 0.005, 40)])


def tolerant(histograms: IntArray, w: float) -> tuple[FloatArray, FloatArray]:
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


def best_weight(histograms: IntArray) -> float:
    """Return the w whose entries differ most beside their errors, of pairs i < j and no labels.

    >>> near, far = [0, 40, 60, 0, 0], [0, 0, 0, 50, 50]
    >>> 0 < best_weight(np.array([near, far, near])) < 1
    True
    """

    def signal(w: float) -> float:
        kernel, error = tolerant(histograms, w)
        return float(np.var(kernel) / max(float(np.mean(error)), 1e-300))

    seen = [w for w in WEIGHTS if np.mean(tolerant(histograms, w)[1]) > 0]
    return float(max(seen, key=signal)) if seen else 0.0


def histograms_of(flips: IntArray, n_qubits: int) -> IntArray:
    """Return histograms of flipped bits h, whose last axis is the shots."""
    counts = [np.sum(flips == h, axis=-1) for h in range(n_qubits + 1)]
    return np.stack(counts, axis=-1)
