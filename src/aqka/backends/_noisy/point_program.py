"""A transpiled circuit of points under noise, and the exact probabilities of its outcomes."""

from typing import TYPE_CHECKING

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.backends._noisy.compiled import Compiler
from aqka.backends._noisy.pauli import IDENTITY, ZERO_STATE, tensor_product

if TYPE_CHECKING:
    from qiskit import QuantumCircuit
    from qiskit.circuit import Parameter
    from qiskit_aer.noise import NoiseModel


class PointProgram:
    """U(x), rotations and measurements with their noise, ready for any number of rows.

    Parameters
    ----------
    circuit
        Transpiled once, with free parameters; its bit q is that of qubit q of the feature map.
    model
        The noise, with qubits named as in ``circuit``.
    parameters
        In the order of the rows of values: the data, then the angles of the setting.
    """

    def __init__(
        self, circuit: "QuantumCircuit", model: "NoiseModel", parameters: list["Parameter"]
    ) -> None:
        compiler = Compiler(circuit, model)
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
        vectors = self._program.run(values, adjoint=False)
        tensor = vectors.reshape(len(values), *[4] * self.n_used)
        for axis, effect in enumerate(self._effects, start=1):
            tensor = np.moveaxis(np.tensordot(tensor, effect, axes=([axis], [1])), -1, axis)
        rest = [k for k in range(self.n_used) if k not in self._axes]
        tensor = tensor.transpose(0, *(1 + k for k in self._axes), *(1 + k for k in rest))
        return np.maximum(tensor.reshape(len(values), -1), 0.0)
