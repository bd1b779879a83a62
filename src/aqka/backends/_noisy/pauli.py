"""Noisy circuits in the Pauli basis: real vectors for states, real matrices for channels.

A density matrix or a measurement operator on n qubits is 4^n real numbers, its components
along the orthonormal Paulis. A channel is a real matrix on them, its adjoint is the transpose,
and Tr(Mρ) is a dot product.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import ComplexArray, FloatArray
from aqka._util.optional import require
from aqka.backends._bulk.gates import is_varying
from aqka.backends._bulk.light_cones import PAULIS
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit.circuit import CircuitInstruction, Instruction

ZERO_STATE: FloatArray = np.array([1.0, 0.0, 0.0, 1.0]) / np.sqrt(2)
IDENTITY: FloatArray = np.array([np.sqrt(2), 0.0, 0.0, 0.0])


def zero_outcome(if_zero: float, if_one: float) -> FloatArray:
    """Return one qubit's operator of reading 0: the chances to do so in |0> and in |1>."""
    diagonal = np.array([if_zero + if_one, 0.0, 0.0, if_zero - if_one])
    return np.asarray(diagonal / np.sqrt(2))


def tensor_product(factors: Sequence[FloatArray]) -> FloatArray:
    """Return the product of one-qubit operators or channels, the first qubit leading."""
    return reduce(lambda front, behind: np.asarray(np.kron(front, behind)), factors)


def transfer_matrix(superoperator: ComplexArray) -> FloatArray:
    """Return a channel's matrix on Pauli vectors, from the one on column-stacked operators.

    Qiskit's order holds for both: the gate's last qubit leads.
    """
    n_qubits = (superoperator.shape[-1].bit_length() - 1) // 2
    paulis = reduce(np.kron, [PAULIS] * n_qubits).reshape(4**n_qubits, -1)
    # The orthonormal Paulis, each stacked column by column, which is stacking rows of the
    # transpose, and P.T = conj(P) for a Pauli.
    columns = paulis.conj().T / np.sqrt(2**n_qubits)
    return np.ascontiguousarray((columns.conj().T @ superoperator @ columns).real)


@dataclass(frozen=True, eq=False)
class PauliStep:
    """A gate of the compiled circuit and the error behind it; either may be None."""

    qubits: tuple[int, ...]  # in the order of the matrices: the leading one first
    gate: FloatArray | None  # its matrix, or coefficients of the harmonics of its angles
    columns: list[int]  # of its angles; none where it is the same for every point
    error: FloatArray | None

    def matrix(self, angles: FloatArray) -> FloatArray:
        """Return its matrix for a table of angles: (4^k, 4^k), or one such matrix per point."""
        matrix = self.gate
        if matrix is not None and self.columns:
            flat = _harmonic_table(angles[:, self.columns]) @ matrix.reshape(len(matrix), -1)
            matrix = flat.reshape(len(angles), *matrix.shape[1:])
        return reduce(np.matmul, [part for part in (self.error, matrix) if part is not None])


@dataclass
class Block:
    """Neighbouring steps on the same few qubits, applied to the states as one matrix."""

    qubits: tuple[int, ...]
    steps: list[PauliStep]

    def matrix(self, angles: FloatArray) -> FloatArray:
        """Multiply the steps out: (4^k, 4^k), or one such matrix per point."""
        total = np.eye(4 ** len(self.qubits))
        # Runs on a single qubit are multiplied as 4x4 matrices before they meet the block's.
        runs: dict[int, FloatArray] = {}
        for step in self.steps:
            matrix, before = step.matrix(angles), [q for q in step.qubits if q in runs]
            if len(step.qubits) == 1:
                runs[step.qubits[0]] = matrix @ runs[before[0]] if before else matrix
                continue
            for qubit in before:
                total = _on_some((qubit,), runs.pop(qubit), self.qubits, total)
            total = _on_some(step.qubits, matrix, self.qubits, total)
        for qubit, run in runs.items():
            total = _on_some((qubit,), run, self.qubits, total)
        return total


def _on_some(
    qubits: tuple[int, ...], matrix: FloatArray, block: tuple[int, ...], total: FloatArray
) -> FloatArray:
    """Multiply ``matrix`` on some of a block's qubits from the left to the block's matrix."""
    if qubits == block:
        return matrix @ total
    size, width, count = total.shape[-1], len(block), len(qubits)
    # From the end, where there may be a batch in front: the columns, before them the rows' qubits.
    axes, front = [block.index(q) - width - 1 for q in qubits], range(-width - 1, count - width - 1)
    tensor = total.reshape(*total.shape[:-2], *[4] * width, size)
    moved = np.moveaxis(tensor, axes, front).reshape(*total.shape[:-2], 4**count, -1)
    moved = matrix @ moved
    tensor = moved.reshape(*moved.shape[:-2], *[4] * width, size)
    moved = np.moveaxis(tensor, front, axes).reshape(*moved.shape[:-2], size, size)
    return np.ascontiguousarray(moved)


