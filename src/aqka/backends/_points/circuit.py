"""The circuit that measures a point in any Pauli setting: U(x), then one rotation per qubit."""

import uuid
from typing import TYPE_CHECKING

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka._util.optional import require

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

# Column 0 is the angle of RZ, column 1 that of RY behind it: Z is measured as it is, X after
# RY(-π/2), and Y becomes X by RZ(-π/2).
_ANGLES = np.array([[0.0, -np.pi / 2], [-np.pi / 2, -np.pi / 2], [0.0, 0.0]])


def setting_angles(letters: IntArray) -> FloatArray:
    """Return the angles of each row of letters: those of RZ of all qubits, then those of RY.

    Examples
    --------
    >>> setting_angles(np.array([[2, 0]])).round(2) + 0.0
    array([[ 0.  ,  0.  ,  0.  , -1.57]])
    """
    return np.concatenate([_ANGLES[letters, 0], _ANGLES[letters, 1]], axis=1)


def point_circuit(feature_map: "QuantumCircuit") -> "QuantumCircuit":
    """Return U(x), a rotation of each qubit by two angles, and measurements of all qubits.

    Its parameters are ``x[0..d-1], z[0..n-1], y[0..n-1]``, so a row of values is the data of the
    point followed by :func:`setting_angles`: one circuit serves all points and settings. It has no
    barrier, since nothing can cancel across it.
    """
    circuit_module = require("qiskit.circuit", "qiskit")
    count, n_qubits = feature_map.num_parameters, feature_map.num_qubits
    x = circuit_module.ParameterVector("x", count)
    # Qiskit orders parameters by name, and angles must come behind the data.
    about_z = circuit_module.ParameterVector("z0", n_qubits)
    about_y = circuit_module.ParameterVector("z1", n_qubits)
    # By way of names that no map has; see fidelity_circuit.
    passing = circuit_module.ParameterVector(uuid.uuid4().hex, count)
    unnamed = feature_map.assign_parameters(dict(zip(feature_map.parameters, passing, strict=True)))
    circuit: QuantumCircuit = circuit_module.QuantumCircuit(n_qubits)
    circuit.compose(unnamed.assign_parameters(dict(zip(passing, x, strict=True))), inplace=True)
    for qubit in range(n_qubits):
        circuit.rz(about_z[qubit], qubit)
        circuit.ry(about_y[qubit], qubit)
    circuit.measure_all()
    return circuit
