"""The two halves of a transpiled fidelity circuit, compiled into steps on Pauli vectors."""

from typing import TYPE_CHECKING

from aqka._util.arrays import FloatArray
from aqka.backends._noisy.compiled import Compiler, PlacedInstruction
from aqka.backends._noisy.pauli import IDENTITY, ZERO_STATE, tensor_product
from aqka.backends.circuits import MIDDLE
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit
    from qiskit.circuit import Parameter
    from qiskit_aer.noise import NoiseModel


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
        compiler = Compiler(circuit, model)
        self.qubits = compiler.qubits
        first, second = _halves(compiler.instructions)
        start = tensor_product([ZERO_STATE] * len(self.qubits))
        self._forward = compiler.compile(first, parameters[0], start)
        zero = _zero_outcome(second, compiler)
        self._backward = compiler.compile(second, parameters[1], zero)

    def states(self, points: FloatArray) -> FloatArray:
        """Return ρ(x) for each point as a row: the noisy U(x) applied to the zero state."""
        return self._forward.run(points, adjoint=False)

    def outcomes(self, points: FloatArray) -> FloatArray:
        """Return M(y) for each point as a row: the zero outcome pulled back through U†(y)."""
        return self._backward.run(points, adjoint=True)


def _zero_outcome(second: list[PlacedInstruction], compiler: Compiler) -> FloatArray:
    """Return the operator of reading 0 from every measured qubit."""
    measured = {q for qubits, ins in second if ins.operation.name == "measure" for q in qubits}
    return tensor_product(
        [
            compiler.noise.zero_outcome(q, measured) if q in measured else IDENTITY
            for q in compiler.qubits
        ]
    )
