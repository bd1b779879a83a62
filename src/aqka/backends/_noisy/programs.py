"""Transpiled circuits under noise, compiled into steps on Pauli vectors."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.backends._bulk.gates import evaluate
from aqka.backends._noisy.devices import DeviceNoise
from aqka.backends._noisy.models import NoiseTable, used_qubits
from aqka.backends._noisy.pauli import (
    IDENTITY,
    ZERO_STATE,
    GateMatrices,
    PauliStep,
    StepMatrix,
    constant_step,
    evolve_paulis,
    gather_blocks,
    tensor_product,
)
from aqka.backends.circuits import MIDDLE
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit
    from qiskit.circuit import CircuitInstruction, Parameter

# Vectors evolved together: small enough to stay in a cache, large enough to keep loops long.
_CHUNK_BYTES = 2**23

# An instruction and the numbers of the qubits that it acts on.
PlacedInstruction = tuple[tuple[int, ...], "CircuitInstruction"]


def split_rows(points: FloatArray, n_qubits: int) -> list[FloatArray]:
    """Return the points in parts that are evolved together."""
    size = max(1, _CHUNK_BYTES // (8 * 4**n_qubits))
    return [points[k : k + size] for k in range(0, len(points), size)] or [points]


class Compiler:
    """Compiles parts of one transpiled circuit; its noise names qubits as the circuit does.

    The noise is an Aer model or a device's. ``qubits`` are those that the circuit uses, in the
    order of Pauli vectors.
    """

    def __init__(self, circuit: "QuantumCircuit", noise: Any) -> None:
        self._gates, self.noise = GateMatrices(), noise
        if not isinstance(noise, DeviceNoise):
            passes = noise._pass_manager()
            if passes is not None:
                # A device's noise on delays is put in by passes, as Aer does before each run.
                circuit = passes.run(circuit)
            self.noise = NoiseTable(noise)
        self.qubits = used_qubits(circuit)
        self.instructions: list[PlacedInstruction] = [
            (tuple(circuit.find_bit(q).index for q in instruction.qubits), instruction)
            for instruction in circuit.data
        ]
        self._place = {qubit: k for k, qubit in enumerate(self.qubits)}

    def compile(
        self,
        instructions: list[PlacedInstruction],
        parameters: list["Parameter"],
        start: FloatArray,
    ) -> Callable[..., FloatArray]:
        """Return what sends the start through some of the instructions, for all points at once.

        With ``adjoint`` it goes backwards with the adjoint channels.
        """
        steps: list[PauliStep] = []
        expressions: dict[Any, int] = {}
        for qubits, instruction in instructions:
            operation = instruction.operation
            if operation.name == "barrier" or not qubits:
                continue
            error = self.noise.error(operation, qubits)
            matrix = self._gates.step_matrix(instruction, expressions)
            if error is not None:
                # Aer puts a measurement's error before it, any other error after the gate.
                matrix = _gate_then_error(matrix, error)
            if matrix is not None:
                # Matrices lead with the gate's last qubit.
                steps.append(PauliStep(tuple(self._place[q] for q in reversed(qubits)), matrix))
        blocks, angles = gather_blocks(steps), list(expressions)

        def run(points: FloatArray, *, adjoint: bool) -> FloatArray:
            values = evaluate(angles, parameters, points).T
            return evolve_paulis(start, blocks, values, adjoint=adjoint)

        return run


def _gate_then_error(gate: StepMatrix | None, error: FloatArray) -> StepMatrix:
    if gate is None:
        return constant_step(error)
    return lambda angles: error @ gate(angles)


def _halves(
    placed: list[PlacedInstruction],
) -> tuple[list[PlacedInstruction], list[PlacedInstruction]]:
    """Return the instructions before the middle barrier and those behind it."""
    middle = [
        k
        for k, (_, instruction) in enumerate(placed)
        if instruction.operation.name == "barrier" and instruction.operation.label == MIDDLE
    ]
    if len(middle) != 1:
        raise InputError(
            f"feature_map must come out of transpiling with one middle barrier, got "
            f"{len(middle)}; choose another optimization_level."
        )
    return placed[: middle[0]], placed[middle[0] + 1 :]


class FidelityProgram:
    """U(x) — barrier — U†(y) — measurements with noise, ready for any number of points.

    ``parameters`` are those of the first half, then of the second, in the data's column order.
    """

    def __init__(
        self, circuit: "QuantumCircuit", noise: Any, parameters: list["Parameter"]
    ) -> None:
        compiler = Compiler(circuit, noise)
        self.n_used = len(compiler.qubits)
        first, second = _halves(compiler.instructions)
        start, half = tensor_product([ZERO_STATE] * self.n_used), len(parameters) // 2
        self._forward = compiler.compile(first, parameters[:half], start)
        measured = {q for qubits, ins in second if ins.operation.name == "measure" for q in qubits}
        zero = [  # reading 0 from every measured qubit
            compiler.noise.zero_outcome(q, measured) if q in measured else IDENTITY
            for q in compiler.qubits
        ]
        self._backward = compiler.compile(second, parameters[half:], tensor_product(zero))

    def kernel(self, rows: FloatArray, columns: FloatArray) -> FloatArray:
        """Return Tr(M(y) ρ(x)) of all points.

        ρ(x) is the noisy U(x) applied to the zero state, M(y) the zero outcome pulled back through
        U†(y).
        """
        states = np.concatenate(
            [self._forward(part, adjoint=False) for part in split_rows(rows, self.n_used)]
        )
        blocks = [
            states @ self._backward(part, adjoint=True).T
            for part in split_rows(columns, self.n_used)
        ]
        return np.clip(np.concatenate(blocks, axis=1), 0.0, 1.0)


class OutcomeProgram:
    """A circuit that reads qubits with its noise, ready for any number of rows.

    ``parameters`` are in the order of the rows of values. Outcomes are numbered by the circuit's
    bits, bit 0 being the least significant.
    """

    def __init__(
        self, circuit: "QuantumCircuit", noise: Any, parameters: list["Parameter"]
    ) -> None:
        compiler = Compiler(circuit, noise)
        self.n_used = len(compiler.qubits)
        start = tensor_product([ZERO_STATE] * self.n_used)
        self._program = compiler.compile(compiler.instructions, parameters, start)
        # Physical qubit of each classical bit: routing may have moved them.
        bits = {
            circuit.find_bit(step.clbits[0]).index: circuit.find_bit(step.qubits[0]).index
            for step in circuit.data
            if step.operation.name == "measure"
        }
        measured = set(bits.values())
        zero = {q: compiler.noise.zero_outcome(q, measured) for q in measured}
        place = {q: k for k, q in enumerate(compiler.qubits)}
        # Bits from the most significant, since that axis comes first; the others are traced out.
        self._axes = [place[bits[b]] for b in sorted(bits, reverse=True)]
        self._effects = [
            np.stack([zero[q], IDENTITY - zero[q]]) if q in measured else IDENTITY[None]
            for q in compiler.qubits
        ]

    def probabilities(self, values: FloatArray) -> FloatArray:
        """Return the probabilities of all outcomes, one row for each row of values."""
        return np.concatenate(
            [self._probabilities(part) for part in split_rows(values, self.n_used)]
        )

    def _probabilities(self, values: FloatArray) -> FloatArray:
        vectors = self._program(values, adjoint=False)
        tensor = vectors.reshape(len(values), *[4] * self.n_used)
        for axis, effect in enumerate(self._effects, start=1):
            tensor = np.moveaxis(np.tensordot(tensor, effect, axes=([axis], [1])), -1, axis)
        rest = [k for k in range(self.n_used) if k not in self._axes]
        tensor = tensor.transpose(0, *(1 + k for k in self._axes), *(1 + k for k in rest))
        return np.maximum(tensor.reshape(len(values), -1), 0.0)
