"""Compiles the two halves of a transpiled fidelity circuit into steps on Pauli vectors."""

from collections.abc import Callable
from itertools import product as combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import FloatArray
from aqka._util.optional import require
from aqka.backends._bulk.expressions import evaluate
from aqka.backends._noisy.models import NoiseTable, used_qubits
from aqka.backends._noisy.pauli import (
    IDENTITY,
    ZERO_STATE,
    Block,
    Step,
    StepMatrix,
    evolve,
    fuse,
    product,
    transfer_matrix,
)
from aqka.backends.circuits import MIDDLE
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit
    from qiskit.circuit import CircuitInstruction, Instruction, Parameter
    from qiskit_aer.noise import NoiseModel

# A gate's transfer matrix holds its angles in these frequencies: products of two amplitudes,
# each with half the angle.
_SAMPLES = 4 * np.pi * np.arange(5) / 5


def _harmonics(angles: FloatArray) -> FloatArray:
    half = angles / 2
    parts = [np.ones_like(half), np.cos(half), np.sin(half), np.cos(angles), np.sin(angles)]
    return np.stack(parts, axis=-1)


class _Half:
    """One half of the circuit for all points at once: U(x) or U†(y)."""

    def __init__(
        self, blocks: list[Block], angles: Callable[[FloatArray], FloatArray], start: FloatArray
    ) -> None:
        self._blocks, self._angles, self._start = blocks, angles, start

    def run(self, points: FloatArray, *, adjoint: bool) -> FloatArray:
        return evolve(self._start, self._blocks, self._angles(points), adjoint=adjoint)


class FidelityProgram:
    """A transpiled fidelity circuit with its noise, ready for any number of points.

    Parameters
    ----------
    circuit
        U(x) — barrier — U†(y) — measurements, transpiled once, with free parameters.
    model
        The noise, with qubits named as in ``circuit``.
    parameters
        The parameters of the first half and those of the second, in the data's column order.
    """

    def __init__(
        self,
        circuit: "QuantumCircuit",
        model: "NoiseModel",
        parameters: tuple[list["Parameter"], list["Parameter"]],
    ) -> None:
        self._superop = require("qiskit.quantum_info", "aer").SuperOp
        self._gates: dict[tuple[str, int], FloatArray] = {}
        self._constant: dict[tuple[str | float, ...], FloatArray] = {}
        passes = model._pass_manager()
        if passes is not None:
            # A device's noise on delays is put in by passes, as Aer does before each run.
            circuit = passes.run(circuit)
        self.qubits = used_qubits(circuit)
        self._place = {qubit: k for k, qubit in enumerate(self.qubits)}
        table = NoiseTable(model)
        indexed = [
            (tuple(circuit.find_bit(q).index for q in instruction.qubits), instruction)
            for instruction in circuit.data
        ]
        middle = [
            k
            for k, (_, instruction) in enumerate(indexed)
            if instruction.operation.name == "barrier" and instruction.operation.label == MIDDLE
        ]
        if len(middle) != 1:
            raise InputError(
                f"feature_map must come out of transpiling with one middle barrier, got "
                f"{len(middle)}; choose another optimization_level."
            )
        first, second = indexed[: middle[0]], indexed[middle[0] + 1 :]
        measured = {q for qubits, ins in second if ins.operation.name == "measure" for q in qubits}
        zero = [table.zero_outcome(q, measured) if q in measured else IDENTITY for q in self.qubits]
        start = product([ZERO_STATE] * len(self.qubits))
        self._forward = self._compiled(first, table, parameters[0], start)
        self._backward = self._compiled(second, table, parameters[1], product(zero))

    def states(self, points: FloatArray) -> FloatArray:
        """Return ρ(x) for each point as a row: the noisy U(x) applied to the zero state."""
        return self._forward.run(points, adjoint=False)

    def outcomes(self, points: FloatArray) -> FloatArray:
        """Return M(y) for each point as a row: the zero outcome pulled back through U†(y)."""
        return self._backward.run(points, adjoint=True)

    def _compiled(
        self,
        instructions: list[tuple[tuple[int, ...], "CircuitInstruction"]],
        table: NoiseTable,
        parameters: list["Parameter"],
        start: FloatArray,
    ) -> _Half:
        steps: list[Step] = []
        expressions: dict[Any, int] = {}
        for qubits, instruction in instructions:
            operation = instruction.operation
            if operation.name == "barrier" or not qubits:
                continue
            error = table.error(operation, qubits)
            matrix = self._matrix(instruction, expressions)
            if error is not None:
                # Aer puts a measurement's error before it, any other error after the gate.
                matrix = _after(error, matrix)
            if matrix is not None:
                # Matrices lead with the gate's last qubit.
                steps.append(Step(tuple(self._place[q] for q in reversed(qubits)), matrix))
        angles = list(expressions)
        return _Half(fuse(steps), lambda points: evaluate(angles, parameters, points).T, start)

    def _matrix(
        self, instruction: "CircuitInstruction", expressions: dict[Any, int]
    ) -> StepMatrix | None:
        """Return an instruction's matrix as a function of the angles; None does nothing."""
        operation = instruction.operation
        if operation.name in ("measure", "delay", "id"):
            return None
        # Not is_parameterized(): it overlooks the angles of controlled gates.
        if any(getattr(parameter, "parameters", None) for parameter in operation.params):
            columns = [expressions.setdefault(p, len(expressions)) for p in operation.params]
            return _turned(self._coefficients(operation), columns)
        if not instruction.is_standard_gate():
            return _fixed(transfer_matrix(self._superop(operation).data))
        key = (operation.name, *map(float, operation.params))
        if key not in self._constant:
            self._constant[key] = transfer_matrix(self._superop(operation).data)
        return _fixed(self._constant[key])

    def _coefficients(self, operation: "Instruction") -> FloatArray:
        """Return a gate's transfer matrix as coefficients of its angles' harmonics.

        It is sampled once per kind of gate, so no gate needs a formula of its own here.
        """
        count = len(operation.params)
        key = (operation.name, count)
        if key not in self._gates:
            grid = np.array(list(combinations(_SAMPLES, repeat=count)))
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
            self._gates[key] = coefficients
        return self._gates[key]

    def _at(self, operation: "Instruction", angles: FloatArray) -> FloatArray:
        bound = operation.to_mutable()
        bound.params = [float(angle) for angle in angles]
        return transfer_matrix(self._superop(bound).data)


def _harmonic_table(angles: FloatArray) -> FloatArray:
    """Return all products of one harmonic per angle, one row per row of angles."""
    table: FloatArray = np.ones((len(angles), 1))
    for k in range(angles.shape[1]):
        longer: FloatArray = table[:, :, None] * _harmonics(angles[:, k])[:, None, :]
        table = longer.reshape(len(angles), -1)
    return table


def _fixed(matrix: FloatArray) -> StepMatrix:
    return lambda angles: matrix


def _turned(coefficients: FloatArray, columns: list[int]) -> StepMatrix:
    def matrix(angles: FloatArray) -> FloatArray:
        flat = _harmonic_table(angles[:, columns]) @ coefficients.reshape(len(coefficients), -1)
        return flat.reshape(len(angles), *coefficients.shape[1:])

    return matrix


def _after(error: FloatArray, gate: StepMatrix | None) -> StepMatrix:
    if gate is None:
        return _fixed(error)
    return lambda angles: error @ gate(angles)
