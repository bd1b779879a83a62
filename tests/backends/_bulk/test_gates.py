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
from qiskit.quantum_info import SparsePauliOp, random_unitary

from aqka import InputError
from aqka.backends.statevector import StatevectorBackend
from tests.backends.reference_states import assert_agrees, reference

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


@pytest.mark.parametrize("angle", [lambda a: 1 / a, lambda a: a.log()])
def test_angles_without_a_value(angle):
    x = Parameter("x")
    circuit = QuantumCircuit(1)
    circuit.rx(angle(x), 0)
    with pytest.raises(InputError, match="angle"):
        StatevectorBackend([[0.5], [0.0]], circuit).kernel()


def test_columns_follow_the_order_of_the_circuits_parameters():
    b, a = Parameter("b"), Parameter("a")
    circuit = QuantumCircuit(1)
    circuit.ry(b, 0)
    circuit.rz(a, 0)
    assert [p.name for p in circuit.parameters] == ["a", "b"]
    state = StatevectorBackend([[0.4, 0.9]], circuit).states()[0]
    np.testing.assert_allclose(np.abs(state), [np.cos(0.45), np.sin(0.45)])


def test_many_chunks_of_points():
    X = np.random.default_rng(8).normal(size=(61, 11))  # 61 points, chunks of 32
    backend = StatevectorBackend(X)
    circuit = zz_feature_map(11, reps=2, entanglement="linear")
    picked = [0, 31, 32, 60]
    np.testing.assert_allclose(
        backend.states()[picked], reference(circuit, X[picked]), rtol=0, atol=1e-12
    )
