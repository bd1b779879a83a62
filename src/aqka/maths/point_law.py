"""What S shots a point are worth before any is spent: the error of the kernel of fitted states.

A state of d = 2^n amplitudes fitted to S shots in random Pauli settings has about the fidelity
F = S/(S + d - 1) with the true one. The kernel then has the expectation F²K + (1 - F²)/d and to
first order the variance 4K(1 - K)/S, that of S/4 shots on every pair:

    E (K̂ - K)² ≈ F² (4/S) mean K(1-K) + (1 - F²)² mean (K - 1/d)²

without a fitted parameter. docs/explanation/points.md compares it with simulations.
"""

from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray, as_count


@dataclass(frozen=True)
class KernelSpread:
    """Mean of K and of K² over the entries off the diagonal."""

    mean: float
    square: float

    @classmethod
    def of(cls, entries: FloatArray) -> "KernelSpread":
        """Return that of some entries."""
        return cls(float(np.mean(entries)), float(np.mean(entries**2)))

    @classmethod
    def cautious(cls, n_qubits: int) -> "KernelSpread":
        """Return what to assume of an unknown kernel: large entries, which need more shots.

        Squares of normal overlaps (a Beta law of ½) with a mean of 2^{-n/2}, close to the feature
        map with the largest entries of four (docs/explanation/points.md).
        """
        mean = 2 ** (-as_count(n_qubits, "n_qubits") / 2)
        return cls(mean, 3 * mean**2 / (1 + 2 * mean))

    @property
    def shot_variance(self) -> float:
        """Mean K(1 - K): the variance of one shot on a pair."""
        return self.mean - self.square


def state_fidelity(n_qubits: int, shots: float) -> float:
    """Return the fidelity F of a fitted pure state with the true one, mean over states."""
    return float(shots / (shots + 2**n_qubits - 1))


def kernel_error(n_qubits: int, shots: float, spread: KernelSpread | None = None) -> float:
    """Return the mean squared error of a kernel entry; by default for the cautious spread."""
    here = KernelSpread.cautious(n_qubits) if spread is None else spread
    kept = state_fidelity(n_qubits, shots) ** 2
    d = 2.0**n_qubits
    away = float(here.square - 2 * here.mean / d + 1 / d**2)  # mean (K - 1/d)²
    return kept * 4 / shots * here.shot_variance + (1 - kept) ** 2 * away


def equivalent_pair_shots(n_qubits: int, shots: float, spread: KernelSpread | None = None) -> float:
    """Return the shots on *every pair* whose noise has the same mean square: about S/4 at best.

    Never more than F²S/4: fits that have lost their states answer 1/d everywhere, which has a small
    error and says nothing.

    >>> round(equivalent_pair_shots(4, 2048))
    479
    >>> round(equivalent_pair_shots(8, 512))  # below 4 · 2^n the states are too poorly known
    16
    """
    here = KernelSpread.cautious(n_qubits) if spread is None else spread
    by_error = here.shot_variance / kernel_error(n_qubits, shots, here)
    return min(by_error, state_fidelity(n_qubits, shots) ** 2 * shots / 4)


def label_shots(n_qubits: int, shots: float) -> float:
    """Return the shots on *every pair* that label new points as well as S shots a point: F²S/4.

    A fit that has lost part of its state answers closer to 1/d everywhere, which only shrinks the
    decision function. Its signal falls by F², and so does the noise F² (4/S) mean K(1-K).

    >>> round(label_shots(4, 2048)), round(label_shots(8, 512))
    (505, 57)
    """
    return state_fidelity(n_qubits, shots) ** 2 * shots / 4
