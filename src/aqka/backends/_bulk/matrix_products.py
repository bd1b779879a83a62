"""The states of many points as matrix products: for many qubits that are little entangled.

A state of n qubits is a product of n tensors, each with a bond to its neighbours. Time and memory
grow with n and with the size of the bonds (the rank of the state between left and right), not
with 2^n. Bonds are found, not assumed: a singular value is left out where it is next to nothing or
beyond the largest bond allowed, and the weight that is lost is counted.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from aqka._util.arrays import FloatArray, threads_for
from aqka.backends._bulk.gates import (
    ComplexArray,
    FixedGate,
    Phases,
    Primitive,
    evaluate,
    primitives,
)
from aqka.backends._bulk.layers import Angles, embed
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

MAX_BOND = 64
"""Enough for any state of 12 qubits, and after six layers of RZZ; a point then takes seconds."""
MAX_LOSS = 1e-6
"""Weight that may be lost in all: it moves the probability of no event by more than 0.001."""
NEGLIGIBLE = 1e-8
"""Singular values below this share of the largest are left out, a weight of 1e-16 each."""

Gate = tuple[tuple[int, ...], ComplexArray]
"""Qubits, and a matrix for each point or one for all; bit b of an index is that of qubits[b]."""
_SWAP = np.eye(4, dtype=np.complex128)[[0, 2, 1, 3]]


class MatrixProducts:
    """The states of many points, evolved together.

    Parameters
    ----------
    n_points, n_qubits
        All qubits of all points begin at zero.
    max_bond
        Larger bonds are cut off.

    Attributes
    ----------
    tensors
        One per qubit: points by left bond by 2 by right bond. To the left of the ``centre`` they
        are isometries from left to right, beyond it from right to left, so that the singular
        values at the centre are those of the state.
    lost
        Weight of each state that was cut off.
    """

    def __init__(self, n_points: int, n_qubits: int, max_bond: int = MAX_BOND) -> None:
        zero = np.zeros((n_points, 1, 2, 1), dtype=np.complex128)
        zero[:, :, 0] = 1.0
        self.tensors = [zero] * n_qubits
        self.centre = 0
        self.lost: FloatArray = np.zeros(n_points)
        self._max_bond = max_bond

    def apply(self, gate: Gate) -> None:
        """Apply a gate; qubits that are no neighbours are swapped together and back again."""
        qubits, matrices = gate
        if len(qubits) == 1:
            self._apply_in_place(qubits[0], matrices)
        elif qubits:
            swaps = _swaps_together(sorted(qubits))
            for left in swaps:
                self._apply_in_place(left, _SWAP[None], 2)
            first = min(qubits)
            self._apply_in_place(first, _left_to_right(qubits, matrices), len(qubits))
            for left in reversed(swaps):
                self._apply_in_place(left, _SWAP[None], 2)

    def move_centre(self, to: int) -> None:
        """Move the centre to a qubit; the states stay what they are."""
        while self.centre < to:
            self._move_right()
        while self.centre > to:
            self._move_left()

    def _apply_in_place(self, first: int, matrices: ComplexArray, count: int = 1) -> None:
        """Apply matrices to neighbours, the bit of the first of them being the highest."""
        if count > 1:  # a gate on one qubit changes no bond, wherever the centre is
            self.move_centre(min(max(self.centre, first), first + count - 1))
        merged = self.tensors[first]
        n_points, left = merged.shape[:2]
        for tensor in self.tensors[first + 1 : first + count]:
            bond, right = tensor.shape[1], tensor.shape[3]
            merged = merged.reshape(n_points, -1, bond) @ tensor.reshape(n_points, bond, -1)
            merged = merged.reshape(n_points, left, -1, right)
        turned = matrices[:, None] @ merged
        for qubit in range(first, first + count - 1):
            turned = self._split_off(qubit, turned)
        self.tensors[first + count - 1] = turned.reshape(n_points, -1, 2, turned.shape[-1])
        if count > 1:
            self.centre = first + count - 1

    def _split_off(self, qubit: int, merged: ComplexArray) -> ComplexArray:
        """Keep the tensor of a qubit and return what is left of the others."""
        n_points, left, _, right = merged.shape
        u, s, v = np.linalg.svd(merged.reshape(n_points, 2 * left, -1), full_matrices=False)
        kept = int(np.max(np.sum(s > NEGLIGIBLE * s[:, :1], axis=1)))
        kept = min(kept, self._max_bond)
        self.lost = self.lost + np.sum(s[:, kept:] ** 2, axis=1) / np.sum(s**2, axis=1)
        s = s[:, :kept] / np.linalg.norm(s[:, :kept], axis=1, keepdims=True)
        self.tensors[qubit] = u[:, :, :kept].reshape(n_points, left, 2, kept)
        rest: ComplexArray = (s[:, :, None] * v[:, :kept]).reshape(n_points, kept, -1, right)
        return rest

    def _move_right(self) -> None:
        here, following = self.tensors[self.centre], self.tensors[self.centre + 1]
        n_points, left, _, right = here.shape
        q, r = np.linalg.qr(here.reshape(n_points, 2 * left, right))
        self.tensors[self.centre] = q.reshape(n_points, left, 2, -1)
        moved = r @ following.reshape(n_points, right, -1)
        self.tensors[self.centre + 1] = moved.reshape(n_points, -1, 2, following.shape[3])
        self.centre += 1

    def _move_left(self) -> None:
        here, before = self.tensors[self.centre], self.tensors[self.centre - 1]
        n_points, left, _, right = here.shape
        q, r = np.linalg.qr(_adjoint(here.reshape(n_points, left, 2 * right)))
        self.tensors[self.centre] = _adjoint(q).reshape(n_points, -1, 2, right)
        moved = before.reshape(n_points, -1, left) @ _adjoint(r)
        self.tensors[self.centre - 1] = moved.reshape(n_points, before.shape[1], 2, -1)
        self.centre -= 1


def evolve(circuit: "QuantumCircuit", X: FloatArray, max_bond: int = MAX_BOND) -> MatrixProducts:
    """Return U(x)|0…0⟩ for every row x of ``X``; refuse a circuit that entangles too much."""
    gates = list(primitives(circuit))
    states = MatrixProducts(len(X), circuit.num_qubits, max_bond)
    with threads_for(max_bond):
        for gate in fused(gates_of_points(gates, list(circuit.parameters), X)):
            states.apply(gate)
            if states.lost.max() > MAX_LOSS:
                raise InputError(
                    f"feature_map entangles its {circuit.num_qubits} qubits too much to be "
                    "simulated as matrix products: a bond between neighbours would have to exceed "
                    f"{max_bond}. Take fewer repetitions or gates between neighbours only (the map "
                    "'zz', not 'zz-full'); or at most 12 qubits, which never need more; or a "
                    "device."
                )
    return states


def gates_of_points(
    gates: list[Primitive], parameters: list[object], X: FloatArray
) -> Iterator[Gate]:
    """Yield the gates with their matrices; phases of the whole state are left out."""
    angles = Angles()
    numbers = [None if isinstance(g, FixedGate) else angles.number(g.angle) for g in gates]
    values = evaluate(angles.all(), parameters, X)
    for gate, number in zip(gates, numbers, strict=True):
        if not gate.qubits:
            continue
        if isinstance(gate, FixedGate):
            yield gate.qubits, gate.matrix[None]
            continue
        assert number is not None
        if isinstance(gate, Phases):
            factors = np.exp(1j * values[number][:, None] * gate.weights)
            yield gate.qubits, factors[:, :, None] * np.eye(len(gate.weights))
        else:
            cos, sin = np.cos(values[number] / 2), np.sin(values[number] / 2)
            turn = np.array([[cos, -sin], [sin, cos]], dtype=np.complex128)
            yield gate.qubits, np.moveaxis(turn, -1, 0)


def fused(gates: Iterable[Gate]) -> Iterator[Gate]:
    """Yield the same gates, those on the qubits of the one before multiplied into it."""
    last: Gate | None = None
    for gate in gates:
        if last is not None and set(gate[0]) <= set(last[0]):
            last = last[0], embed(gate[1], gate[0], last[0]) @ last[1]
        elif last is not None and set(last[0]) <= set(gate[0]):
            last = gate[0], gate[1] @ embed(last[1], last[0], gate[0])
        else:
            if last is not None:
                yield last
            last = gate
    if last is not None:
        yield last


def _swaps_together(ascending: list[int]) -> list[int]:
    """Return the left places of the swaps that bring qubits next to the first of them."""
    swaps: list[int] = []
    for place, qubit in enumerate(ascending):
        swaps += range(qubit - 1, ascending[0] + place - 1, -1)
    return swaps


def _left_to_right(qubits: tuple[int, ...], matrices: ComplexArray) -> ComplexArray:
    """Return matrices whose highest bit is that of the lowest qubit."""
    count = len(qubits)
    # Bit b of an index is axis count - 1 - b of its tensor.
    axes = [count - 1 - int(bit) for bit in np.argsort(qubits)]
    order = [0, *(1 + a for a in axes), *(1 + count + a for a in axes)]
    tensor = matrices.reshape((len(matrices), *(2,) * (2 * count)))
    return tensor.transpose(order).reshape(matrices.shape)


def _adjoint(matrices: ComplexArray) -> ComplexArray:
    return np.conj(np.swapaxes(matrices, -1, -2))
