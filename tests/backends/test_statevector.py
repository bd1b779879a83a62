import importlib
import pickle
import sys
import warnings

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import Instruction, Parameter, ParameterVector
from qiskit.circuit.library import (
    HamiltonianGate,
    MCPhaseGate,
    MCXGate,
    PauliEvolutionGate,
    PermutationGate,
    UnitaryGate,
    get_standard_gate_name_mapping,
    standard_gates,
    zz_feature_map,
)
from qiskit.quantum_info import SparsePauliOp, Statevector, random_unitary

from aqka import InputError
from aqka.backends.circuits import zz_feature_map as our_zz_map
from aqka.backends.statevector import StatevectorBackend
from aqka.core import ShotPlan

NOT_UNITARY = {"measure", "reset", "delay"}
STANDARD = {
    name: gate for name, gate in get_standard_gate_name_mapping().items() if name not in NOT_UNITARY
}
UNNAMED = [standard_gates.C3XGate(), standard_gates.C4XGate()]


def every_gate():
    """The whole standard library as (class, number of parameters, number of qubits)."""
    gates = [(g.base_class, len(g.params), g.num_qubits) for g in STANDARD.values()]
    gates += [(type(g), 0, g.num_qubits) for g in UNNAMED]
    return gates


def random_expression(x, rng):
    a, b = (x[k] for k in rng.integers(len(x), size=2))
    choices = [
        lambda: a,
        lambda: 2 * (np.pi - a) * (np.pi - b),
        lambda: a * b / 3 - 0.7 * a + 1,
        lambda: (a + b) ** 2,
        lambda: (a * b).sin() + b.cos(),
        lambda: abs(a - b),
        lambda: a / (2 + b * b),
        lambda: (a * 0.3).exp() - (a.arctan() if hasattr(a, "arctan") else a),
        lambda: a.sign() * b,
        lambda: 0.37,
    ]
    return choices[rng.integers(len(choices))]()


def random_circuit(n_qubits, n_gates, rng, n_features=3):
    x = ParameterVector("x", n_features)
    circuit = QuantumCircuit(n_qubits, global_phase=x[0] * 0.2)
    for qubit in range(n_qubits):
        circuit.ry(x[qubit % n_features] + 0.1 * qubit, qubit)
    library = [gate for gate in every_gate() if gate[2] <= n_qubits]
    for _ in range(n_gates):
        kind, n_params, size = library[rng.integers(len(library))]
        gate = kind(*(random_expression(x, rng) for _ in range(n_params)))
        circuit.append(gate, rng.permutation(n_qubits)[:size].tolist())
    return circuit


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


@pytest.mark.parametrize("n_qubits", range(2, 11))
@pytest.mark.parametrize("seed", [1, 2])
def test_random_circuits_of_the_whole_gate_library(n_qubits, seed):
    rng = np.random.default_rng([n_qubits, seed])
    circuit = random_circuit(n_qubits, 60, rng)
    assert_agrees(circuit, rng.normal(size=(4, 3)))


@pytest.mark.parametrize("name", sorted(STANDARD))
def test_each_standard_gate(name):
    rng = np.random.default_rng(3)
    gate = STANDARD[name]
    x = ParameterVector("x", 5)
    circuit = QuantumCircuit(5)
    for qubit in range(5):
        circuit.h(qubit)
        circuit.rx(x[qubit], qubit)
    params = [x[0] * x[1] + k for k in range(len(gate.params))]
    circuit.append(gate.base_class(*params), [3, 0, 4, 1][: gate.num_qubits])
    for qubit in range(5):
        circuit.sx(qubit)
    assert_agrees(circuit, rng.normal(size=(3, 5)), atol=1e-12)


@pytest.mark.parametrize("annotated", [False, True])
@pytest.mark.parametrize("name", sorted(set(STANDARD) - {"global_phase", "c3sx", "rcccx"}))
def test_each_standard_gate_under_controls(name, annotated):
    """One positive and one negative control around every gate of up to three qubits."""
    rng = np.random.default_rng(4)
    x = ParameterVector("x", 4)
    base = STANDARD[name].base_class
    gate = base(*(x[k] - 0.2 * k for k in range(len(STANDARD[name].params))))
    circuit = QuantumCircuit(5)
    for qubit in range(5):
        circuit.u(x[0], 0.3, x[qubit % 4], qubit)
    controlled = gate.control(2, ctrl_state=1, annotated=annotated)
    circuit.append(controlled, [4, 2, 0, 1, 3][: controlled.num_qubits])
    circuit.h(range(5))
    assert_agrees(circuit, rng.normal(size=(3, 4)), atol=1e-12)


