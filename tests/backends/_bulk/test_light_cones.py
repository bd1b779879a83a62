import itertools

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector
from qiskit.quantum_info import DensityMatrix, Kraus, Pauli, Statevector

from aqka import InputError
from aqka.backends._bulk.light_cones import LightCones, Rates, operations
from aqka.backends.feature_maps import built_in_map
from aqka.core.settings import all_edges, line_edges

NONE = np.zeros((0, 2), dtype=int)


def qiskit_expectations(states, n_qubits, edges):
    """By Qiskit's own Pauli operators, whose text has qubit 0 last."""
    names = [{q: letter} for q in range(n_qubits) for letter in "XYZ"]
    names += [{a: p, b: q} for a, b in edges for p in "XYZ" for q in "XYZ"]
    texts = ["".join(name.get(q, "I") for q in reversed(range(n_qubits))) for name in names]
    return np.array([[s.expectation_value(Pauli(t)).real for t in texts] for s in states])


def bound(circuit, X):
    return [circuit.assign_parameters(dict(zip(circuit.parameters, x, strict=True))) for x in X]


def brickwork(n_qubits, layers, gates, seed=0):
    """Turns and entangling gates between neighbours, in a random order of qubits."""
    random = np.random.default_rng(seed)
    x, circuit = ParameterVector("x", n_qubits), QuantumCircuit(n_qubits)
    for _ in range(layers):
        for q in range(n_qubits):
            getattr(circuit, random.choice(["ry", "rx", "rz", "p"]))(x[q], q)
        for q in random.permutation(n_qubits - 1):
            gate = random.choice(gates)
            ends = (q, q + 1) if random.random() < 0.5 else (q + 1, q)
            if gate in ("rzz", "cp", "rxx"):
                getattr(circuit, gate)(x[q] * x[q + 1], *map(int, ends))
            else:
                getattr(circuit, gate)(*map(int, ends))
    return circuit


MAPS = {
    "zz": built_in_map("zz", 6, 2),
    "zz three times": built_in_map("zz", 6, 3),
    "zz-full": built_in_map("zz-full", 5, 2),
    "z": built_in_map("z", 5, 2),
    "mixed": brickwork(6, 2, ["cx", "cz", "rzz", "cp", "rxx", "swap"]),
    "cx and phases": brickwork(6, 3, ["cx", "cz"], seed=1),
    "diagonal": brickwork(6, 3, ["rzz", "cp", "cz"], seed=2),
}


@pytest.mark.parametrize("name", MAPS)
def test_reduced_states_are_those_of_the_full_state(name):
    circuit = MAPS[name]
    n_qubits = circuit.num_qubits
    X = np.random.default_rng(1).uniform(0, 3, size=(3, n_qubits))
    states = [Statevector(each) for each in bound(circuit, X)]
    edges = all_edges(n_qubits)
    cones = LightCones(circuit, X)
    expected = qiskit_expectations(states, n_qubits, edges)
    np.testing.assert_allclose(cones.expectations(edges), expected, rtol=0, atol=1e-10)
    single = LightCones(circuit, X).expectations(NONE)
    np.testing.assert_allclose(single, expected[:, : 3 * n_qubits], rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["zz", "mixed", "cx and phases", "diagonal"])
def test_depolarising_noise_is_that_of_the_full_density_matrix(name):
    """Also that of gates which commute out of a cone: their noise does not."""
    circuit = MAPS[name]
    n_qubits = circuit.num_qubits
    random = np.random.default_rng(2)
    X = random.uniform(0, 3, size=(1, n_qubits))
    pairs = random.uniform(0, 0.2, size=(n_qubits, n_qubits))
    rates = Rates(random.uniform(0, 0.1, n_qubits), pairs + pairs.T, np.zeros((n_qubits, 2)))
    state = DensityMatrix.from_label("0" * n_qubits)
    for step in bound(circuit, X)[0].decompose(["ZZFeatureMap", "PauliFeatureMap"]).data:
        qubits = [circuit.find_bit(q).index for q in step.qubits]
        rate = rates.one[qubits[0]] if len(qubits) == 1 else rates.two[tuple(qubits)]
        state = state.evolve(step.operation, qubits).evolve(depolarising(rate, len(qubits)), qubits)
    edges = line_edges(n_qubits)
    found = LightCones(circuit, X, rates).expectations(edges)
    expected = qiskit_expectations([state], n_qubits, edges)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    assert np.max(np.abs(LightCones(circuit, X).expectations(edges) - found)) > 0.05


def depolarising(rate, n_qubits):
    """By Kraus operators: all Pauli products."""
    names = ["".join(letters) for letters in itertools.product("IXYZ", repeat=n_qubits)]
    weights = np.full(len(names), rate / len(names)) + np.eye(len(names))[0] * (1 - rate)
    return Kraus([np.sqrt(w) * Pauli(p).to_matrix() for w, p in zip(weights, names, strict=True)])


def test_cones_of_the_zz_map_grow_by_two_qubits_a_repetition_whatever_the_order_of_gates():
    x = np.zeros((1, 40))
    chain = QuantumCircuit(40)
    angles = ParameterVector("x", 40)
    for _ in range(2):
        chain.h(range(40))
        for q in range(39):
            chain.cx(q, q + 1)
            chain.p(angles[q] * angles[q + 1], q + 1)
            chain.cx(q, q + 1)
    for circuit in (chain, built_in_map("zz", 40, 2)):
        assert LightCones(circuit, x).cone((20,))[0] == list(range(18, 23))
        assert len(LightCones(circuit, x).cone((20, 21))[0]) == 6
    deeper = LightCones(built_in_map("zz", 40, 3), x)
    assert len(deeper.cone((20,))[0]) == 7
    assert not any(operation.is_cx for operation in operations(chain)[0])


def test_cones_that_are_too_large_are_refused_with_their_size():
    x = np.zeros((1, 30))
    deep = LightCones(built_in_map("zz", 30, 8), x)
    with pytest.raises(InputError, match=r"qubit 8 depends on 17 qubits, at most 14 .*statevector"):
        deep.check((8,))
    deep.check((0,))  # near the edge it is small
    noisy = LightCones(built_in_map("zz", 30, 4), x, Rates.even(30, 0, 0.01))
    with pytest.raises(InputError, match="depends on 8 qubits, at most 7 are possible with noise"):
        noisy.expectations(NONE)


def test_points_in_chunks_are_the_points_at_once(monkeypatch):
    X = np.random.default_rng(0).uniform(0, 3, size=(7, 5))
    whole = LightCones(MAPS["zz-full"], X).expectations(line_edges(5))
    monkeypatch.setattr("aqka.backends._bulk.light_cones.CHUNK_AMPLITUDES", 2**6)
    parts = LightCones(MAPS["zz-full"], X).expectations(line_edges(5))
    np.testing.assert_allclose(parts, whole, rtol=0, atol=1e-12)
