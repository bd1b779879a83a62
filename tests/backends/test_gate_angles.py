"""The angles of feature maps, against Qiskit's own values."""

import numpy as np
import pytest
from qiskit.circuit import Parameter, ParameterVector, QuantumCircuit

from aqka.backends.feature_maps import BUILT_IN_MAPS, built_in_map
from aqka.backends.gate_angles import GateAngles

X = np.random.default_rng(2).uniform(0, 3, (4, 3))


@pytest.mark.parametrize("name", BUILT_IN_MAPS)
def test_built_in_maps_know_the_angles_of_their_circuits(name):
    known, read = GateAngles.of(name, 3)(X), GateAngles.of(built_in_map(name, 3), 3)(X)
    assert known.shape == read.shape
    apart = np.abs(known[:, :, None] - read[:, None]).max(axis=0)
    assert np.allclose(apart.min(axis=0), 0, atol=1e-12)
    assert np.allclose(apart.min(axis=1), 0, atol=1e-12)


def test_each_distinct_angle_of_a_circuit_is_evaluated_as_qiskit_does():
    x = ParameterVector("x", 3)
    angles = [x[0] ** 2 + 0.3 * x[1], 1.5 * x[0] * x[1] ** 2 - x[2], 0.7 * (np.pi - x[2])]
    circuit = QuantumCircuit(2, global_phase=x[0] * x[1])  # a global phase changes no state
    circuit.rx(angles[0], 0)
    circuit.ry(angles[1], 1)
    circuit.rzz(angles[2], 0, 1)
    circuit.rx(angles[0], 1)
    circuit.h(0)
    read = GateAngles.of(circuit, 3)
    assert read.periodic
    assert len(read.terms) == 3
    bound = [
        [
            float(a.bind({p: v for p, v in zip(x, row, strict=True) if p in a.parameters}))
            for a in angles
        ]
        for row in X
    ]
    assert np.allclose(read(X), bound)


@pytest.mark.parametrize("function", ["sin", "arccos", "abs", "log"])
def test_an_angle_that_is_no_polynomial_falls_back_to_the_features(function):
    a, circuit = Parameter("a"), QuantumCircuit(1)
    circuit.rx(getattr(a, function)(), 0)
    read = GateAngles.of(circuit, 1)
    assert not read.periodic
    assert np.array_equal(read(X[:, :1]), X[:, :1])


def test_an_unknown_map_falls_back_to_the_features():
    read = GateAngles.of(lambda x: None, 3)
    assert not read.periodic
    assert np.array_equal(read(X), X)
