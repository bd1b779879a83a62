"""The projected kernel: points compared by the states of their single qubits."""

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.insight.phase_maps import ComplexArray

WIDTHS = (0.25, 1.0, 4.0)  # of the median squared distance; the head chooses


def one_qubit_states(states: ComplexArray) -> ComplexArray:
    """Return the reduced density matrix of every qubit of every state: points, qubits, 2, 2.

    Examples
    --------
    >>> bell = np.array([[1, 0, 0, 1]]) / np.sqrt(2)
    >>> one_qubit_states(bell)[0, 0].real
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    n_qubits = states.shape[1].bit_length() - 1
    reduced = np.empty((len(states), n_qubits, 2, 2), dtype=np.complex128)
    for qubit in range(n_qubits):
        halves = states.reshape(len(states), -1, 2, 2**qubit)
        reduced[:, qubit] = np.einsum("nrak,nrbk->nab", halves, halves.conj())
    return reduced


def projected_kernels(states: ComplexArray) -> list[FloatArray]:
    """Return exp(-γ Σ_k ‖ρ_k(x) - ρ_k(y)‖²_F) for several γ (Huang et al. 2021).

    γ is one over the median squared distance, times one over each of ``WIDTHS``.
    """
    reduced = one_qubit_states(states).reshape(len(states), -1)
    flat = np.hstack([reduced.real, reduced.imag])
    squares = np.sum(flat**2, axis=1)
    distances = np.maximum(squares[:, None] + squares - 2 * flat @ flat.T, 0.0)
    np.fill_diagonal(distances, 0.0)
    typical = float(np.median(distances[np.triu_indices(len(flat), 1)]))
    unit = typical if typical > 0 else 1.0  # of states that are all alike
    return [np.exp(-distances / (width * unit)) for width in WIDTHS]
