"""PennyLane functions: their operations and states, and functions made from Qiskit circuits."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import ComplexArray, FloatArray, IntArray
from aqka._util.optional import require
from aqka.backends._bulk.evolve import simulate
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

EXTRA = "pennylane"
BATCH_AMPLITUDES = 2**22  # of one batch, which bounds its memory to some 100 MB


class PointTapes:
    """The operations of one side, U(x) or U†(x), recorded once for each point.

    Where all points have the same operations and differ in parameters only, those of many
    points are bound to one operation (PennyLane's broadcasting), whether or not the feature
    map itself could take a batch.
    """

    def __init__(self, side: Callable[[FloatArray], object], points: FloatArray) -> None:
        record = require("pennylane.tape", EXTRA).make_qscript(side)
        tapes = [record(point) for point in points]
        for tape in tapes:
            midway = [op for op in tape.operations if type(op).__name__.startswith("MidM")]
            if tape.measurements or midway:
                raise InputError(
                    "feature_map must only apply gates, but it measures "
                    f"{[*tape.measurements, *midway][0]}; remove the measurement."
                )
        # Not every point need touch every wire.
        self.wires = list(dict.fromkeys(wire for tape in tapes for wire in tape.wires))
        if not self.wires:
            raise InputError(
                "feature_map applied no gates; pass a function f(x) that applies PennyLane's "
                "operations for one point, or a qiskit QuantumCircuit."
            )
        self.operations: list[list[Any]] = [tape.operations for tape in tapes]
        self._parameters = _stacked_parameters(self.operations)
        self.stacks = self._parameters is not None  # whether many points can share a tape

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


# Gates that Qiskit has, too; as PennyLane's they are unfolded no further.
_MORE = {"CRX": "crx", "CRY": "cry", "CRZ": "crz", "Toffoli": "ccx", "CSWAP": "cswap", "CY": "cy"}


def traced_circuit(
    function: Callable[..., Any], x: list[Any], theta: list[Any]
) -> "QuantumCircuit | None":
    """Return what a function does with Qiskit's parameters in place of numbers, as a circuit.

    None where the function needs numbers, or applies what has no such gates. PennyLane's first
    wire, the most significant bit, is the last qubit.
    """
    qiskit = require("qiskit", "qiskit")
    record = require("pennylane.tape", EXTRA).make_qscript(function)
    names = {theirs: ours for ours, theirs in GATES.items()} | _MORE
    try:
        tape = record(np.array(x, dtype=object), np.array(theta, dtype=object))
        wires = _in_order(tape.wires.tolist())
        circuit: QuantumCircuit = qiskit.QuantumCircuit(len(wires))
        waiting = list(reversed(tape.operations))
        while waiting:
            operation = waiting.pop()
            if operation.name not in names:
                waiting += reversed(operation.decomposition())
                continue
            places = [len(wires) - 1 - wires.index(wire) for wire in operation.wires]
            getattr(circuit, names[operation.name])(*operation.data, *places)
        point, at = np.full((1, len(x)), 0.7), np.linspace(0.3, 0.9, len(theta))
        values = dict(zip([*x, *theta], [*point[0], *at], strict=True))
        numbers = np.array([[values[p] for p in circuit.parameters]])
        expected = simulate_qfunc(lambda x: function(x, at), point)
        same = np.allclose(simulate(circuit, numbers), expected, rtol=0, atol=1e-9)
    except Exception:  # whatever somebody's function and its operations make of symbols
        return None
    return circuit if same else None  # a branch on the data would show


def _in_order(wires: list[Any]) -> list[Any]:
    return sorted(wires) if all(isinstance(wire, int) for wire in wires) else wires


def simulate_qfunc(function: Callable[[Any], Any], X: FloatArray) -> ComplexArray:
    """Return the state of every row of ``X``; the first wire is the most significant bit.

    Wires that are numbers are sorted, others keep their order of appearance.
    """
    qml = require("pennylane", EXTRA)
    if isinstance(function, qml.QNode):
        raise InputError(
            "feature_map must be a plain function that applies operations, got a QNode; "
            "pass its func without the measurement."
        )
    tapes = PointTapes(function, X)
    wires = _in_order(tapes.wires)
    size = max(1, BATCH_AMPLITUDES >> len(wires)) if tapes.stacks else 1
    parts = np.split(np.arange(len(X)), range(size, len(X), size))
    scripts = [qml.tape.QuantumScript(tapes.operations_of(p), [qml.state()]) for p in parts]
    device = qml.device("default.qubit", wires=wires)
    found = qml.execute(scripts, device, diff_method=None)
    shapes = [(len(part), 2 ** len(wires)) for part in parts]
    return np.concatenate([np.broadcast_to(*each) for each in zip(found, shapes, strict=True)])
