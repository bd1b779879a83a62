"""Shots by any PennyLane device."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray, digest, text_digest
from aqka._util.optional import require
from aqka.backends._qml import EXTRA, PointTapes, as_pennylane_function
from aqka.backends.circuits import as_feature_map, as_rows_and_columns, setting_angles
from aqka.backends.simulated import SEED_LIMIT, SimulatedBackend
from aqka.core.calibration import CalibrationPlan
from aqka.core.outcome_plans import OutcomePlan
from aqka.core.outcomes import OutcomeCounts
from aqka.core.plans import ShotPlan
from aqka.core.point_plans import PointPlan
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

# Of devices that run in this process: whoever brings another is asked before it is paid.
SIMULATORS = ("default.", "lightning.", "null.", "reference.", "braket.local.")

BATCH_AMPLITUDES = 2**22  # of one batch, which bounds its memory to some 100 MB


class PennylaneBackend(SimulatedBackend):
    """Runs the fidelity test on a PennyLane device, batched.

    Each pair runs exactly its shots: pairs of equal shots share a tape, and the device runs all
    tapes in one call.

    Parameters
    ----------
    X
        Points of the rows, one per row of the array.
    feature_map
        A function that applies the gates of one point, for example
        ``lambda x: qml.AngleEmbedding(x, wires=range(2))``; or a parametrised Qiskit circuit,
        whose gates are applied as PennyLane's.
    device
        A device's name, or a function that makes a device from a seed.
    columns
        Points of the columns, for a test-by-train block; None takes those of X.
    noise
        A ``pennylane.NoiseModel`` that is put into every circuit; needs a device with mixed
        states, such as ``default.mixed``.
    seed
        The hits depend on it, on the tag and on the plan, if the device takes a seed.

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
    ) -> None:
        qml = require("pennylane", EXTRA)
        super().__init__(seed)
        self._rows, self._cols = as_rows_and_columns(X, columns)
        if hasattr(feature_map, "parameters") and hasattr(feature_map, "num_qubits"):
            feature_map = as_pennylane_function(as_feature_map(feature_map, self._rows.shape[1]))
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
        self._feature_map = feature_map
        self._device = device
        self._noise = noise
        self._sides: tuple[PointTapes, PointTapes] | None = None
        self._make_device(seed=1)  # a wrong name is better told now

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the recorded operations, which are recorded again."""
        return {**self.__dict__, "_sides": None}

    @property
    def shape(self) -> tuple[int, int]:
        """Points of the rows and of the columns."""
        return len(self._rows), len(self._cols)

    @property
    def is_paid(self) -> bool:
        """Whether the device may be other than one of the simulators that are known."""
        device = self._device
        if not isinstance(device, str):
            made = self._make_device(seed=1)
            device = str(getattr(made, "short_name", None) or made.name)
        return not device.startswith(SIMULATORS)

    def _identity(self) -> list[str]:
        # A function has no content to compare, but the operations it records have.
        operations = [str(side.operations) for side in self._point_tapes()]
        device = self._device if isinstance(self._device, str) else self._device.__qualname__
        return [
            f"X={digest(self._rows)}",
            f"columns={digest(self._cols)}",
            f"operations={text_digest(''.join(operations))}",
            f"device={device}",
            f"noise={self._noise}",
        ]

    def _draw(self, plan: ShotPlan, rng: Generator) -> IntArray:
        hits = np.zeros(len(plan), dtype=np.int64)
        batches = self._batches(plan.shots)
        if not batches:
            return hits
        qml = require("pennylane", EXTRA)
        device = self._make_device(int(rng.integers(1, SEED_LIMIT)))
        tapes = [self._tape(plan, batch) for batch in batches]
        # With its cache the device would give equal tapes one outcome.
        results = qml.execute(tapes, device, diff_method=None, cache=False)
        for batch, result in zip(batches, results, strict=True):
            frequencies = np.reshape(np.asarray(result), (len(batch), -1))[:, 0]
            hits[batch] = np.rint(frequencies * plan.shots[batch]).astype(np.int64)
        return hits

    def _batches(self, shots: IntArray) -> list[IntArray]:
        """Return rows in the order of their shots, cut where these change or a batch is full."""
        index = np.flatnonzero(shots)
        if not index.size:
            return []
        index = index[np.argsort(shots[index], kind="stable")]
        groups = np.split(index, np.flatnonzero(np.diff(shots[index])) + 1)
        size = self._batch_size()
        return [g[k : k + size] for g in groups for k in range(0, len(g), size)]

    def _tape(self, plan: ShotPlan, batch: IntArray) -> Any:
        rows, cols = self._point_tapes()
        i, j = plan.rows[batch], plan.cols[batch]
        if len(batch) == 1:
            operations = rows.operations[i[0]] + cols.operations[j[0]]
        else:
            operations = rows.operations_of(i) + cols.operations_of(j)
        return self._measured(operations, int(plan.shots[batch[0]]))

    def _measured(self, operations: list[Any], shots: int) -> Any:
        """Return a tape that measures all wires after the operations, with the noise."""
        qml = require("pennylane", EXTRA)
        tape = qml.tape.QuantumScript(operations, [qml.probs(wires=self._wires())], shots=shots)
        if self._noise is not None:
            (tape,), _ = qml.add_noise(tape, self._noise)
        return tape

    @property
    def n_qubits(self) -> int:
        """Wires that the feature map acts on."""
        return len(self._wires())

    def _draw_points(self, plan: PointPlan, rng: Generator) -> OutcomeCounts:
        batches = self._batches(plan.shots)
        return self._counted(
            plan, batches, [self._point_tape(plan, batch) for batch in batches], rng
        )

    def _draw_references(self, plan: CalibrationPlan, rng: Generator) -> OutcomeCounts:
        rows = np.flatnonzero(plan.shots)
        tapes = [self._reference_tape(plan.references[k], int(plan.shots[k])) for k in rows]
        return self._counted(plan, [rows[k : k + 1] for k in range(len(rows))], tapes, rng)

    def _reference_tape(self, reference: int, shots: int) -> Any:
        qml = require("pennylane", EXTRA)
        turns = [qml.RX(np.pi * reference, wires=wire) for wire in self._wires()]
        return self._measured(turns, shots)

    def _counted(
        self, plan: OutcomePlan, batches: list[IntArray], tapes: list[Any], rng: Generator
    ) -> OutcomeCounts:
        """Run tapes, each of a batch of rows, and count their outcomes."""
        qml = require("pennylane", EXTRA)
        device = self._make_device(int(rng.integers(1, SEED_LIMIT)))
        results = qml.execute(tapes, device, diff_method=None, cache=False)
        counts = np.zeros((len(plan), 2**self.n_qubits), dtype=np.int64)
        for batch, result in zip(batches, results, strict=True):
            frequencies = np.reshape(np.asarray(result), (len(batch), -1))
            counts[batch] = np.rint(frequencies * plan.shots[batch][:, None])
        return OutcomeCounts.of_dense(counts)

    def _point_tape(self, plan: PointPlan, batch: IntArray) -> Any:
        qml = require("pennylane", EXTRA)
        rows, _ = self._point_tapes()
        points, letters = plan.points[batch], plan.letters[plan.settings[batch]]
        alone = len(batch) == 1
        operations = list(rows.operations[points[0]] if alone else rows.operations_of(points))
        angles = setting_angles(letters)
        # The first wire is the most significant bit, and column 0 of the letters the least.
        for column, wire in enumerate(reversed(self._wires())):
            about_z, about_y = angles[:, column], angles[:, self.n_qubits + column]
            operations.append(qml.RZ(about_z[0] if alone else about_z, wires=wire))
            operations.append(qml.RY(about_y[0] if alone else about_y, wires=wire))
        return self._measured(operations, int(plan.shots[batch[0]]))

    def _point_tapes(self) -> tuple[PointTapes, PointTapes]:
        if self._sides is None:
            qml = require("pennylane", EXTRA)
            rows = PointTapes(self._feature_map, self._rows)
            inverse = qml.adjoint(self._feature_map, lazy=False)
            self._sides = rows, PointTapes(inverse, self._cols)
            if not self._wires():
                raise InputError("feature_map applied no gates; it must encode the point.")
        return self._sides

    def _wires(self) -> list[Any]:
        rows, cols = self._point_tapes()
        return list(dict.fromkeys(rows.wires + cols.wires))

    def _batch_size(self) -> int:
        """Return how many pairs may share a tape."""
        rows, cols = self._point_tapes()
        if not (rows.stacks and cols.stacks):
            return 1
        pure = self._device in ("default.qubit", "lightning.qubit")
        exponent = len(self._wires()) * (1 if pure else 2)
        return max(1, BATCH_AMPLITUDES >> exponent)

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
