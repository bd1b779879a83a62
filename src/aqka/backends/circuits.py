"""Circuits made from a feature map: for pairs, for points and for reference states."""

import uuid
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray, text_digest
from aqka._util.optional import require
from aqka.backends.feature_maps import built_in_map, check_feature_map
from aqka.core.settings import N_NEIGHBOUR_SETTINGS, neighbour_settings
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit
    from qiskit.circuit import CircuitInstruction

# Label of the barrier between the two halves of the fidelity test.
MIDDLE = "middle"
MAX_ANGLE = 1e15


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
    largest = np.abs(points).max()
    if largest > MAX_ANGLE:
        raise InputError(
            f"{name} holds an angle of {largest:.3g}; beyond {MAX_ANGLE:.0e} a float cannot tell "
            "where on the circle it lies. Scale the features first."
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


def fidelity_circuit(feature_map: "QuantumCircuit") -> "QuantumCircuit":
    """Return U(x) — barrier — U†(y), whose all-zero outcome has probability K(x, y) (Eq. 3).

    Its parameters are ``x[0..d-1], y[0..d-1]`` in this order, so a row of values is the data
    of the first point followed by that of the second. The barrier keeps a transpiler from
    cancelling gates across the middle: with noise that would be another kernel.
    """
    check_feature_map(feature_map)  # it must have an inverse
    circuit: QuantumCircuit = require("qiskit", "qiskit").QuantumCircuit(feature_map.num_qubits)
    circuit.compose(_with_parameters(feature_map, "x"), inplace=True)
    circuit.barrier(label=MIDDLE)
    circuit.compose(_with_parameters(feature_map, "y").inverse(), inplace=True)
    circuit.measure_all()
    return circuit


def _with_parameters(feature_map: "QuantumCircuit", name: str) -> "QuantumCircuit":
    """Return the map with parameters called name[0], name[1], …"""
    # By way of a name that no map has: one whose parameters are called x[0], x[1] would meet
    # ours of the same names half-way.
    for new in (uuid.uuid4().hex, name):
        vector = require("qiskit.circuit", "qiskit").ParameterVector(
            new, feature_map.num_parameters
        )
        renamed = dict(zip(feature_map.parameters, vector, strict=True))
        feature_map = feature_map.assign_parameters(renamed)
    return feature_map


def placed_steps(circuit: "QuantumCircuit") -> "list[tuple[tuple[int, ...], CircuitInstruction]]":
    """Return the instructions of a circuit, each with the numbers of its qubits before it."""
    return [(tuple(circuit.find_bit(q).index for q in step.qubits), step) for step in circuit.data]


def read_qubits(circuit: "QuantumCircuit") -> dict[int, int]:
    """Return the qubit that each classical bit is read from."""
    return {
        circuit.find_bit(step.clbits[0]).index: qubits[0]
        for qubits, step in placed_steps(circuit)
        if step.name == "measure"
    }


def lattice_of(feature_map: "QuantumCircuit | None") -> IntArray | None:
    """Return the pairs of qubits that gates act on, one a row; None: those of a line will do.

    So they will where gates act on neighbours of a line alone or on all pairs, and where nine
    settings would not measure every pair.
    """
    if feature_map is None:
        return None
    n_qubits = feature_map.num_qubits
    pairs = sorted(_coupled(feature_map, list(range(n_qubits))))
    if all(b - a == 1 for a, b in pairs) or 2 * len(pairs) == n_qubits * (n_qubits - 1):
        return None
    many = len(neighbour_settings(n_qubits, pairs)) > N_NEIGHBOUR_SETTINGS
    return None if many else np.array(pairs)


def _coupled(circuit: "QuantumCircuit", qubits: list[int]) -> set[tuple[int, int]]:
    """Return the pairs that gates act on, of a circuit whose k-th qubit is ``qubits[k]``."""
    found: set[tuple[int, int]] = set()
    for places, step in placed_steps(circuit):
        here = [qubits[place] for place in places]
        parts = getattr(step.operation, "definition", None) if len(here) > 2 else None
        if parts is not None:
            found |= _coupled(parts, here)
        elif step.name != "barrier":
            found |= set(combinations(sorted(here), 2))
    return found


def circuit_digest(circuit: "QuantumCircuit") -> str:
    """Return a short digest of a circuit's gates, the same in every process, on every machine.

    Not of its serialisation, in which every parameter has an identifier of its own.
    """
    gates = [
        f"{step.name}"
        f"{[str(np.round(p, 6) + 0.0 if isinstance(p, np.ndarray) else p) for p in params]}"
        f"{list(qubits)}"
        for qubits, step in placed_steps(circuit)
        for params in [step.operation.params]  # of the step itself they lack matrices
    ]
    return text_digest("\n".join(gates))


# Column 0 is the angle of RZ, column 1 that of RY behind it: Z is measured as it is, X after
# RY(-π/2), and Y becomes X by RZ(-π/2).
_ANGLES = np.array([[0.0, -np.pi / 2], [-np.pi / 2, -np.pi / 2], [0.0, 0.0]])


def setting_angles(letters: IntArray) -> FloatArray:
    """Return the angles of each row of letters: those of RZ of all qubits, then those of RY."""
    return np.concatenate([_ANGLES[letters, 0], _ANGLES[letters, 1]], axis=1)


def setting_letters(angles: FloatArray) -> IntArray:
    """Return the letters whose :func:`setting_angles` these are.

    >>> setting_letters(setting_angles(np.array([[0, 1, 2]])))
    array([[0, 1, 2]])
    """
    about_z, about_y = np.split(angles, 2, axis=1)
    return np.where(about_y == 0, 2, np.where(about_z == 0, 0, 1))


def point_circuit(feature_map: "QuantumCircuit") -> "QuantumCircuit":
    """Return U(x), a rotation of each qubit by two angles, and measurements of all qubits.

    Its parameters are ``x[0..d-1], z[0..n-1], y[0..n-1]``, so a row of values is the data of the
    point followed by :func:`setting_angles`: one circuit serves all points and settings. It has no
    barrier, since nothing can cancel across it.
    """
    circuit_module = require("qiskit.circuit", "qiskit")
    n_qubits = feature_map.num_qubits
    # Qiskit orders parameters by name, and angles must come behind the data.
    about_z = circuit_module.ParameterVector("z0", n_qubits)
    about_y = circuit_module.ParameterVector("z1", n_qubits)
    circuit: QuantumCircuit = circuit_module.QuantumCircuit(n_qubits)
    circuit.compose(_with_parameters(feature_map, "x"), inplace=True)
    for qubit in range(n_qubits):
        circuit.rz(about_z[qubit], qubit)
        circuit.ry(about_y[qubit], qubit)
    circuit.measure_all()
    return circuit


def reference_circuit(n_qubits: int) -> "QuantumCircuit":
    """Return a rotation of all qubits by one angle, 0 or π, and their measurements.

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
    there = read_qubits(other)
    moved = {
        transpiled.qubits[qubit]: (other.qubits[there[bit]], other.clbits[bit])
        for bit, qubit in read_qubits(transpiled).items()
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
