"""Instructions of a transpiled circuit with its noise, compiled into steps on Pauli vectors."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aqka._util.arrays import FloatArray
from aqka.backends._bulk.expressions import evaluate
from aqka.backends._noisy.device_noise import used_qubits
from aqka.backends._noisy.gate_matrices import GateMatrices, constant_step
from aqka.backends._noisy.noise_table import NoiseTable
from aqka.backends._noisy.pauli import Block, PauliStep, StepMatrix, evolve_paulis, gather_blocks

if TYPE_CHECKING:
    from qiskit import QuantumCircuit
    from qiskit.circuit import CircuitInstruction, Parameter
    from qiskit_aer.noise import NoiseModel

# An instruction and the numbers of the qubits that it acts on.
PlacedInstruction = tuple[tuple[int, ...], "CircuitInstruction"]


class CompiledPart:
    """A part of the circuit for all points at once: U(x), U†(y) or all of it."""

    def __init__(
        self, blocks: list[Block], angles: Callable[[FloatArray], FloatArray], start: FloatArray
    ) -> None:
        self._blocks, self._angles, self._start = blocks, angles, start

    def run(self, points: FloatArray, *, adjoint: bool) -> FloatArray:
        """Send the start through it for every point, or backwards with the adjoint channels."""
        return evolve_paulis(self._start, self._blocks, self._angles(points), adjoint=adjoint)


class Compiler:
    """Compiles parts of one transpiled circuit.

    Parameters
    ----------
    circuit
        Transpiled, with free parameters.
    model
        The noise, with qubits named as in ``circuit``.

    Attributes
    ----------
    qubits
        Those that the circuit uses, in the order of Pauli vectors.
    instructions
        All of them with their qubits.
    noise
        What the model does at each.
    """

    def __init__(self, circuit: "QuantumCircuit", model: "NoiseModel") -> None:
        passes = model._pass_manager()
        if passes is not None:
            # A device's noise on delays is put in by passes, as Aer does before each run.
            circuit = passes.run(circuit)
        self.qubits = used_qubits(circuit)
        self.instructions: list[PlacedInstruction] = [
            (tuple(circuit.find_bit(q).index for q in instruction.qubits), instruction)
            for instruction in circuit.data
        ]
        self.noise = NoiseTable(model)
        self._place = {qubit: k for k, qubit in enumerate(self.qubits)}
        self._gates = GateMatrices()

    def compile(
        self,
        instructions: list[PlacedInstruction],
        parameters: list["Parameter"],
        start: FloatArray,
    ) -> CompiledPart:
        """Return some of the instructions as one part, to which ``parameters`` are given."""
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
        angles = list(expressions)
        return CompiledPart(
            gather_blocks(steps), lambda points: evaluate(angles, parameters, points).T, start
        )


def _gate_then_error(gate: StepMatrix | None, error: FloatArray) -> StepMatrix:
    if gate is None:
        return constant_step(error)
    return lambda angles: error @ gate(angles)
