"""What a noise model of Qiskit Aer does at each instruction, as transfer matrices."""

import json
from typing import TYPE_CHECKING

import numpy as np

from aqka._util.arrays import FloatArray, text_digest
from aqka._util.optional import require
from aqka.backends._noisy.pauli import transfer_matrix, zero_outcome
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit.circuit import Instruction
    from qiskit_aer.noise import NoiseModel, QuantumError

# Aer leaves out an error's terms that are rarer; so must we, to have the same kernel.
_RAREST = 1e-10


def noise_digest(model: "NoiseModel") -> str:
    """Return a short digest of a model's errors, the same in every process.

    Not of its text, which names no rates and lists a set, nor with the identifiers that Aer
    draws for the errors.
    """
    errors = [
        json.dumps({key: value for key, value in error.items() if key != "id"}, sort_keys=True)
        for error in model.to_dict(serializable=True)["errors"]
    ]
    return text_digest("\n".join(sorted(errors)))


class NoiseTable:
    """What a noise model does at an instruction, as Aer itself looks it up.

    A gate with a label is looked up by the label alone, and an error given for these very
    qubits replaces the one for all qubits.
    """

    def __init__(self, model: "NoiseModel") -> None:
        self._superop = require("qiskit.quantum_info", "aer").SuperOp
        # The model has no public reader of single errors.
        self._everywhere = model._default_quantum_errors
        self._local = model._local_quantum_errors
        self._readout_everywhere = model._default_readout_error
        self._readout_local = model._local_readout_errors
        # By the error's own identity: one error often serves many gates and qubits.
        self._known: dict[int, FloatArray] = {}

    def error(self, operation: "Instruction", qubits: tuple[int, ...]) -> FloatArray | None:
        """Return the transfer matrix of the error at an instruction, or None if it has none."""
        label = getattr(operation, "label", None)
        name = operation.name if operation.name == "measure" else label or operation.name
        error = self._local.get(name, {}).get(qubits, self._everywhere.get(name))
        if error is None:
            return None
        if error.num_qubits != len(qubits):
            raise InputError(
                f"noise holds an error on {error.num_qubits} qubits for the instruction {name!r} "
                f"on qubits {qubits}; errors must act on the instruction's own qubits."
            )
        if id(error) not in self._known:
            self._known[id(error)] = self._matrix(error)
        return self._known[id(error)]

    def _matrix(self, error: "QuantumError") -> FloatArray:
        size = 4**error.num_qubits
        total = np.zeros((size, size), dtype=np.complex128)
        for circuit, chance in zip(error.circuits, error.probabilities, strict=True):
            if chance > _RAREST:
                total += chance * self._superop(circuit).data
        return transfer_matrix(total)

    def zero_outcome(self, qubit: int, measured: set[int]) -> FloatArray:
        """Return the operator of reading 0 from a qubit, readout error included."""
        for qubits in self._readout_local:
            if len(qubits) > 1 and measured.intersection(qubits):
                raise InputError(
                    f"noise holds a correlated readout error on qubits {qubits}, which Aer "
                    "ignores when qubits are measured one by one; give one per qubit."
                )
        error = self._readout_local.get((qubit,), self._readout_everywhere)
        if error is None:
            return zero_outcome(1.0, 0.0)
        chances = np.asarray(error.probabilities)
        if chances.shape != (2, 2):
            raise InputError(
                f"noise holds a readout error of shape {chances.shape} for single qubits; "
                "give a 2x2 matrix."
            )
        return zero_outcome(chances[0, 0], chances[1, 0])