def test_large_and_composite_gates():
    rng = np.random.default_rng(5)
    x = ParameterVector("x", 3)
    inner = QuantumCircuit(2, global_phase=x[2])
    inner.ryy(x[0] * x[1], 0, 1)
    inner.h(0)
    circuit = QuantumCircuit(8)
    circuit.h(range(8))
    circuit.append(inner.to_gate(), [6, 2])
    circuit.append(inner.to_instruction(), [1, 0])
    circuit.barrier()
    circuit.append(MCXGate(7, ctrl_state=5), range(8))
    circuit.append(MCPhaseGate(x[1], 6), [3, 1, 0, 7, 6, 2, 5])
    circuit.append(MCXGate(6), [3, 1, 0, 7, 6, 2, 5])
    circuit.append(PermutationGate([2, 0, 1, 3]), [7, 5, 3, 1])
    circuit.append(UnitaryGate(random_unitary(64, seed=1)), [7, 0, 3, 1, 4, 2])
    circuit.append(UnitaryGate(random_unitary(8, seed=2)), [0, 1, 2])
    paulis = SparsePauliOp(["XXI", "IZY"], [1.0, 0.5])
    circuit.append(PauliEvolutionGate(paulis, time=x[2]), [4, 0, 2])
    circuit.append(PauliEvolutionGate(paulis, time=0.4), [1, 7, 2])
    circuit.delay(100, 0)
    X = rng.normal(size=(4, 3))
    # Qiskit's Statevector takes an evolution's exact exponential; a device runs its synthesis,
    # and so does the backend.
    expected = reference(circuit.decompose("PauliEvolution"), X)
    np.testing.assert_allclose(
        StatevectorBackend(X, circuit).states(), expected, rtol=0, atol=1e-10
    )


def test_global_phase_after_a_wide_fixed_block():
    x = Parameter("x")
    circuit = QuantumCircuit(6, global_phase=0.3)
    circuit.append(UnitaryGate(random_unitary(64, seed=3)), range(6))
    circuit.append(standard_gates.GlobalPhaseGate(0.4), [])
    circuit.rx(x, 5)
    circuit.append(standard_gates.GlobalPhaseGate(x), [])
    assert_agrees(circuit, np.array([[0.2], [1.3]]), atol=1e-12)


def test_zz_map_against_qiskit_and_rectangular_block():
    rng = np.random.default_rng(6)
    X, T = rng.normal(size=(20, 4)), rng.normal(size=(7, 4))
    circuit = zz_feature_map(4, reps=2, entanglement="linear")
    expected = np.abs(reference(circuit, T).conj() @ reference(circuit, X).T) ** 2
    backend = StatevectorBackend(T, columns=X)
    assert backend.shape == (7, 20)
    assert backend.states().shape == (7, 16)
    np.testing.assert_allclose(backend.kernel(), expected, rtol=0, atol=1e-12)
    assert_agrees(circuit, X, atol=1e-12)


def test_square_kernel_is_exactly_symmetric_within_bounds_over_many_tiles():
    X = np.random.default_rng(7).normal(size=(1100, 3))
    X[1] = X[0]
    kernel = StatevectorBackend(X).kernel()
    assert np.array_equal(kernel, kernel.T)
    assert np.all(kernel.diagonal() == 1.0)
    assert kernel.min() >= 0
    assert kernel.max() <= 1
    assert kernel[0, 1] == pytest.approx(1.0, abs=1e-12)
    some = X[[3, 700, 1099]]
    block = StatevectorBackend(some, columns=X).kernel()
    np.testing.assert_allclose(kernel[[3, 700, 1099]], block, rtol=0, atol=1e-12)


