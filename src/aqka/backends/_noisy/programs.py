"""Transpiled circuits under noise, compiled into steps on Pauli vectors."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.backends._bulk.gates import evaluate
from aqka.backends._noisy import pauli
from aqka.backends._noisy.devices import DeviceNoise
from aqka.backends._noisy.models import NoiseTable, used_qubits
from aqka.backends.circuits import MIDDLE
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit
    from qiskit.circuit import CircuitInstruction, Parameter

# Vectors evolved together: small enough to stay in a cache, large enough to keep loops long.
_CHUNK_BYTES = 2**23

# An instruction and the numbers of the qubits that it acts on.
PlacedInstruction = tuple[tuple[int, ...], "CircuitInstruction"]


class Compiler:
    """Compiles parts of one transpiled circuit; its noise names qubits as the circuit does.

    The noise is an Aer model or a device's. ``qubits`` are those that the circuit uses, in the
    order of Pauli vectors.
    """

    def __init__(self, circuit: "QuantumCircuit", noise: Any) -> None:
        self._gates, self.noise = pauli.GateMatrices(), noise
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
        *,
        adjoint: bool = False,
    ) -> Callable[[FloatArray], Iterator[FloatArray]]:
        """Return what sends the start through instructions, part by part of all points.

        With ``adjoint`` it goes backwards with the adjoint channels.
        """
        steps: list[pauli.PauliStep] = []
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
                leading = tuple(self._place[q] for q in reversed(qubits))  # the gate's last qubit
                steps.append(pauli.PauliStep(leading, matrix))
        blocks, angles = pauli.gather_blocks(steps), list(expressions)
        size = max(1, _CHUNK_BYTES // (8 * start.size))

        def run(points: FloatArray) -> Iterator[FloatArray]:
            for k in range(0, max(len(points), 1), size):
                values = evaluate(angles, parameters, points[k : k + size]).T
                yield pauli.evolve_paulis(start, blocks, values, adjoint=adjoint)

        return run


def _gate_then_error(gate: pauli.StepMatrix | None, error: FloatArray) -> pauli.StepMatrix:
    if gate is None:
        return pauli.constant_step(error)
    return lambda angles: error @ gate(angles)


class FidelityProgram:
    """U(x) — barrier — U†(y) — measurements with noise, ready for any number of points.

    ``parameters`` are those of the first half, then of the second, in the data's column order.
    """

    def __init__(
        self, circuit: "QuantumCircuit", noise: Any, parameters: list["Parameter"]
    ) -> None:
        compiler = Compiler(circuit, noise)
        placed, half = compiler.instructions, len(parameters) // 2
        names = [(step.operation.name, step.operation.label) for _, step in placed]
        count = names.count(("barrier", MIDDLE))
        if count != 1:
            raise InputError(
                f"feature_map must come out of transpiling with one middle barrier, got {count}; "
                "choose another optimization_level."
            )
        middle = names.index(("barrier", MIDDLE))
        first, second = placed[:middle], placed[middle + 1 :]
        start = pauli.tensor_product([pauli.ZERO_STATE] * len(compiler.qubits))
        self._forward = compiler.compile(first, parameters[:half], start)
        measured = {
            q for qubits, step in second if step.operation.name == "measure" for q in qubits
        }
        zero = [  # reading 0 from every measured qubit
            compiler.noise.zero_outcome(q, measured) if q in measured else pauli.IDENTITY
            for q in compiler.qubits
        ]
        self._backward = compiler.compile(
            second, parameters[half:], pauli.tensor_product(zero), adjoint=True
        )

    def kernel(self, rows: FloatArray, columns: FloatArray) -> FloatArray:
        """Return Tr(M(y) ρ(x)) of all points.

        ρ(x) is the noisy U(x) applied to the zero state, M(y) the zero outcome pulled back through
        U†(y).
        """
        states = np.concatenate(list(self._forward(rows)))
        blocks = [states @ part.T for part in self._backward(columns)]
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
        self._n_used = len(compiler.qubits)
        start = pauli.tensor_product([pauli.ZERO_STATE] * self._n_used)
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
            np.stack([zero[q], pauli.IDENTITY - zero[q]]) if q in measured else pauli.IDENTITY[None]
            for q in compiler.qubits
        ]

    def probabilities(self, values: FloatArray) -> FloatArray:
        """Return the probabilities of all outcomes, one row for each row of values."""
        return np.concatenate([self._read(vectors) for vectors in self._program(values)])

    def _read(self, vectors: FloatArray) -> FloatArray:
        tensor = vectors.reshape(-1, *[4] * self._n_used)
        for axis, effect in enumerate(self._effects, start=1):
            tensor = np.moveaxis(np.tensordot(tensor, effect, axes=([axis], [1])), -1, axis)
        rest = [k for k in range(self._n_used) if k not in self._axes]
        tensor = tensor.transpose(0, *(1 + k for k in self._axes), *(1 + k for k in rest))
        return np.maximum(tensor.reshape(len(vectors), -1), 0.0)
