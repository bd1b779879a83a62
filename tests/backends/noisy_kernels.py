"""Noisy kernels by Aer's density matrices, pair by pair, and noise to compare them on."""

import numpy as np
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector
from qiskit.circuit.library import XGate
from qiskit_aer import AerSimulator
from qiskit_aer.noise import (
    NoiseModel,
    ReadoutError,
    amplitude_damping_error,
    thermal_relaxation_error,
)
from scipy import stats

from aqka.core import ShotPlan


def points(count, features, seed=0):
    return np.random.default_rng(seed).uniform(0, 2 * np.pi, (count, features))


def by_aer(circuit, model, X):
    """The same transpiled circuit, pair by pair, on Aer: exact all-zero probabilities."""
    used = 1 + max(
        circuit.find_bit(q).index
        for i in circuit.data
        if i.operation.name != "barrier"
        for q in i.qubits
    )
    small, measured = QuantumCircuit(used), []
    for instruction in circuit.data:
        where = [circuit.find_bit(q).index for q in instruction.qubits]
        if instruction.operation.name == "measure":
            measured += where
        elif instruction.operation.name != "barrier":
            small.append(instruction.operation, where)
    small.save_density_matrix()
    bound = [small.assign_parameters(np.hstack([x, y])) for x in X for y in X]
    simulator = AerSimulator(method="density_matrix", noise_model=model, max_parallel_threads=1)
    result = simulator.run(bound, shots=1).result()
    kernel = np.empty(len(bound))
    for k in range(len(bound)):
        chances = np.real(np.diag(result.data(k)["density_matrix"].data)).reshape([2] * used)
        for qubit in range(used):
            reads_zero = np.ones(2)
            if qubit in measured:
                error = model._local_readout_errors.get((qubit,), model._default_readout_error)
                reads_zero = np.array([1, 0]) if error is None else error.probabilities[:, 0]
            # Qubit 0 is the last axis, so qubit after qubit takes the last one away.
            chances = chances @ reads_zero
        kernel[k] = chances
    return kernel.reshape(len(X), len(X))


def custom_noise():
    model = NoiseModel(basis_gates=["id", "rz", "sx", "x", "cx"])
    relax = thermal_relaxation_error(50e3, 40e3, 2000, excited_state_population=0.1)
    model.add_all_qubit_quantum_error(relax, ["sx", "x"])
    model.add_all_qubit_quantum_error(amplitude_damping_error(0.01), ["rz"])
    model.add_all_qubit_quantum_error(relax.tensor(relax), ["cx"])
    model.add_quantum_error(
        amplitude_damping_error(0.05).tensor(relax), ["cx"], [0, 1], warnings=False
    )
    model.add_quantum_error(amplitude_damping_error(0.03), ["sx"], [1], warnings=False)
    model.add_all_qubit_readout_error(ReadoutError([[0.97, 0.03], [0.08, 0.92]]))
    model.add_readout_error(ReadoutError([[0.9, 0.1], [0.2, 0.8]]), [1], warnings=False)
    return model


def assert_as_aer(backend, model, X):
    difference = np.abs(backend.kernel() - by_aer(backend.circuit, model, X)).max()
    assert difference < 1e-8  # Aer leaves out an error's terms that are rarer than 1e-10


def labelled_map():
    x = ParameterVector("a", 2)
    circuit = QuantumCircuit(2)
    circuit.ry(x[0], 0)
    circuit.append(XGate(label="slow"), [0])
    circuit.cx(0, 1)
    circuit.delay(2000, 1, unit="dt")
    circuit.id(0)
    circuit.ry(x[1], 1)
    return circuit


# The routes against each other. Each test has fixed seeds and would, over fresh seeds, raise a
# false alarm at this rate.
FALSE_ALARM = 1e-3


def assert_binomial(hits, shots, chance):
    """Chi-square over pairs, two-sided: means and variances must be the binomial's."""
    ratio = (hits - shots * chance) ** 2 / (shots * chance * (1 - chance))
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], len(hits))
    assert low < ratio.sum() < high


def all_pairs(count, shots):
    rows, cols = np.triu_indices(count)
    return ShotPlan(rows, cols, np.resize(shots, len(rows)))
