"""Noise on the few qubits that a circuit uses, because a whole device's costs seconds.

Aer builds the noise of all 156 qubits of a Heron and reads it anew in every run, 4 to 9 s each.
Of the qubits in use it takes milliseconds, and the outcomes have the same distribution. Qubits
keep the device's numbers, so that the circuit stays as it was transpiled; Aer itself simulates
only those that the circuit touches.
"""

from copy import copy
from inspect import isclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from aqka._util.optional import require

if TYPE_CHECKING:
    from qiskit import QuantumCircuit
    from qiskit.transpiler import Target
    from qiskit_aer.noise import NoiseModel

DENSITY_MATRIX_QUBITS = 10  # up to here the exact noisy state is faster than trajectories


def used_qubits(circuit: "QuantumCircuit") -> list[int]:
    """Return the qubits that anything but a barrier touches, in ascending order."""
    return sorted(
        {
            circuit.find_bit(qubit).index
            for instruction in circuit.data
            if instruction.operation.name != "barrier"
            for qubit in instruction.qubits
        }
    )


def noise_on_circuit(noise: Any, circuit: "QuantumCircuit") -> "NoiseModel":
    """Return a noise model of the qubits that a circuit uses.

    Parameters
    ----------
    noise
        A ``NoiseModel``, an ``AerSimulator`` that carries one, or a device, whose noise Aer
        derives from its calibration.
    circuit
        The circuit as transpiled for it.
    """
    aer = require("qiskit_aer", "aer")
    noise_module = require("qiskit_aer.noise", "aer")
    used = set(used_qubits(circuit))
    if isinstance(noise, noise_module.NoiseModel):
        return _cut_model(noise, used)
    if isinstance(noise, aer.AerSimulator):
        # It carries its own model; reading its target as a device's would lose the noise.
        return _cut_model(noise.options.noise_model or noise_module.NoiseModel(), used)
    target = _cut_target(noise.target, used)
    # What Aer reads of a backend, and no more.
    device = SimpleNamespace(
        version=2, target=target, operation_names=list(target.operation_names), dt=target.dt
    )
    model: NoiseModel = noise_module.NoiseModel.from_backend(device)
    return model


def noisy_simulator(device: Any, circuit: "QuantumCircuit") -> Any:
    """Return an Aer simulator with a device's noise, made for runs of one circuit."""
    aer = require("qiskit_aer", "aer")
    exact = len(used_qubits(circuit)) <= DENSITY_MATRIX_QUBITS
    return aer.AerSimulator(
        method="density_matrix" if exact else "automatic",
        noise_model=noise_on_circuit(device, circuit),
        runtime_parameter_bind_enable=True,  # a circuit a row would cost more than its simulation
        max_parallel_threads=1,  # Aer's threads wait by spinning, on a busy machine for long
    )


def _cut_model(model: "NoiseModel", used: set[int]) -> "NoiseModel":
    """Return the model without the errors of other qubits."""
    part = copy(model)
    part._local_quantum_errors = {
        name: {where: error for where, error in errors.items() if used.issuperset(where)}
        for name, errors in model._local_quantum_errors.items()
    }
    part._local_readout_errors = {
        # One that is correlated with other qubits stays, to be seen and refused.
        where: error
        for where, error in model._local_readout_errors.items()
        if used.intersection(where)
    }
    return part


def _cut_target(target: "Target", used: set[int]) -> "Target":
    """Return a device's target without the instructions of other qubits."""
    transpiler = require("qiskit.transpiler", "qiskit")
    part: Target = transpiler.Target(
        num_qubits=target.num_qubits, dt=target.dt, qubit_properties=target.qubit_properties
    )
    for name in target.operation_names:
        operation = target.operation_from_name(name)
        kept = {
            qubits: properties
            for qubits, properties in (target[name] or {}).items()
            if qubits is not None and used.issuperset(qubits)
        }
        if kept and not isclass(operation):  # classes stand for control flow
            part.add_instruction(operation, kept, name=name)
    return part
