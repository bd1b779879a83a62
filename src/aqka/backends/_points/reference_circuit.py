"""The circuit of reference states: all qubits in 0 or all in 1, read where points are read."""

from typing import TYPE_CHECKING

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka._util.optional import require

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


def reference_angles(references: IntArray) -> FloatArray:
    """Return the value of the circuit's parameter for each reference state, a row each.

    Examples
    --------
    >>> reference_angles(np.array([0, 1])).round(2)
    array([[0.  ],
           [3.14]])
    """
    return np.pi * references[:, None].astype(np.float64)


def reference_circuit(n_qubits: int) -> "QuantumCircuit":
    """Return a rotation of all qubits by one angle, and their measurements.

    The angle is a parameter: one circuit serves both states, and no transpiler can leave the
    rotation out.
    """
    circuit_module = require("qiskit.circuit", "qiskit")
    angle = circuit_module.Parameter("angle")
    circuit: QuantumCircuit = circuit_module.QuantumCircuit(n_qubits)
    for qubit in range(n_qubits):
        circuit.rx(angle, qubit)
    circuit.measure_all()
    return circuit


def placed_like(transpiled: "QuantumCircuit", other: "QuantumCircuit") -> "QuantumCircuit":
    """Return a circuit without gates between qubits, moved so that it reads the qubits of another.

    Bit k is then read from the qubit that the other circuit reads bit k from, wherever routing
    ended: nothing is transpiled again, gate by gate it does there what it did before.
    """
    there = {bit: other.qubits[qubit] for qubit, bit in _read_bits(other)}
    moved = {
        transpiled.qubits[qubit]: (there[bit], other.clbits[bit])
        for qubit, bit in _read_bits(transpiled)
    }
    placed: QuantumCircuit = other.copy_empty_like()
    placed.global_phase = 0
    for step in transpiled.data:
        places = [moved[qubit] for qubit in step.qubits if qubit in moved]
        if len(places) < len(step.qubits):
            continue  # on a qubit that is not read, such as a delay of an idle one
        bits = [bit for _, bit in places] if step.name == "measure" else []
        placed.append(step.operation, [qubit for qubit, _ in places], bits)
    return placed


def _read_bits(circuit: "QuantumCircuit") -> list[tuple[int, int]]:
    """Return the qubit and the bit of each measurement."""
    return [
        (circuit.find_bit(step.qubits[0]).index, circuit.find_bit(step.clbits[0]).index)
        for step in circuit.data
        if step.name == "measure"
    ]
