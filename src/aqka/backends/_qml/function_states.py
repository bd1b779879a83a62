"""The states that a PennyLane feature-map function prepares, for all data points."""

from collections.abc import Callable
from typing import Any

import numpy as np

from aqka._util.arrays import FloatArray
from aqka._util.optional import require
from aqka.backends._bulk.gates import ComplexArray
from aqka.errors import InputError

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
