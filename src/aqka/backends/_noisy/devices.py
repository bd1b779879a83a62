"""A device's errors from its calibration, read for the gates of one circuit alone.

They are those of Aer: each qubit relaxes while a gate lasts, and depolarising noise makes up for
the rest of the gate's error. Aer builds them for all qubits of a chip, which takes seconds.
"""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray
from aqka.backends._bulk.gates import unfolded
from aqka.backends._bulk.light_cones import LightCones, Rates
from aqka.backends._noisy.pauli import tensor_product, zero_outcome
from aqka.backends.circuits import placed_steps, setting_letters

if TYPE_CHECKING:
    from qiskit import QuantumCircuit
    from qiskit.circuit import Instruction
    from qiskit.transpiler import Target

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


BATCH_BITS = 2**22  # bits that are drawn together, which bounds their memory; draws depend on it


class DeviceNoise:
    """What goes wrong at each instruction, by a target's calibration."""

    def __init__(self, target: "Target") -> None:
        self._target = target

    def error(self, operation: "Instruction", qubits: tuple[int, ...]) -> FloatArray | None:
        """Return the transfer matrix of the error at an instruction, or None if it has none."""
        if operation.name == "delay":
            unit = operation.unit
            scale = self._target.dt if unit == "dt" else _SECONDS[unit]
            return self._relaxation(qubits, float(operation.duration) * (scale or 0.0))
        known = self._properties(operation.name, qubits)
        if known is None or operation.name == "measure":
            return None
        matrix = self._relaxation(qubits, known.duration or 0.0)
        if known.error and operation.name != "reset":
            matrix = matrix @ _depolarising(known.error, matrix)
        return matrix

    def zero_outcome(self, qubit: int) -> FloatArray:
        """Return the operator of reading 0 from a qubit, readout error included."""
        wrong = self.readout(qubit)
        return zero_outcome(1 - wrong[0], wrong[1])

    def readout(self, qubit: int) -> tuple[float, float]:
        """Return the chances that a 0 is read as 1, and a 1 as 0."""
        known = self._properties("measure", (qubit,))
        both = getattr(known, "error", None) or 0.0
        return (
            float(getattr(known, "prob_meas1_prep0", both)),
            float(getattr(known, "prob_meas0_prep1", both)),
        )

    def _properties(self, name: str, qubits: tuple[int, ...]) -> Any:
        """Return the calibration of a gate on its qubits; None where there is none."""
        if name not in self._target:
            return None
        return (self._target[name] or {}).get(qubits)

    def _relaxation(self, qubits: tuple[int, ...], seconds: float) -> FloatArray:
        """Return what a time does to qubits by themselves; the last one leads."""
        return tensor_product([self._relaxed(qubit, seconds) for qubit in reversed(qubits)])

    def _relaxed(self, qubit: int, seconds: float) -> FloatArray:
        known = self._target.qubit_properties
        t1 = t2 = None
        if known is not None and known[qubit] is not None:
            t1, t2 = known[qubit].t1, known[qubit].t2
        t1 = np.inf if t1 is None else t1
        t2 = 2 * t1 if t2 is None else min(t2, 2 * t1)
        kept, phase = np.exp(-seconds / t1), np.exp(-seconds / t2)
        matrix = np.diag([1.0, phase, phase, kept])
        matrix[3, 0] = 1 - kept
        return matrix


def _depolarising(error: float, relaxation: FloatArray) -> FloatArray:
    """Return the depolarising noise with which relaxation has a gate's error (of Aer's formula)."""
    squared = len(relaxation)
    d = np.sqrt(squared)
    fidelity = (np.trace(relaxation) / d + 1) / (d + 1)  # averaged over states
    rate = d * (min(error, d / (d + 1)) - 1 + fidelity) / (d * fidelity - 1)
    left = 1 - np.clip(rate, 0, squared / (squared - 1))
    return np.diag([1.0, *[left] * (squared - 1)])


