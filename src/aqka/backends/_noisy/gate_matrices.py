"""Gates as matrices on Pauli vectors, for angles that differ from point to point."""

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import FloatArray
from aqka._util.optional import require
from aqka.backends._bulk.gates import is_varying
from aqka.backends._noisy.pauli import StepMatrix, transfer_matrix
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit.circuit import CircuitInstruction, Instruction

# A gate's transfer matrix holds its angles in these frequencies: products of two amplitudes,
# each with half the angle.
_SAMPLES = 4 * np.pi * np.arange(5) / 5


class GateMatrices:
    """The transfer matrices of gates; each kind of gate is asked of Qiskit once."""

    def __init__(self) -> None:
        self._superop = require("qiskit.quantum_info", "aer").SuperOp
        self._rotations: dict[tuple[str, int], FloatArray] = {}
        self._constants: dict[tuple[str | float, ...], FloatArray] = {}

    def step_matrix(
        self, instruction: "CircuitInstruction", expressions: dict[Any, int]
    ) -> StepMatrix | None:
        """Return an instruction's matrix as a function of the angles; None does nothing.

        ``expressions`` numbers the angles of the circuit; new ones are added to it.
        """
        operation = instruction.operation
        if operation.name in ("measure", "delay", "id"):
            return None
        # Not is_parameterized(): it overlooks the angles of controlled gates.
        if any(is_varying(parameter) for parameter in operation.params):
            columns = [expressions.setdefault(p, len(expressions)) for p in operation.params]
            return _by_angles(self._coefficients(operation), columns)
        if not instruction.is_standard_gate():
            return constant_step(transfer_matrix(self._superop(operation).data))
        key = (operation.name, *map(float, operation.params))
        if key not in self._constants:
            self._constants[key] = transfer_matrix(self._superop(operation).data)
        return constant_step(self._constants[key])

    def _coefficients(self, operation: "Instruction") -> FloatArray:
        """Return a gate's transfer matrix as coefficients of its angles' harmonics.

        It is sampled once per kind of gate, so no gate needs a formula of its own here.
        """
        count = len(operation.params)
        key = (operation.name, count)
        if key not in self._rotations:
            grid = np.array(list(itertools.product(_SAMPLES, repeat=count)))
            sampled = np.stack([self._at(operation, angles) for angles in grid])
            found = np.linalg.solve(_harmonic_table(grid), sampled.reshape(len(grid), -1))
            coefficients = np.asarray(found, dtype=np.float64).reshape(
                len(grid), *sampled.shape[1:]
            )
            probe = np.linspace(0.7, 1.9, count)
            rebuilt = np.tensordot(_harmonic_table(probe[None])[0], coefficients, 1)
            if not np.allclose(rebuilt, self._at(operation, probe), atol=1e-10):
                raise InputError(
                    f"feature_map holds the gate {operation.name!r}, which is no rotation by its "
                    "angles; decompose it into standard gates first."
                )
            self._rotations[key] = coefficients
        return self._rotations[key]

    def _at(self, operation: "Instruction", angles: FloatArray) -> FloatArray:
        bound = operation.to_mutable()
        bound.params = [float(angle) for angle in angles]
        return transfer_matrix(self._superop(bound).data)


def _harmonics(angles: FloatArray) -> FloatArray:
    half = angles / 2
    parts = [np.ones_like(half), np.cos(half), np.sin(half), np.cos(angles), np.sin(angles)]
    return np.stack(parts, axis=-1)


def _harmonic_table(angles: FloatArray) -> FloatArray:
    """Return all products of one harmonic per angle, one row per row of angles."""
    table: FloatArray = np.ones((len(angles), 1))
    for k in range(angles.shape[1]):
        longer: FloatArray = table[:, :, None] * _harmonics(angles[:, k])[:, None, :]
        table = longer.reshape(len(angles), -1)
    return table


def constant_step(matrix: FloatArray) -> StepMatrix:
    """Return the step of one matrix for every point."""
    return lambda angles: matrix


def _by_angles(coefficients: FloatArray, columns: list[int]) -> StepMatrix:
    def matrix(angles: FloatArray) -> FloatArray:
        flat = _harmonic_table(angles[:, columns]) @ coefficients.reshape(len(coefficients), -1)
        return flat.reshape(len(angles), *coefficients.shape[1:])

    return matrix
