"""A Qiskit circuit as a PennyLane function of one point."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from aqka._util.arrays import FloatArray
from aqka._util.optional import require
from aqka.backends._qml.tapes import EXTRA

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

# Qiskit's gates by the name that PennyLane has for the same matrix.
GATES = {
    "h": "Hadamard",
    "x": "PauliX",
    "y": "PauliY",
    "z": "PauliZ",
    "s": "S",
    "t": "T",
    "sx": "SX",
    "rx": "RX",
    "ry": "RY",
    "rz": "RZ",
    "p": "PhaseShift",
    "cx": "CNOT",
    "cz": "CZ",
    "cp": "ControlledPhaseShift",
    "rzz": "IsingZZ",
    "rxx": "IsingXX",
    "ryy": "IsingYY",
    "swap": "SWAP",
}


def as_pennylane_function(circuit: "QuantumCircuit") -> Callable[[FloatArray], None]:
    """Return a function that applies a circuit's gates for one point, on wires 0 to n - 1.

    Feature k is the k-th of ``circuit.parameters``.
    """
    qml, qiskit = require("pennylane", EXTRA), require("qiskit", "qiskit")
    # Level 0: written in these gates, and nothing else changed.
    plain = qiskit.transpile(circuit, basis_gates=list(GATES), optimization_level=0)
    order = list(circuit.parameters)

    def apply(x: FloatArray) -> None:
        values = dict(zip(order, np.asarray(x, dtype=np.float64).tolist(), strict=True))
        bound = plain.assign_parameters(values, strict=False)
        for step in bound.data:
            if step.operation.name == "barrier":
                continue
            wires = [bound.find_bit(qubit).index for qubit in step.qubits]
            angles = [float(angle) for angle in step.operation.params]
            getattr(qml, GATES[step.operation.name])(*angles, wires=wires)

    return apply
