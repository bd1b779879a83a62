"""The ZZ map against dense circuits."""

import numpy as np
import pytest

from aqka import StatevectorBackend
from aqka.backends.statevector import zz_kernel, zz_states


def dense_zz_state(x):
    """The same map gate by gate with dense matrices."""
    n = len(x)
    hadamard = np.array([[1, 1], [1, -1]]) / np.sqrt(2)
    z = np.diag([1.0, -1.0])

    def on(gates):
        full = np.eye(1)
        for q in reversed(range(n)):  # qubit 0 is the least significant bit
            full = np.kron(full, gates.get(q, np.eye(2)))
        return full

    state = np.zeros(2**n, dtype=complex)
    state[0] = 1
    for _ in range(2):
        state = on(dict.fromkeys(range(n), hadamard)) @ state
        for q in range(n):  # P(2x) = exp(i 2x (1 - Z)/2)
            state = np.exp(1j * 2 * x[q] * (1 - np.diag(on({q: z}))) / 2) * state
        for q in range(n - 1):
            angle = 2 * (np.pi - x[q]) * (np.pi - x[q + 1])
            state = np.exp(1j * angle * (1 - np.diag(on({q: z, q + 1: z}))) / 2) * state
    return state


@pytest.mark.parametrize("n_qubits", [1, 2, 4])
def test_zz_states_equal_a_dense_circuit(n_qubits):
    x = np.random.default_rng(0).uniform(0, np.pi, size=(5, n_qubits))
    expected = np.array([dense_zz_state(row) for row in x])
    np.testing.assert_allclose(zz_states(x), expected, atol=1e-12)
    overlaps = np.abs(expected[:2] @ expected.conj().T) ** 2
    np.testing.assert_allclose(zz_kernel(x[:2], x), overlaps, atol=1e-12)


def test_zz_kernel_is_that_of_the_qiskit_circuit():
    x = np.random.default_rng(1).uniform(0, np.pi, size=(20, 4))
    np.testing.assert_allclose(zz_kernel(x), StatevectorBackend(x).kernel(), atol=1e-12)
