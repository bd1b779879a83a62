"""A device's noise on the few qubits a circuit uses, because a whole Heron's costs seconds.

Aer builds the noise of all 156 qubits and reads it anew in every run, 4 to 9 s each. Of the
qubits in use it takes milliseconds, and the outcomes have the same distribution.
"""

from inspect import isclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from aqka._util.optional import require

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

DENSITY_MATRIX_QUBITS = 10  # up to here the exact noisy state is faster than trajectories


def compact_circuit(circuit: "QuantumCircuit") -> tuple["QuantumCircuit", list[int]]:
    """Return the circuit on the qubits that it acts on, and which those are."""
    qiskit = require("qiskit", "qiskit")
    instructions = [
        (instruction, [circuit.find_bit(qubit).index for qubit in instruction.qubits])
        for instruction in circuit.data
    ]
    used = sorted({q for step, qubits in instructions if step.name != "barrier" for q in qubits})
    place = {qubit: k for k, qubit in enumerate(used)}
    small: QuantumCircuit = qiskit.QuantumCircuit(len(used))
    for register in circuit.cregs:
        small.add_register(register)
    for step, qubits in instructions:
        kept = [place[q] for q in qubits if q in place]
        if step.name == "barrier":
            small.barrier(kept)
        else:
            small.append(step.operation, kept, step.clbits)
    return small, used


def compact_simulator(backend: Any, used: list[int]) -> Any:
    """Return an Aer simulator with the backend's noise on ``used``, numbered from 0."""
    aer = require("qiskit_aer", "ibm")
    noise = require("qiskit_aer.noise", "ibm")
    transpiler = require("qiskit.transpiler", "qiskit")
    target = backend.target
    place = {qubit: k for k, qubit in enumerate(used)}
    properties = target.qubit_properties
    small = transpiler.Target(
        num_qubits=len(used),
        dt=target.dt,
        qubit_properties=[properties[q] for q in used] if properties else None,
    )
    for name in target.operation_names:
        operation = target.operation_from_name(name)
        kept = {
            tuple(place[q] for q in qubits): values
            for qubits, values in (target[name] or {}).items()
            if qubits is not None and all(q in place for q in qubits)
        }
        if kept and not isclass(operation):  # classes stand for control flow
            small.add_instruction(operation, kept, name=name)
    view = SimpleNamespace(
        version=2, operation_names=list(small.operation_names), target=small, dt=target.dt
    )
    exact = len(used) <= DENSITY_MATRIX_QUBITS
    return aer.AerSimulator(
        method="density_matrix" if exact else "automatic",
        noise_model=noise.NoiseModel.from_backend(view),
        runtime_parameter_bind_enable=True,  # a circuit a row would cost more than its simulation
        max_parallel_threads=1,  # Aer's threads wait by spinning, on a busy machine for long
    )