def test_many_chunks_of_points():
    X = np.random.default_rng(8).normal(size=(61, 11))  # 61 points, chunks of 32
    backend = StatevectorBackend(X)
    circuit = zz_feature_map(11, reps=2, entanglement="linear")
    picked = [0, 31, 32, 60]
    np.testing.assert_allclose(
        backend.states()[picked], reference(circuit, X[picked]), rtol=0, atol=1e-12
    )


def test_columns_follow_the_order_of_the_circuits_parameters():
    b, a = Parameter("b"), Parameter("a")
    circuit = QuantumCircuit(1)
    circuit.ry(b, 0)
    circuit.rz(a, 0)
    assert [p.name for p in circuit.parameters] == ["a", "b"]
    state = StatevectorBackend([[0.4, 0.9]], circuit).states()[0]
    np.testing.assert_allclose(np.abs(state), [np.cos(0.45), np.sin(0.45)])


def test_computed_once():
    backend = StatevectorBackend([[0.1, 0.2], [0.3, 0.4]])
    assert backend.kernel() is backend.kernel()
    assert np.shares_memory(backend.states(), backend.states())


def test_pickle_before_and_after_submission():
    backend = StatevectorBackend([[0.1, 0.2], [0.3, 0.4]], seed=5)
    ticket = backend.submit(ShotPlan([0], [1], [100]), "t")
    copy = pickle.loads(pickle.dumps(backend))
    assert copy.collect(ticket) == backend.collect(ticket)


# PennyLane ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def qml():
    return importlib.import_module("pennylane")


def make_zz(qml, n_qubits, convert=lambda value: value):
    def zz(x):
        values = [convert(x[k]) for k in range(n_qubits)]
        for _ in range(2):
            for k, value in enumerate(values):
                qml.Hadamard(k)
                qml.PhaseShift(2 * value, wires=k)
            for k in range(n_qubits - 1):
                qml.CNOT([k, k + 1])
                qml.PhaseShift(2 * (np.pi - values[k]) * (np.pi - values[k + 1]), wires=k + 1)
                qml.CNOT([k, k + 1])

    return zz


@pytest.mark.parametrize("convert", [lambda value: value, float])
@pytest.mark.parametrize("n_qubits", [2, 3])
def test_pennylane_zz_map_gives_the_same_kernel(qml, n_qubits, convert):
    X = np.random.default_rng(9).normal(size=(8, n_qubits))
    theirs = StatevectorBackend(X, make_zz(qml, n_qubits, convert))
    ours = StatevectorBackend(X)
    np.testing.assert_allclose(theirs.kernel(), ours.kernel(), rtol=0, atol=1e-10)
    # The first wire is the most significant bit there, the least significant one here.
    shape = (len(X), *(2,) * n_qubits)
    turned = theirs.states().reshape(shape).transpose(0, *range(n_qubits, 0, -1))
    np.testing.assert_allclose(turned.reshape(len(X), -1), ours.states(), rtol=0, atol=1e-10)


@pytest.mark.parametrize("n_points", [1, 2, 3, 6])
def test_pennylane_template(qml, n_points):
    X = np.random.default_rng(10).normal(size=(n_points, 3))
    kernel = StatevectorBackend(X, lambda x: qml.AngleEmbedding(x, wires=range(3))).kernel()
    expected = np.prod(np.cos((X[:, None] - X[None]) / 2) ** 2, axis=2)
    np.testing.assert_allclose(kernel, expected, rtol=0, atol=1e-12)


def test_pennylane_function_that_mixes_up_many_points(qml):
    """It accepts an array of points without complaint, but means something else by it."""

    def feature_map(x):
        qml.RY(np.sum(x) + 0 * np.ravel(x)[0], wires="a")
        qml.RX(np.max(x), wires="b")

    X = np.random.default_rng(11).normal(size=(6, 2))
    kernel = StatevectorBackend(X, feature_map).kernel()
    angles = np.stack([X.sum(axis=1), X.max(axis=1)], axis=1)
    expected = np.prod(np.cos((angles[:, None] - angles[None]) / 2) ** 2, axis=2)
    np.testing.assert_allclose(kernel, expected, rtol=0, atol=1e-12)