def gather_blocks(steps: Iterable[PauliStep]) -> list[Block]:
    """Gather steps into blocks: single-qubit steps join a neighbouring many-qubit one.

    Passes over a state are what costs, so there should be one per pair of qubits that meet.
    """
    blocks: list[Block] = []
    open_block: dict[int, Block] = {}
    waiting: dict[int, list[PauliStep]] = {}
    for step in steps:
        candidates = [open_block.get(q) for q in step.qubits]
        block = candidates[0]
        if block is not None and all(other is block for other in candidates):
            block.steps.append(step)
        elif len(step.qubits) == 1:
            waiting.setdefault(step.qubits[0], []).append(step)
        else:
            before = [early for q in step.qubits for early in waiting.pop(q, [])]
            block = Block(step.qubits, [*before, step])
            blocks.append(block)
            open_block.update(dict.fromkeys(step.qubits, block))
    blocks.extend(Block((qubit,), early) for qubit, early in waiting.items())
    return blocks


def evolve_paulis(
    start: FloatArray, blocks: Sequence[Block], angles: FloatArray, *, adjoint: bool = False
) -> FloatArray:
    """Send one vector of 4^n numbers through the blocks for every row of angles; return all.

    ``adjoint`` goes backwards with the adjoint channels, as measurement operators do.
    """
    count, n_qubits = len(angles), (start.size.bit_length() - 1) // 2
    states = np.broadcast_to(start, (count, start.size))
    order = list(range(n_qubits))
    for block in reversed(blocks) if adjoint else blocks:
        matrix = block.matrix(angles)
        if adjoint:
            matrix = matrix.swapaxes(-1, -2)
        rest = [q for q in order if q not in block.qubits]
        states = matrix @ _reorder(states, order, [*block.qubits, *rest]).reshape(
            count, 4 ** len(block.qubits), -1
        )
        order = [*block.qubits, *rest]
    return _reorder(states, order, list(range(n_qubits))).reshape(count, -1)


def _reorder(states: FloatArray, order: list[int], wanted: list[int]) -> FloatArray:
    axes = [1 + order.index(q) for q in wanted]
    return states.reshape(-1, *[4] * len(order)).transpose(0, *axes)


# A gate's transfer matrix holds its angles in these frequencies: products of two amplitudes,
# each with half the angle.
_SAMPLES = 4 * np.pi * np.arange(5) / 5


class GateMatrices:
    """The transfer matrices of gates; each kind of gate is asked of Qiskit once."""

    def __init__(self) -> None:
        self._superop = require("qiskit.quantum_info", "aer").SuperOp
        self._rotations: dict[tuple[str, int], FloatArray] = {}
        self._constants: dict[tuple[Any, ...], FloatArray] = {}

    def of(
        self, instruction: "CircuitInstruction", expressions: dict[Any, int]
    ) -> tuple[FloatArray | None, list[int]]:
        """Return an instruction's matrix, None if it does nothing; or coefficients, and its angles.

        ``expressions`` numbers the angles of the circuit; new ones are added to it.
        """
        operation = instruction.operation
        if operation.name in ("measure", "delay", "id"):
            return None, []
        # Not is_parameterized(): it overlooks the angles of controlled gates.
        if any(is_varying(parameter) for parameter in operation.params):
            columns = [expressions.setdefault(p, len(expressions)) for p in operation.params]
            return self._coefficients(operation), columns
        if not instruction.is_standard_gate() and operation.name not in ("pauli", "reset"):
            return transfer_matrix(self._superop(operation).data), []
        key = (operation.name, *operation.params)
        if key not in self._constants:
            self._constants[key] = transfer_matrix(self._superop(operation).data)
        return self._constants[key], []

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
            coefficients = np.asarray(found, dtype=np.float64).reshape(sampled.shape)
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


def _harmonic_table(angles: FloatArray) -> FloatArray:
    """Return all products of one harmonic per angle, one row per row of angles."""
    table: FloatArray = np.ones((len(angles), 1))
    for angle in angles.T:
        half = angle / 2
        parts = [np.ones_like(half), np.cos(half), np.sin(half), np.cos(angle), np.sin(angle)]
        longer = table[:, :, None] * np.stack(parts, axis=-1)[:, None, :]
        table = longer.reshape(len(angles), -1)
    return table
