"""States and gradients of trainable circuits, against Qiskit's states and finite differences."""

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector
from qiskit.circuit.library import efficient_su2
from qiskit.quantum_info import Statevector

from aqka import InputError
from aqka.backends._bulk.adjoint import DifferentiableMap


def mixed_circuit():
    """Every kind of layer: phases, permutations, rotations, fixed gates; products and powers."""
    x, t = ParameterVector("x", 3), ParameterVector("t", 6)
    circuit = QuantumCircuit(3)
    circuit.h(range(3))
    circuit.rz(x[0] * t[0], 0)
    circuit.cx(0, 2)
    circuit.ry(t[1] + 2 * x[1], 1)
    circuit.crz(t[2] * (np.pi - x[0]) * (np.pi - x[2]), 2, 1)
    circuit.rx(t[3] ** 2, 0)
    circuit.swap(1, 2)
    circuit.u(t[4], x[2], t[1], 2)
    circuit.rxx(t[5], 0, 1)
    return circuit, list(x), list(t)


def su2_circuit():
    x = ParameterVector("x", 4)
    circuit = QuantumCircuit(4)
    for qubit in range(4):
        circuit.rz(x[qubit], qubit)
    ansatz = efficient_su2(4, reps=1)
    circuit.compose(ansatz, inplace=True)
    for qubit in range(4):
        circuit.rx(x[qubit], qubit)
    return circuit, list(x), list(ansatz.parameters)


@pytest.mark.parametrize("make", [mixed_circuit, su2_circuit])
def test_gradients_are_those_of_differences(make):
    circuit, data, trainable = make()
    made = DifferentiableMap(circuit, data, trainable)
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 2, (7, len(data)))
    theta = rng.uniform(0.2, 2, len(trainable))
    states = made.states(X, theta)
    values = dict(zip([*data, *trainable], [*X[3], *theta], strict=True))
    assert np.allclose(states[3], Statevector(circuit.assign_parameters(values)).data, atol=1e-12)
    G = rng.normal(size=(7, 7))
    G += G.T

    def loss(theta):
        states = made.states(X, theta)
        return np.sum(G * np.abs(states.conj() @ states.T) ** 2) / 2

    overlaps = states.conj() @ states.T
    found = made.gradient(X, theta, states, (G * overlaps.conj()) @ states)
    steps = np.eye(len(theta)) * 1e-5
    expected = [(loss(theta + step) - loss(theta - step)) / 2e-5 for step in steps]
    assert np.allclose(found, expected, atol=1e-7)


def test_chunks_change_nothing(monkeypatch):
    circuit, data, trainable = su2_circuit()
    made = DifferentiableMap(circuit, data, trainable)
    rng = np.random.default_rng(1)
    X, theta = rng.uniform(0, 2, (20, 4)), rng.uniform(0, 2, len(trainable))
    states = made.states(X, theta)
    whole = made.gradient(X, theta, states, states[::-1].copy())
    monkeypatch.setattr("aqka.backends._bulk.evolve.CHUNK_AMPLITUDES", 1)
    assert np.allclose(made.states(X, theta), states, atol=1e-14)
    assert np.allclose(made.gradient(X, theta, states, states[::-1].copy()), whole, atol=1e-12)


def test_an_angle_without_a_derivative_is_refused():
    t = ParameterVector("t", 1)
    circuit = QuantumCircuit(1)
    circuit.ry(t[0].sign(), 0)
    made, X, theta = DifferentiableMap(circuit, [], list(t)), np.empty((2, 0)), np.ones(1)
    states = made.states(X, theta)
    with pytest.raises(InputError, match="no derivative by"):
        made.gradient(X, theta, states, states)
