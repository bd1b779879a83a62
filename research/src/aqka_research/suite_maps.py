"""The kernels of the task suite: five feature maps as Qiskit circuits, and two classical ones."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.distance import cdist

from aqka._util.arrays import FloatArray
from aqka._util.optional import require
from aqka.backends.feature_maps import built_in_map

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

FIXED_ANGLES = 0  # the seed of the hardware-efficient map's own rotations


def _blank(n_qubits: int) -> tuple["QuantumCircuit", Any]:
    """Return an empty circuit and one parameter a qubit."""
    circuit = require("qiskit.circuit", "qiskit")
    return circuit.QuantumCircuit(n_qubits), circuit.ParameterVector("x", n_qubits)


def iqp_map(n_qubits: int) -> "QuantumCircuit":
    """Return H, then phases x_i and x_i x_j on all pairs, twice (Havlíček et al. 2019, no π)."""
    circuit, x = _blank(n_qubits)
    for _ in range(2):
        circuit.h(range(n_qubits))
        for i in range(n_qubits):
            circuit.rz(x[i], i)
        for i in range(n_qubits):
            for j in range(i + 1, n_qubits):
                circuit.rzz(x[i] * x[j], i, j)
    return circuit


def angle_map(n_qubits: int) -> "QuantumCircuit":
    """Return RY(x), a chain of CZ, and RY(x) again."""
    circuit, x = _blank(n_qubits)
    for layer in range(2):
        for i in range(n_qubits):
            circuit.ry(x[i], i)
        if layer == 0:
            for i in range(n_qubits - 1):
                circuit.cz(i, i + 1)
    return circuit


def pauli_z_map(n_qubits: int) -> "QuantumCircuit":
    """Return H and the phases 2x_i, twice: no entanglement, a product of one-qubit kernels."""
    library = require("qiskit.circuit.library", "qiskit")
    circuit: QuantumCircuit = library.z_feature_map(n_qubits, reps=2)
    return circuit


def hardware_efficient_map(n_qubits: int) -> "QuantumCircuit":
    """Return three layers of RY(x), RZ by fixed random angles, and a chain of CX."""
    circuit, x = _blank(n_qubits)
    angles = np.random.default_rng(FIXED_ANGLES).uniform(0, 2 * np.pi, size=(3, n_qubits))
    for layer in angles:
        for i in range(n_qubits):
            circuit.ry(x[i], i)
            circuit.rz(float(layer[i]), i)
        for i in range(n_qubits - 1):
            circuit.cx(i, i + 1)
    return circuit


def rbf(X: FloatArray) -> FloatArray:
    """Return the RBF kernel of standardised features with γ = 1 / their number."""
    return np.asarray(np.exp(-cdist(X, X, "sqeuclidean") / X.shape[1]))


def low_rank(X: FloatArray) -> FloatArray:
    """Return the squared cosine of the points (1, x): d features give rank (d + 1)(d + 2) / 2."""
    points = np.hstack([X, np.ones((len(X), 1))])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    kernel = np.clip((points @ points.T) ** 2, 0.0, 1.0)
    np.fill_diagonal(kernel, 1.0)
    return np.asarray(kernel)


CIRCUITS: dict[str, Callable[[int], "QuantumCircuit"]] = {
    "ZZ": partial(built_in_map, "zz"),
    "IQP": iqp_map,
    "RY-CZ": angle_map,
    "Pauli-Z": pauli_z_map,
    "hardware-efficient": hardware_efficient_map,
}
"""Feature maps by name: from a number of qubits, one a feature, to a circuit."""

CLASSICAL: dict[str, Callable[[FloatArray], FloatArray]] = {"RBF": rbf, "low rank": low_rank}
"""Kernels that no circuit has: from standardised points to the kernel of all pairs."""
