"""Feature maps as Qiskit circuits: checks, the default map, and the fidelity test U(x)U†(y)."""

import uuid
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, text_digest
from aqka._util.optional import require
from aqka.backends.built_in_maps import built_in_map
from aqka.backends.map_checks import check_feature_map
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

# Label of the barrier between the two halves of the fidelity test.
MIDDLE = "middle"


def as_data(X: ArrayLike, name: str = "X") -> FloatArray:
    """Return data points as a finite float array, one row per point."""
    points = np.asarray(X)
    if points.ndim != 2 or points.size == 0:
        raise InputError(
            f"{name} must be two-dimensional, one row per point, got shape {points.shape}."
        )
    if points.dtype.kind not in "buif":
        raise InputError(f"{name} must hold real numbers, got dtype {points.dtype}.")
    points = points.astype(np.float64)
    bad = int(np.sum(~np.isfinite(points).all(axis=1)))
    if bad:
        raise InputError(
            f"{name} holds NaN or infinite values in {bad} rows; drop or impute them first."
        )
    return points


def as_rows_and_columns(X: ArrayLike, columns: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    """Return the points of a kernel's rows and columns; without ``columns`` both are ``X``."""
    rows = as_data(X)
    others = rows if columns is None else as_data(columns, "columns")
    if others.shape[1] != rows.shape[1]:
        raise InputError(
            f"columns must have as many features as X, {rows.shape[1]}, got {others.shape[1]}."
        )
    return rows, others


def zz_feature_map(n_qubits: int) -> "QuantumCircuit":
    """Return the paper's map: ZZ, two repetitions, linear entanglement, one qubit a feature."""
    return built_in_map("zz", n_qubits)


def as_feature_map(
    feature_map: "QuantumCircuit | str | None", n_features: int, *, backwards: bool = True
) -> "QuantumCircuit":
    """Return a circuit that encodes points of that many features; None is the ZZ map.

    Column k of the data goes to the k-th of ``circuit.parameters``, Qiskit's own order.
    """
    qiskit = require("qiskit", "qiskit")
    if feature_map is None or isinstance(feature_map, str):
        return built_in_map(feature_map or "zz", n_features)
    if not isinstance(feature_map, qiskit.QuantumCircuit):
        also = ""
        if callable(feature_map):
            also = " A PennyLane function is for StatevectorBackend and PennylaneBackend."
        raise InputError(
            "feature_map must be a qiskit QuantumCircuit or the name of a built-in map, such as "
            f"'zz', got {type(feature_map).__name__}.{also}"
        )
    check_feature_map(feature_map, backwards=backwards)
    if feature_map.num_parameters != n_features:
        raise InputError(
            f"feature_map has {feature_map.num_parameters} parameters but the data have "
            f"{n_features} features; they must agree."
        )
    return feature_map


def fidelity_circuit(feature_map: "QuantumCircuit", *, measure: bool = True) -> "QuantumCircuit":
    """Return U(x) — barrier — U†(y), whose all-zero outcome has probability K(x, y) (Eq. 3).

    Its parameters are ``x[0..d-1], y[0..d-1]`` in this order, so a row of values is the data
    of the first point followed by that of the second. The barrier keeps a transpiler from
    cancelling gates across the middle: with noise that would be another kernel.
    """
    circuit_module = require("qiskit.circuit", "qiskit")
    count = feature_map.num_parameters
    x = circuit_module.ParameterVector("x", count)
    y = circuit_module.ParameterVector("y", count)
    # By way of names that no map has: one whose parameters are called x[0], x[1] would meet
    # ours of the same names half-way.
    passing = circuit_module.ParameterVector(uuid.uuid4().hex, count)
    unnamed = feature_map.assign_parameters(dict(zip(feature_map.parameters, passing, strict=True)))
    circuit: QuantumCircuit = circuit_module.QuantumCircuit(feature_map.num_qubits)
    circuit.compose(unnamed.assign_parameters(dict(zip(passing, x, strict=True))), inplace=True)
    circuit.barrier(label=MIDDLE)
    circuit.compose(
        unnamed.assign_parameters(dict(zip(passing, y, strict=True))).inverse(), inplace=True
    )
    if measure:
        circuit.measure_all()
    return circuit


def circuit_digest(circuit: "QuantumCircuit") -> str:
    """Return a short digest of a circuit's gates, the same in every process.

    Not of its serialisation, in which every parameter has an identifier of its own.
    """
    gates = [
        f"{step.operation.name}{[str(p) for p in step.operation.params]}"
        f"{[circuit.find_bit(q).index for q in step.qubits]}"
        for step in circuit.data
    ]
    return text_digest("\n".join(gates))
