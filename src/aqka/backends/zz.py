"""The paper's ZZ feature map in plain numpy, for work without a quantum SDK."""

import numpy as np

from aqka._util.arrays import FloatArray


def zz_states(
    X: FloatArray, repetitions: int = 2
) -> np.ndarray[tuple[int, int], np.dtype[np.complex128]]:
    """Return the states of the ZZ map with linear entanglement, one row per point.

    Each repetition is a Hadamard on every qubit, then phases 2x_i on each qubit and
    2(π - x_i)(π - x_j) on the parity of neighbours (Havlíček et al. 2019). All phases are diagonal,
    so a repetition is one matrix product and one exponential for all points together.
    """
    n_qubits = X.shape[1]
    bits = (np.arange(2**n_qubits)[:, None] >> np.arange(n_qubits)) & 1
    parity = bits[:, :-1] ^ bits[:, 1:]
    single, double = 2 * X, 2 * (np.pi - X[:, :-1]) * (np.pi - X[:, 1:])
    phases = np.exp(1j * (single @ bits.T + double @ parity.T))
    # H ⊗ … ⊗ H has entries ±2^{-n/2}, the sign being the parity of the common bits.
    common = np.bitwise_count(np.arange(2**n_qubits)[:, None] & np.arange(2**n_qubits))
    hadamard = np.where(common % 2, -1.0, 1.0) / 2 ** (n_qubits / 2)
    states = np.zeros((len(X), 2**n_qubits), dtype=np.complex128)
    states[:, 0] = 1.0
    for _ in range(repetitions):
        states = (states @ hadamard) * phases
    return states


def zz_kernel(X: FloatArray, columns: FloatArray | None = None) -> FloatArray:
    """Return the exact fidelity kernel |⟨φ(x)|φ(y)⟩|² of the ZZ map (Eq. 3).

    Examples
    --------
    >>> zz_kernel(np.array([[0.1, 0.2], [1.0, 2.0]])).round(3)
    array([[1.   , 0.028],
           [0.028, 1.   ]])
    """
    rows = zz_states(X)
    others = rows if columns is None else zz_states(columns)
    overlaps = rows @ others.conj().T
    return np.clip(overlaps.real**2 + overlaps.imag**2, 0.0, 1.0)