def test_pennylane_bad_functions(qml):
    X = [[0.1, 0.2], [0.3, 0.4]]

    def measures(x):
        qml.RX(x[0], wires=0)
        return qml.expval(qml.PauliZ(0))

    def measures_midway(x):
        qml.RX(x[0], wires=0)
        qml.measure(0)

    def wanders(x):
        qml.RX(x[0], wires=0)
        qml.RX(float(x[1]), wires="first" if x[0] < 0.2 else "second")

    node = qml.QNode(measures, qml.device("default.qubit", wires=1))
    for function, message in [
        (measures, "measures"),
        (measures_midway, "measures"),
        (wanders, "same wires"),
        (node, "QNode"),
        (lambda x: None, "no PennyLane operations"),
    ]:
        with pytest.raises(InputError, match=message):
            StatevectorBackend(X, function).kernel()


# Bad input ----------------------------------------------------------------------------------


def test_circuits_that_are_refused():
    X = [[0.1, 0.2], [0.3, 0.4]]
    x = ParameterVector("x", 3)
    plain = QuantumCircuit(2)
    plain.h(0)
    measured = zz_feature_map(2)
    measured.measure_all()
    three = QuantumCircuit(2)
    for angle in x:
        three.rx(angle, 0)
    for circuit, message in [
        (plain, "no parameters"),
        (measured, "remove_final_measurements"),
        (three, "3 parameters but the data have 2 features"),
        ("zz", "QuantumCircuit"),
    ]:
        with pytest.raises(InputError, match=message):
            StatevectorBackend(X, circuit)


def test_data_that_are_refused():
    with pytest.raises(InputError, match="NaN or infinite values in 1 rows"):
        StatevectorBackend([[0.1, np.nan], [0.3, 0.4]])
    with pytest.raises(InputError, match="columns holds NaN"):
        StatevectorBackend([[0.1, 0.2]], columns=[[np.inf, 0.2]])
    with pytest.raises(InputError, match="as many features as X, 2, got 1"):
        StatevectorBackend([[0.1, 0.2]], columns=[[0.1]])
    with pytest.raises(InputError, match="two-dimensional"):
        StatevectorBackend([0.1, 0.2])
    with pytest.raises(InputError, match="seed"):
        StatevectorBackend([[0.1, 0.2]], seed=-1)


@pytest.mark.parametrize("angle", [lambda a: 1 / a, lambda a: a.log()])
def test_angles_without_a_value(angle):
    x = Parameter("x")
    circuit = QuantumCircuit(1)
    circuit.rx(angle(x), 0)
    with pytest.raises(InputError, match="angle"):
        StatevectorBackend([[0.5], [0.0]], circuit).kernel()


@pytest.mark.parametrize(
    ("operation", "name"),
    [
        (lambda x: Instruction("mystery", 1, 0, []), "mystery"),
        (lambda x: HamiltonianGate(np.array([[0, 1], [1, 0]]), x), "hamiltonian"),
    ],
)
def test_operation_that_cannot_be_unfolded(operation, name):
    x = Parameter("x")
    circuit = QuantumCircuit(1)
    circuit.rx(x, 0)
    circuit.append(operation(x), [0])
    with pytest.raises(InputError, match=name):
        StatevectorBackend([[0.5], [0.0]], circuit).kernel()


@pytest.mark.parametrize("extra", ["qiskit", "pennylane"])
def test_missing_extra_names_the_remedy(monkeypatch, extra):
    from aqka._util import optional

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(optional, "import_module", missing)
    feature_map = None if extra == "qiskit" else (lambda x: None)
    with pytest.raises(InputError, match=rf"pip install 'aqka\[{extra}\]'"):
        StatevectorBackend([[0.1] * 11], feature_map).kernel()


def test_the_zz_map_needs_no_quantum_sdk_and_is_the_circuits(monkeypatch):
    points = np.random.default_rng(0).uniform(0, 2 * np.pi, (6, 3))
    by_circuit = StatevectorBackend(points, our_zz_map(3)).kernel()
    monkeypatch.setitem(sys.modules, "qiskit", None)
    np.testing.assert_allclose(StatevectorBackend(points).kernel(), by_circuit, atol=1e-12)
