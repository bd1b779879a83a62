"""Shots by any PennyLane device."""

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from aqka._util.arrays import FloatArray, IntArray, digest, text_digest
from aqka._util.optional import require
from aqka.backends._programs import FeatureMapBackend
from aqka.backends._qml import BATCH_AMPLITUDES, EXTRA, PointTapes, as_pennylane_function
from aqka.backends.base import check_design
from aqka.backends.circuits import (
    as_feature_map,
    as_rows_and_columns,
    circuit_digest,
    setting_angles,
)
from aqka.backends.simulated import SEED_LIMIT, SimulatedBackend
from aqka.core.calibration import CalibrationPlan
from aqka.core.outcomes import OutcomeCounts
from aqka.core.plans import Plan, ShotPlan
from aqka.core.point_plans import OutcomePlan, PointPlan
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

# Devices that run in this process; any other may cost money.
SIMULATORS = ("default.", "lightning.", "null.", "reference.", "braket.local.")
NUMBER = re.compile(r"-?\d+\.\d*(?:e[-+]?\d+)?")


class PennylaneBackend(FeatureMapBackend, SimulatedBackend):
    """Runs the fidelity test on a PennyLane device, batched.

    Each pair runs exactly its shots. Pairs of equal shots share a tape; one call runs all tapes.

    Parameters
    ----------
    X : array-like
        Points of the rows, one per row of the array.
    feature_map : callable or QuantumCircuit
        A function that applies the gates of one point, for example
        ``lambda x: qml.AngleEmbedding(x, wires=range(2))``; or a parametrised Qiskit circuit.
    device : str or callable, default="lightning.qubit"
        A device's name, or a function that makes a device from a seed.
    columns : array-like, default=None
        Points of the columns, for a test-by-train block; None takes those of X.
    noise : pennylane.NoiseModel, default=None
        A ``pennylane.NoiseModel`` that is put into every circuit; needs a device with mixed
        states, such as ``default.mixed``.
    seed : int, default=0
        The hits depend on it, on the tag and on the plan, if the device takes a seed.
    design : {"pairs", "points"}, default="pairs"
        What will be measured. For points the feature map is never run backwards.

    Notes
    -----
    The device runs when the hits are collected.

    Examples
    --------
    >>> import pennylane as qml
    >>> from aqka.core import ShotPlan
    >>> def angles(x):
    ...     qml.AngleEmbedding(x, wires=range(2))
    >>> backend = PennylaneBackend([[0.1, 0.2], [0.4, 0.3]], angles, "default.qubit")
    >>> ticket = backend.submit(ShotPlan([0, 1], [1, 1], [100, 50]), tag="first")
    >>> hits = backend.collect(ticket)
    >>> bool(80 < hits[0] <= 100), int(hits[1])
    (True, 50)
    """

    def __init__(
        self,
        X: ArrayLike,
        feature_map: "Callable[[FloatArray], object] | QuantumCircuit",
        device: str | Callable[[int], Any] = "lightning.qubit",
        *,
        columns: ArrayLike | None = None,
        noise: Any = None,
        seed: int = 0,
        design: str = "pairs",
    ) -> None:
        qml = require("pennylane", EXTRA)
        super().__init__(seed)
        self._rows, self._columns = as_rows_and_columns(X, columns)
        self._circuit = ""
        if hasattr(feature_map, "parameters") and hasattr(feature_map, "num_qubits"):
            circuit = as_feature_map(feature_map, self._rows.shape[1])
            self._circuit, feature_map = circuit_digest(circuit), as_pennylane_function(circuit)
        if not callable(feature_map):
            raise InputError(
                "feature_map must be a function of one point that applies PennyLane gates, or a "
                f"Qiskit circuit; got {type(feature_map).__name__}."
            )
        if noise is not None and not isinstance(noise, qml.NoiseModel):
            raise InputError(
                f"noise must be a pennylane.NoiseModel, got {type(noise).__name__}; "
                "build one with pennylane.NoiseModel({condition: channel})."
            )
        self._feature_map, self._device, self._noise = feature_map, device, noise
        self._design = check_design(design)
        self._make_device(seed=1)  # so that a wrong name shows now

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the recorded operations, which are recorded again."""
        recorded = ("_forward", "_backward")
        return {name: value for name, value in self.__dict__.items() if name not in recorded}

    @property
    def is_paid(self) -> bool:
        """Whether the device may be other than one of the simulators that are known."""
        device = self._device
        if not isinstance(device, str):
            made = self._make_device(seed=1)
            device = str(getattr(made, "short_name", None) or made.name)
        return not device.startswith(SIMULATORS)

    def _identity(self) -> list[str]:
        # What a function records, without the last digits, which differ between processors.
        recorded = "".join(str(side.operations) for side in self._sides)
        recorded = NUMBER.sub(lambda found: f"{round(float(found[0]), 6) + 0.0}", recorded)
        device = self._device if isinstance(self._device, str) else self._device.__qualname__
        return [
            f"X={digest(self._rows)}",
            f"columns={digest(self._columns)}",
            f"operations={self._circuit or text_digest(recorded)}",
            f"device={device}",
            f"noise={self._noise}",
        ]

    def _draw(self, plan: ShotPlan, rng: Generator) -> IntArray:
        hits = np.zeros(len(plan), dtype=np.int64)
        for batch, counts in self._counts(plan, rng):
            hits[batch] = counts[:, 0]
        return hits

    def _draw_points(self, plan: OutcomePlan, rng: Generator) -> OutcomeCounts:
        dense = np.zeros((len(plan), 2**self.n_qubits), dtype=np.int64)
        for batch, counts in self._counts(plan, rng):
            dense[batch] = counts
        return OutcomeCounts.of_dense(dense)

    _draw_references = _draw_points

    def _counts(self, plan: Plan, rng: Generator) -> Iterator[tuple[IntArray, IntArray]]:
        """Run a plan, and yield batches of its rows with how often they saw each outcome."""
        qml, batches = require("pennylane", EXTRA), self._batches(plan.shots)
        device = self._make_device(int(rng.integers(1, SEED_LIMIT)))
        tapes = [self._tape(plan, batch) for batch in batches]
        # With its cache the device would give equal tapes one outcome.
        results = qml.execute(tapes, device, diff_method=None, cache=False)
        for batch, result in zip(batches, results, strict=True):
            frequencies = np.reshape(np.asarray(result), (len(batch), -1))
            yield batch, np.rint(frequencies * plan.shots[batch][:, None]).astype(np.int64)

    def _batches(self, shots: IntArray) -> list[IntArray]:
        """Return rows in the order of their shots, cut where these change or a batch is full."""
        index = np.flatnonzero(shots)
        index = index[np.argsort(shots[index], kind="stable")]
        groups = np.split(index, np.flatnonzero(np.diff(shots[index])) + 1)
        size = 1
        if all(side.stacks for side in self._sides):  # rows may share a tape
            pure = self._device in ("default.qubit", "lightning.qubit")
            size = max(1, BATCH_AMPLITUDES >> self.n_qubits * (1 if pure else 2))
        return [g[k : k + size] for g in groups for k in range(0, len(g), size)]

    def _operations(self, plan: Plan, batch: IntArray) -> list[Any]:
        """Return what is applied before the measurement of some rows of a plan."""
        qml = require("pennylane", EXTRA)
        if isinstance(plan, ShotPlan):
            columns = self._backward.operations_of(plan.cols[batch])
            return self._forward.operations_of(plan.rows[batch]) + columns
        if isinstance(plan, CalibrationPlan):
            angles = _of_batch(np.pi * plan.references[batch])
            return [qml.RX(angles, wires=wire) for wire in self._wires()]
        assert isinstance(plan, PointPlan)
        operations = list(self._forward.operations_of(plan.points[batch]))
        angles = setting_angles(plan.letters[plan.settings[batch]])
        # The first wire is the most significant bit, and column 0 of the letters the least.
        for column, wire in enumerate(reversed(self._wires())):
            operations.append(qml.RZ(_of_batch(angles[:, column]), wires=wire))
            operations.append(qml.RY(_of_batch(angles[:, self.n_qubits + column]), wires=wire))
        return operations

    def _tape(self, plan: Plan, batch: IntArray) -> Any:
        """Return a tape of rows of equal shots that measures all wires, with the noise."""
        qml, shots = require("pennylane", EXTRA), int(plan.shots[batch[0]])
        measured = [qml.probs(wires=self._wires())]
        tape = qml.tape.QuantumScript(self._operations(plan, batch), measured, shots=shots)
        if self._noise is not None:
            (tape,), _ = qml.add_noise(tape, self._noise)
        return tape

    @property
    def n_qubits(self) -> int:
        """Wires that the feature map acts on."""
        return len(self._wires())

    @cached_property
    def _forward(self) -> PointTapes:
        """U(x) of each point of the rows."""
        return PointTapes(self._feature_map, self._rows)

    @cached_property
    def _backward(self) -> PointTapes:
        """U†(y) of each point of the columns."""
        inverse = require("pennylane", EXTRA).adjoint(self._feature_map, lazy=False)
        return PointTapes(inverse, self._columns)

    @property
    def _sides(self) -> list[PointTapes]:
        """What is run of the feature map: for points it is never run backwards."""
        return [self._forward] if self._design == "points" else [self._forward, self._backward]

    def _wires(self) -> list[Any]:
        return list(dict.fromkeys(wire for side in self._sides for wire in side.wires))

    def _make_device(self, seed: int) -> Any:
        qml = require("pennylane", EXTRA)
        if not isinstance(self._device, str):
            return self._device(seed)
        try:
            return qml.device(self._device, wires=self._wires(), seed=seed)
        except qml.exceptions.DeviceError as error:
            raise InputError(
                f"device {self._device!r} cannot be made: {error} Install its plugin, or pass a "
                "function that makes the device from a seed."
            ) from error


def _of_batch(angles: NDArray[Any]) -> Any:
    """Return the angles of a batch as an operation takes them: one alone is a number."""
    return angles[0] if len(angles) == 1 else angles
