"""Transpiled circuits under noise, compiled into steps on Pauli vectors."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.backends._bulk.gates import evaluate
from aqka.backends._noisy import pauli
from aqka.backends._noisy.devices import DeviceNoise
from aqka.backends._noisy.models import NoiseTable, used_qubits
from aqka.backends.circuits import MIDDLE, placed_steps, read_qubits
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit
    from qiskit.circuit import CircuitInstruction, Parameter

# Vectors evolved together: small enough to stay in a cache, large enough to keep loops long.
_CHUNK_BYTES = 2**23


class Compiler:
    """Compiles parts of one transpiled circuit; its noise names qubits as the circuit does.

    The noise is an Aer model or a device's. ``qubits`` are those that the circuit uses, in the
    order of Pauli vectors; ``start`` is their zero state.
    """

    def __init__(self, circuit: "QuantumCircuit", noise: Any) -> None:
        if not isinstance(noise, DeviceNoise):
            passes = noise._pass_manager()
            if passes is not None:
                # A device's noise on delays is put in by passes, as Aer does before each run.
                circuit = passes.run(circuit)
            noise = NoiseTable(noise)
        self._gates, self._noise = pauli.GateMatrices(), noise
        self.qubits = used_qubits(circuit)
        self.instructions = placed_steps(circuit)
        self.place = {qubit: k for k, qubit in enumerate(self.qubits)}
        self.start = pauli.tensor_product([pauli.ZERO_STATE] * len(self.qubits))
        self.bits = read_qubits(circuit)  # routing may have moved them
        self.zero = {qubit: noise.zero_outcome(qubit) for qubit in self.bits.values()}

    def compile(
        self,
        instructions: "list[tuple[tuple[int, ...], CircuitInstruction]]",
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
            # Aer puts a measurement's error before it, any other error after the gate.
            error = self._noise.error(operation, qubits)
            gate, columns = self._gates.of(instruction, expressions)
            if gate is not None or error is not None:
                leading = tuple(self.place[q] for q in reversed(qubits))  # the gate's last qubit
                steps.append(pauli.PauliStep(leading, gate, columns, error))
        blocks, angles = pauli.gather_blocks(steps), list(expressions)
        size = max(1, _CHUNK_BYTES // (8 * start.size))

        def run(points: FloatArray) -> Iterator[FloatArray]:
            for k in range(0, max(len(points), 1), size):
                values = evaluate(angles, parameters, points[k : k + size]).T
                yield pauli.evolve_paulis(start, blocks, values, adjoint=adjoint)

        return run


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
        self._forward = compiler.compile(placed[:middle], parameters[:half], compiler.start)
        # Reading 0 from every measured qubit.
        zero = pauli.tensor_product([compiler.zero.get(q, pauli.IDENTITY) for q in compiler.qubits])
        second = placed[middle + 1 :]
        self._backward = compiler.compile(second, parameters[half:], zero, adjoint=True)

    def kernel(self, rows: FloatArray, columns: FloatArray) -> FloatArray:
        """Return Tr(M(y) ρ(x)) of all points.

        ρ(x) is the zero state after the noisy U(x), M(y) the zero outcome pulled back by U†(y).
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
        self._program = compiler.compile(compiler.instructions, parameters, compiler.start)
        bits, zero = compiler.bits, compiler.zero
        # Bits from the most significant, since that axis comes first; the others are traced out.
        self._axes = [compiler.place[bits[b]] for b in sorted(bits, reverse=True)]
        self._effects = [
            np.stack([zero[q], pauli.IDENTITY - zero[q]]) if q in zero else pauli.IDENTITY[None]
            for q in compiler.qubits
        ]

    def probabilities(self, values: FloatArray) -> FloatArray:
        """Return the probabilities of all outcomes, one row for each row of values."""
        return np.concatenate([self._read(vectors) for vectors in self._program(values)])

    def _read(self, vectors: FloatArray) -> FloatArray:
        n_used = len(self._effects)
        tensor = vectors.reshape(-1, *[4] * n_used)
        for axis, effect in enumerate(self._effects, start=1):
            tensor = np.moveaxis(np.tensordot(tensor, effect, axes=([axis], [1])), -1, axis)
        rest = [k for k in range(n_used) if k not in self._axes]
        tensor = tensor.transpose(0, *(1 + k for k in self._axes), *(1 + k for k in rest))
        return np.maximum(tensor.reshape(len(vectors), -1), 0.0)
