"""Fidelity tests as PennyLane tapes, many pairs in one where the feature map allows."""

from collections.abc import Callable
from typing import Any

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka._util.optional import require
from aqka.errors import InputError

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
        """Return the operations of these points, broadcast over them."""
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
