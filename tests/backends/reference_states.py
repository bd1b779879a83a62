"""The states that Qiskit itself gives, one point at a time."""

import warnings

import numpy as np
from qiskit.quantum_info import Statevector

from aqka.backends.statevector import StatevectorBackend


def reference(circuit, X):
    return np.stack([Statevector(circuit.assign_parameters(x)).data for x in X])


def assert_agrees(circuit, X, atol=1e-10):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        expected = reference(circuit, X)
    backend = StatevectorBackend(X, circuit)
    np.testing.assert_allclose(backend.states(), expected, rtol=0, atol=atol)
    kernel = np.abs(expected.conj() @ expected.T) ** 2
    np.testing.assert_allclose(backend.kernel(), kernel, rtol=0, atol=atol)
