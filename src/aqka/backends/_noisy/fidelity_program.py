"""The two halves of a transpiled fidelity circuit, compiled into steps on Pauli vectors."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aqka._util.arrays import FloatArray
from aqka.backends._bulk.expressions import evaluate
from aqka.backends._noisy.device_noise import used_qubits
from aqka.backends._noisy.gate_matrices import GateMatrices, constant_step
from aqka.backends._noisy.noise_table import NoiseTable
from aqka.backends._noisy.pauli import (
    IDENTITY,
    ZERO_STATE,
    Block,
    PauliStep,
    StepMatrix,
    evolve_paulis,
    gather_blocks,
    tensor_product,
)
from aqka.backends.circuits import MIDDLE
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit
    from qiskit.circuit import CircuitInstruction, Parameter
    from qiskit_aer.noise import NoiseModel

# An instruction and the numbers of the qubits that it acts on.
PlacedInstruction = tuple[tuple[int, ...], "CircuitInstruction"]


class _Half:
    """One half of the circuit for all points at once: U(x) or U†(y)."""

    def __init__(
        self, blocks: list[Block], angles: Callable[[FloatArray], FloatArray], start: FloatArray
    ) -> None:
        self._blocks, self._angles, self._start = blocks, angles, start

    def run(self, points: FloatArray, *, adjoint: bool) -> FloatArray:
        return evolve_paulis(self._start, self._blocks, self._angles(points), adjoint=adjoint)


def _halves(circuit: "QuantumCircuit") -> tuple[list[PlacedInstruction], list[PlacedInstruction]]:
    """Return the instructions before the middle barrier and those behind it."""
    placed = [
        (tuple(circuit.find_bit(q).index for q in instruction.qubits), instruction)
        for instruction in circuit.data
    ]
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
        self._gates = GateMatrices()
        passes = model._pass_manager()
        if passes is not None:
            # A device's noise on delays is put in by passes, as Aer does before each run.
            circuit = passes.run(circuit)
        self.qubits = used_qubits(circuit)
        self._place = {qubit: k for k, qubit in enumerate(self.qubits)}
        self._table = NoiseTable(model)
        first, second = _halves(circuit)
        start = tensor_product([ZERO_STATE] * len(self.qubits))
        self._forward = self._compile_half(first, parameters[0], start)
        self._backward = self._compile_half(second, parameters[1], self._zero_outcome(second))

    def states(self, points: FloatArray) -> FloatArray:
        """Return ρ(x) for each point as a row: the noisy U(x) applied to the zero state."""
        return self._forward.run(points, adjoint=False)

    def outcomes(self, points: FloatArray) -> FloatArray:
        """Return M(y) for each point as a row: the zero outcome pulled back through U†(y)."""
        return self._backward.run(points, adjoint=True)

    def _zero_outcome(self, second: list[PlacedInstruction]) -> FloatArray:
        """Return the operator of reading 0 from every measured qubit."""
        measured = {q for qubits, ins in second if ins.operation.name == "measure" for q in qubits}
        return tensor_product(
            [
                self._table.zero_outcome(q, measured) if q in measured else IDENTITY
                for q in self.qubits
            ]
        )

    def _compile_half(
        self,
        instructions: list[PlacedInstruction],
        parameters: list["Parameter"],
        start: FloatArray,
    ) -> _Half:
        steps: list[PauliStep] = []
        expressions: dict[Any, int] = {}
        for qubits, instruction in instructions:
            operation = instruction.operation
            if operation.name == "barrier" or not qubits:
                continue
            error = self._table.error(operation, qubits)
            matrix = self._gates.step_matrix(instruction, expressions)
            if error is not None:
                # Aer puts a measurement's error before it, any other error after the gate.
                matrix = _gate_then_error(matrix, error)
            if matrix is not None:
                # Matrices lead with the gate's last qubit.
                steps.append(PauliStep(tuple(self._place[q] for q in reversed(qubits)), matrix))
        angles = list(expressions)
        return _Half(
            gather_blocks(steps), lambda points: evaluate(angles, parameters, points).T, start
        )


def _gate_then_error(gate: StepMatrix | None, error: FloatArray) -> StepMatrix:
    if gate is None:
        return constant_step(error)
    return lambda angles: error @ gate(angles)
