"""PennyLane functions: their operations and states, and functions made from Qiskit circuits."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka._util.optional import require
from aqka.backends._bulk.gates import ComplexArray
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

EXTRA = "pennylane"


class PointTapes:
    """The operations of one side, U(x) or U†(x), recorded once for each point.

    Where all points have the same operations and differ in parameters only, those of many
    points are bound to one operation (PennyLane's broadcasting), whether or not the feature
    map itself could take a batch.
    """

    def __init__(self, side: Callable[[FloatArray], object], points: FloatArray) -> None:
        tape_module = require("pennylane.tape", EXTRA)
        record = tape_module.make_qscript(side)
        tapes = [record(point) for point in points]
        for tape in tapes:
            if tape.measurements:
                raise InputError(
                    "feature_map must only apply gates, but it measures "
                    f"{tape.measurements[0]}; remove the measurement."
                )
        # Not every point need touch every wire.
        self.wires = list(dict.fromkeys(wire for tape in tapes for wire in tape.wires))
        self.operations: list[list[Any]] = [tape.operations for tape in tapes]
        self._parameters = _stacked_parameters(self.operations)

    @property
    def stacks(self) -> bool:
        """Whether many points can share a tape."""
        return self._parameters is not None

    def operations_of(self, points: IntArray) -> list[Any]:
        """Return the operations of these points, broadcast over them where they are several."""
        if len(points) == 1:
            return self.operations[points[0]]
        functions = require("pennylane.ops.functions", EXTRA)
        assert self._parameters is not None
        return [
            functions.bind_new_parameters(operation, [values[points] for values in parameters])
            if parameters
            else operation
            for operation, parameters in zip(self.operations[0], self._parameters, strict=True)
        ]


def _stacked_parameters(operations: list[list[Any]]) -> list[list[FloatArray]] | None:
    """Return each operation's parameters over all points, or None where points differ in more."""
    first = operations[0]
    for other in operations[1:]:
        if len(other) != len(first) or not all(map(_same_but_data, first, other)):
            return None
    columns = zip(*operations, strict=True)
    stacked = [
        [np.array([op.data[m] for op in column]) for m in range(len(column[0].data))]
        for column in columns
    ]
    broadcasts = all(
        getattr(op, "ndim_params", None) == tuple(values.ndim - 1 for values in parameters)
        for op, parameters in zip(first, stacked, strict=True)
        if parameters
    )
    return stacked if broadcasts else None


def _same_but_data(first: Any, other: Any) -> bool:
    """Return whether two operations are one but for their parameters."""
    if first is other:
        return True
    if type(first) is not type(other) or first.wires != other.wires:
        return False
    if [np.shape(value) for value in first.data] != [np.shape(value) for value in other.data]:
        return False
    if not first.hyperparameters and not other.hyperparameters:
        return True
    qml = require("pennylane", EXTRA)
    functions = require("pennylane.ops.functions", EXTRA)
    return bool(qml.equal(functions.bind_new_parameters(other, first.data), first))


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


# Amplitudes handed to the device at a time: 64 MiB, so memory stays bounded for many points.
BATCH_AMPLITUDES = 2**22

Function = Callable[[Any], Any]


def simulate_qfunc(function: Function, X: FloatArray) -> ComplexArray:
    """Return the state of every row of ``X``; the first wire is the most significant bit.

    Most functions also accept many points at once, as ``x[k]`` holding all values of feature k
    or as rows of a template's features. Whether one does is found out on a few points, by
    comparison with one point at a time; if not, the points are run one by one.
    """
    simulator = _Simulator(function, X[0])
    layout = _batch_layout(simulator, X)
    if layout is None:
        return np.concatenate([simulator(point) for point in X])
    size = max(1, BATCH_AMPLITUDES >> simulator.n_wires)
    parts = [
        simulator(layout(X[k : k + size]), len(X[k : k + size])) for k in range(0, len(X), size)
    ]
    return np.concatenate(parts)


def _batch_layout(simulator: "_Simulator", X: FloatArray) -> Function | None:
    """Return how to pass many points at once, or None if the function does not take them."""
    # As many probes as features would let the two layouts be mistaken for each other.
    count = 3 if X.shape[1] == 2 else 2
    distance = np.linalg.norm(X - X[0], axis=1)
    order = np.argsort(distance)
    probes = X[[0, *order[::-1][: count - 1]]]
    if len(probes) < count or not distance.any():
        return None
    alone = np.concatenate([simulator(point) for point in probes])
    for layout in (_by_feature, _by_point):
        try:
            together = simulator(layout(probes), count)
        # A user's function may fail in any way on an array it was not written for.
        except Exception:
            continue
        if np.abs(together - alone).max() < 1e-12:
            return layout
    return None


def _by_feature(points: FloatArray) -> FloatArray:
    return np.ascontiguousarray(points.T)


def _by_point(points: FloatArray) -> FloatArray:
    return points


class _Simulator:
    """Runs a function on default.qubit, on the wires that it uses for a first point."""

    def __init__(self, function: Function, point: FloatArray) -> None:
        self._qml = require("pennylane", "pennylane")
        self._function = function
        if isinstance(function, self._qml.QNode):
            raise InputError(
                "feature_map must be a plain function that applies operations, got a QNode; "
                "pass its func without the measurement."
            )
        self._wires: list[Any] = []
        wires = self._tape(point).wires.tolist()
        if not wires:
            raise InputError(
                "feature_map applies no PennyLane operations; pass a function f(x) that applies "
                "operations for one point, or a qiskit QuantumCircuit."
            )
        self._wires = sorted(wires) if all(isinstance(wire, int) for wire in wires) else wires
        self._device = self._qml.device("default.qubit", wires=self._wires)

    @property
    def n_wires(self) -> int:
        """Number of wires of the function."""
        return len(self._wires)

    def __call__(self, argument: FloatArray, points: int = 1) -> ComplexArray:
        """Return the states for one point, or for several in a layout the function takes."""
        tape = self._tape(argument)
        strange = [wire for wire in tape.wires.tolist() if wire not in self._wires]
        if strange:
            raise InputError(
                f"feature_map uses the wires {self._wires} for the first point and also "
                f"{strange} for another; apply operations on the same wires for every point."
            )
        script = self._qml.tape.QuantumScript(tape.operations, [self._qml.state()])
        (result,) = self._qml.execute([script], self._device, diff_method=None)
        states = np.asarray(result, dtype=np.complex128)
        return np.broadcast_to(states, (points, 2**self.n_wires))

    def _tape(self, argument: FloatArray) -> Any:
        tape = self._qml.tape.make_qscript(self._function)(argument)
        midway = any(type(operation).__name__.startswith("MidM") for operation in tape.operations)
        if tape.measurements or midway:
            raise InputError(
                "feature_map must only apply operations, but it also measures; "
                "return nothing from it."
            )
        return tape