def calibrated_rates(
    isa: "QuantumCircuit", feature_map: "QuantumCircuit", target: "Target"
) -> Rates:
    """Return a device's errors as rates of a feature map's own gates.

    The errors that a transpiled circuit makes on a pair of qubits are shared evenly by the map's
    gates on the pair, those of each qubit by its one-qubit gates. What routing costs counts for the
    qubits that are moved.
    """
    noise, n_qubits = DeviceNoise(target), feature_map.num_qubits
    start = range(n_qubits)
    if isa.layout is not None:
        start = isa.layout.initial_index_layout(filter_ancillas=True)
    logical = {physical: k for k, physical in enumerate(start[:n_qubits])}
    gates = Counter(tuple(sorted(parts[-1].qubits)) for parts in unfolded(feature_map) if parts)
    kept, readout = Counter[tuple[int, ...]](), np.zeros((n_qubits, 2))
    for physical, step in placed_steps(isa):
        if step.name == "measure":
            readout[isa.find_bit(step.clbits[0]).index] = noise.readout(physical[0])
        matrix = None if step.name == "barrier" else noise.error(step.operation, physical)
        if matrix is None:
            continue
        left = (np.trace(matrix) - 1) / (len(matrix) - 1)  # of an operator, on average
        qubits = tuple(sorted(logical[q] for q in physical if q in logical))
        where = [qubits] if len(qubits) < 2 or qubits in gates else [(q,) for q in qubits]
        for each in where:
            kept[each] += np.log(max(left, 1e-3))
    one, two = np.zeros(n_qubits), np.zeros((n_qubits, n_qubits))
    for qubits, times in gates.items():
        rate = -np.expm1(kept[qubits] / times)
        if len(qubits) == 1:
            one[qubits[0]] = rate
        elif qubits:
            two[qubits[:2]] = two[qubits[1::-1]] = rate
    return Rates(one, two, readout)


class DeviceCones:
    """Draws a fake device's outcomes of more qubits than their state could be simulated on.

    By light cones of the feature map, with the device's errors as rates of its gates. Every bit and
    every joint pair has its probabilities; see :class:`~aqka.backends.LightConeBackend`.
    """

    def __init__(self, feature_map: "QuantumCircuit", isa: "QuantumCircuit", target: Any) -> None:
        self._map, self._rates = feature_map, calibrated_rates(isa, feature_map, target)
        self._any = LightCones(feature_map, np.zeros((1, feature_map.num_parameters)), self._rates)
        self._any.check_all()
        self.joint_pairs = self._any.joint_pairs

    def draw_points(self, rows: FloatArray, shots: int, seed: int) -> NDArray[np.uint8]:
        """Return packed bits of rows of features and setting angles, rows by shots by bytes."""
        X, angles = np.split(rows, [self._map.num_parameters], axis=1)
        points, which = np.unique(X, axis=0, return_inverse=True)
        cones, letters = LightCones(self._map, points, self._rates), setting_letters(angles)

        def draw(some: IntArray, random: Generator) -> IntArray:
            return cones.draw(which.reshape(-1)[some], letters[some], random)

        return self._drawn(len(rows), shots, draw, seed)

    def draw_references(self, rows: FloatArray, shots: int, seed: int) -> NDArray[np.uint8]:
        """Return packed bits of rows of reference angles."""
        bits = np.repeat((rows[:, :1] > 1).astype(np.int64), self._map.num_qubits, axis=1)
        return self._drawn(
            len(rows), shots, lambda some, random: self._any.read(bits[some], random), seed
        )

    def _drawn(
        self, n_rows: int, shots: int, draw: Callable[[IntArray, Generator], IntArray], seed: int
    ) -> NDArray[np.uint8]:
        random, parts = np.random.default_rng(seed), []
        each = np.repeat(np.arange(n_rows), shots)
        size = BATCH_BITS // self._map.num_qubits
        for start in range(0, len(each), size):
            bits = draw(each[start : start + size], random)
            packed = np.packbits(bits.astype(np.uint8), axis=1, bitorder="little")
            parts.append(packed[:, ::-1])
        return np.concatenate(parts).reshape(n_rows, shots, -1)
