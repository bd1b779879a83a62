"""What S shots a point are worth before any is spent: the error of the kernel of fitted states.

A state of d = 2^n amplitudes fitted to S shots in random Pauli settings has about the fidelity
F = S/(S + d - 1) with the true one. The kernel then has the expectation F²K + (1 - F²)/d and to
first order the variance 4K(1 - K)/S, that of S/4 shots on every pair:

    E (K̂ - K)² ≈ F² (4/S) mean K(1-K) + (1 - F²)² mean (K - 1/d)²

without a fitted parameter. docs/explanation/points.md compares it with simulations.
"""

import numpy as np

from aqka._util.arrays import FloatArray


def state_fidelity(n_qubits: int, shots: float) -> float:
    """Return the fidelity F of a fitted pure state with the true one, mean over states."""
    return float(shots / (shots + 2**n_qubits - 1))


def shot_variance(entries: FloatArray) -> float:
    """Return mean K(1 - K): the variance of one shot on a pair."""
    return float(np.mean(entries)) - float(np.mean(entries**2))


def kernel_error(n_qubits: int, shots: float, entries: FloatArray) -> float:
    """Return the mean squared error of a kernel entry; ``entries`` are those off the diagonal."""
    kept, d = state_fidelity(n_qubits, shots) ** 2, 2.0**n_qubits
    mean, square = float(np.mean(entries)), float(np.mean(entries**2))
    away = square - 2 * mean / d + 1 / d**2  # mean (K - 1/d)²
    return kept * 4 / shots * shot_variance(entries) + (1 - kept) ** 2 * away


def equivalent_pair_shots(n_qubits: int, shots: float, entries: FloatArray) -> float:
    """Return the shots on *every pair* whose noise has the same mean square: about S/4 at best.

    Never more than F²S/4: fits that have lost their states answer 1/d everywhere, which has a small
    error and says nothing.
    """
    by_error = shot_variance(entries) / kernel_error(n_qubits, shots, entries)
    return min(by_error, label_shots(n_qubits, shots))


def label_shots(n_qubits: int, shots: float) -> float:
    """Return the shots on *every pair* that label new points as well as S shots a point: F²S/4.

    A fit that has lost part of its state answers closer to 1/d everywhere, which only shrinks the
    decision function. Its signal falls by F², and so does the noise F² (4/S) mean K(1-K).
    """
    return state_fidelity(n_qubits, shots) ** 2 * shots / 4
