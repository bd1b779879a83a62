"""Exact one- and two-qubit reduced states of shallow circuits, whatever their width.

The reduced state of a few qubits depends on the gates that can reach them, their light cone. It is
found from the last gate to the first. A diagonal gate is left out where all later gates on its
qubits are diagonal and none of them is a target: it commutes to the end, and is traced out there.
So that this finds the gates of a ZZ map, CX–phase–CX is first taken as the diagonal gate it is.

With depolarising noise a cone's density matrix is evolved, a vector on twice as many qubits. The
noise of a gate that was left out stays: it is a mixture of Pauli gates, past which diagonal gates
commute up to other diagonal ones, and it acts on the cone's qubits alone.
"""

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka.backends._bulk.evolve import run_layers
from aqka.backends._bulk.gates import (
    ComplexArray,
    FixedGate,
    Phases,
    Primitive,
    Rotation,
    evaluate,
    primitives,
)
from aqka.backends._bulk.layers import Angles, fuse_layers
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

MAX_CONE = 14
"""Qubits of a cone: 2^14 amplitudes a point, or with noise those of a density matrix of half."""
CHUNK_AMPLITUDES = 2**21
"""Amplitudes of the points that are evolved together: 32 MiB."""

_CX = np.eye(4)[[0, 3, 2, 1]]  # the control is the less significant bit
_PAULIS = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])


@dataclass(frozen=True, eq=False)
class Operation:
    """A gate whose angle is a number of the circuit's, and how many noisy gates it stands for."""

    gate: Primitive
    noisy: int = 0

    @property
    def qubits(self) -> tuple[int, ...]:
        """The qubits it acts on."""
        return self.gate.qubits

    @property
    def is_diagonal(self) -> bool:
        """Whether it only phases basis states."""
        if isinstance(self.gate, FixedGate):
            matrix = self.gate.matrix
            return not np.any(np.abs(matrix - np.diag(np.diag(matrix))) > 1e-14)
        return isinstance(self.gate, Phases)

    @property
    def is_cx(self) -> bool:
        """Whether it is a CX gate."""
        matrix = getattr(self.gate, "matrix", np.eye(1))
        return matrix.shape == (4, 4) and np.allclose(matrix, _CX, rtol=0, atol=1e-14)

    def on_parity(self, control: int) -> "Operation":
        """Return a diagonal gate of one qubit as the same gate of its parity with another."""
        parity = np.array([0, 1, 1, 0])
        qubits = (control, *self.qubits)
        if isinstance(self.gate, Phases):
            return replace(self, gate=Phases(qubits, self.gate.angle, self.gate.weights[parity]))
        assert isinstance(self.gate, FixedGate)
        matrix = np.diag(np.diag(self.gate.matrix)[parity])
        return replace(self, gate=FixedGate(qubits, matrix))


def operations(circuit: "QuantumCircuit") -> tuple[list[Operation], Angles]:
    """Return the gates of a circuit with CX–phase–CX fused, and the angles they number."""
    angles = Angles()
    found: dict[int, Operation] = {}
    on: list[list[int]] = [[] for _ in range(circuit.num_qubits)]  # gates of each qubit, in order
    for number, gate in enumerate(primitives(circuit)):
        if not gate.qubits:
            continue  # a global phase
        if not isinstance(gate, FixedGate):
            gate = replace(gate, angle=angles.number(gate.angle))
        operation = Operation(gate, noisy=int(len(gate.qubits) > 1))
        if operation.is_cx and _fuse(operation, found, on):
            continue
        found[number] = operation
        for qubit in gate.qubits:
            on[qubit].append(number)
    return [found[number] for number in sorted(found)], angles


def _fuse(closing: Operation, found: dict[int, Operation], on: list[list[int]]) -> bool:
    """Turn what stands between two equal CX gates into gates of the parity, if it is diagonal."""
    control, target = closing.qubits
    between: list[int] = []
    for number in reversed(on[target]):
        operation = found[number]
        if operation.is_cx and operation.qubits == closing.qubits:
            later = [k for k in on[control] if k > number]
            if not between or not all(found[k].is_diagonal for k in later):
                return False
            break
        if len(operation.qubits) > 1 or not operation.is_diagonal:
            return False
        between.append(number)
    else:
        return False
    for k in between:
        found[k] = found[k].on_parity(control)
    # The depolarising noise of a gate commutes with all gates on the same two qubits.
    found[between[0]] = replace(found[between[0]], noisy=found.pop(number).noisy + closing.noisy)
    on[target].remove(number)
    on[control] = sorted([k for k in on[control] if k != number] + between)
    return True


class LightCones:
    """The reduced states of all points under one circuit.

    Parameters
    ----------
    circuit
        The feature map; column k of ``X`` is the k-th of its parameters.
    X
        Data, one row per point.
    depolarising
        Rate λ of ρ → (1 - λ) ρ + λ I/d after every gate of two qubits or more.
    """

    def __init__(self, circuit: "QuantumCircuit", X: FloatArray, depolarising: float = 0.0) -> None:
        self.n_qubits, self.n_points = int(circuit.num_qubits), len(X)
        self._operations, angles = operations(circuit)
        self._values = evaluate(angles.all(), list(circuit.parameters), X)
        self._is_diagonal = [operation.is_diagonal for operation in self._operations]
        self._depolarising = depolarising
        self._known: dict[tuple[int, ...], FloatArray] = {}
        self.largest = MAX_CONE if depolarising == 0 else MAX_CONE // 2

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Pairs of qubits that a gate acts on."""
        pairs = {
            (min(a, b), max(a, b))
            for operation in self._operations
            for a, b in product(operation.qubits, repeat=2)
            if a != b
        }
        return sorted(pairs)

    def cone(self, targets: tuple[int, ...]) -> tuple[list[int], list[Operation]]:
        """Return the qubits that some qubits' state depends on, and the gates in order.

        Where there is noise, a gate that was left out is the identity, followed by its noise.
        """
        diagonal_later = dict.fromkeys(targets, False)
        kept: list[Operation] = []
        for k in range(len(self._operations) - 1, -1, -1):
            operation = self._operations[k]
            reached = [q for q in operation.qubits if q in diagonal_later]
            if not reached:
                continue
            diagonal = self._is_diagonal[k]
            if diagonal and all(diagonal_later[q] for q in reached):
                if self._depolarising and operation.noisy:
                    identity = FixedGate(tuple(reached), np.eye(2 ** len(reached), dtype=complex))
                    kept.append(Operation(identity, operation.noisy))
                continue
            kept.append(operation)
            for q in operation.qubits:
                diagonal_later[q] = diagonal and diagonal_later.get(q, True)
        return sorted(diagonal_later), kept[::-1]

    def check(self, targets: tuple[int, ...]) -> None:
        """Refuse a cone that is too large to be evolved."""
        size = len(self.cone(targets)[0])
        if size > self.largest:
            what = f"qubit {targets[0]}" if len(targets) == 1 else f"qubits {targets}"
            noisy = " with noise" if self._depolarising else ""
            raise InputError(
                f"feature_map is too deep for light cones: the state of {what} depends on {size} "
                f"qubits, at most {self.largest} are possible{noisy}; take fewer repetitions, "
                "gates between neighbours only, fewer qubits (PCA), or the backend "
                "'matrix-product'."
            )

    def expectations(self, edges: IntArray) -> FloatArray:
        """Return X, Y, Z of each qubit, then XX, XY, … ZZ of each edge, one row per point."""
        pairs = [self._of((int(a), int(b))) for a, b in edges]
        single: dict[int, FloatArray] = {}
        for (a, b), found in zip(edges.tolist(), pairs, strict=True):
            single[a], single[b] = found[:, 1:, 0], found[:, 0, 1:]
        for qubit in range(self.n_qubits):
            if qubit not in single:
                single[qubit] = self._of((qubit,))[:, 1:]
        columns = [single[qubit] for qubit in range(self.n_qubits)]
        columns += [found[:, 1:, 1:].reshape(self.n_points, 9) for found in pairs]
        return np.concatenate(columns, axis=1)

    def _of(self, targets: tuple[int, ...]) -> FloatArray:
        """Return the expectations of all products of I, X, Y, Z on one or two qubits."""
        if targets not in self._known:
            self.check(targets)
            self._known[targets] = self._evolve(targets)
        return self._known[targets]

    def _evolve(self, targets: tuple[int, ...]) -> FloatArray:
        qubits, kept = self.cone(targets)
        place = {qubit: k for k, qubit in enumerate(qubits)}
        gates: list[Primitive] = []
        for operation in kept:
            here = tuple(place[q] for q in operation.qubits)
            gates += self._moved(operation, here, len(qubits))
        size = len(qubits) * (2 if self._depolarising else 1)
        layers, numbers = fuse_layers(gates, size)
        values = self._values[numbers].reshape(len(numbers), self.n_points)
        found = np.empty((self.n_points, *(4,) * len(targets)))
        step = max(1, CHUNK_AMPLITUDES >> size)
        for start in range(0, self.n_points, step):
            some = slice(start, min(start + step, self.n_points))
            shown = values[:, some]
            states = run_layers(list(layers), size, shown, some.stop - some.start)
            found[some] = self._read(states, [place[q] for q in targets], len(qubits))
        return found

    def _moved(self, operation: Operation, here: tuple[int, ...], n_qubits: int) -> list[Primitive]:
        """Return a gate on its places in the cone; with noise, on both sides and then its noise."""
        gate = replace(operation.gate, qubits=here)  # type: ignore[arg-type]
        if not self._depolarising:
            return [gate]
        there = tuple(k + n_qubits for k in here)
        other: Primitive
        if isinstance(gate, Phases):
            other = Phases(there, gate.angle, -gate.weights)
        elif isinstance(gate, Rotation):
            other = Rotation((there[0],), gate.angle)
        else:
            other = FixedGate(there, gate.matrix.conj())
        if not operation.noisy:
            return [gate, other]
        rate = 1 - (1 - self._depolarising) ** operation.noisy
        return [gate, other, FixedGate((*here, *there), depolarising_channel(rate, len(here)))]

    def _read(self, states: ComplexArray, targets: list[int], n_qubits: int) -> FloatArray:
        """Return the expectations of one or two qubits from states or density matrices."""
        count, points = len(targets), len(states)
        # Qubit k is axis n - k, the points are axis 0; the first target is to come last.
        axes = [n_qubits - k for k in reversed(targets)]
        if self._depolarising:
            axes = [*axes, *(axis + n_qubits for axis in axes)]
            tensor = states.reshape(points, *(2,) * (2 * n_qubits))
            # The bra's qubits are the more significant ones, and so come first.
            tensor = np.moveaxis(tensor, axes, range(1, 1 + 2 * count))
            rest = 2 ** (n_qubits - count)
            reduced = np.einsum(
                "nbarr->nab", tensor.reshape(points, 2**count, 2**count, rest, rest)
            )
        else:
            tensor = np.moveaxis(
                states.reshape(points, *(2,) * n_qubits), axes, range(1, 1 + count)
            ).reshape(points, 2**count, -1)
            reduced = tensor @ tensor.conj().transpose(0, 2, 1)
        if count == 1:
            return np.asarray(np.einsum("nab,pba->np", reduced, _PAULIS).real)
        both = reduced.reshape(points, 2, 2, 2, 2)  # second and first target, ket and bra
        found = np.einsum("nsftg,pgf,qts->npq", both, _PAULIS, _PAULIS, optimize=True)
        return np.asarray(found.real)


def depolarising_channel(rate: float, n_qubits: int) -> ComplexArray:
    """Return ρ → (1 - λ) ρ + λ I/d Tr ρ as a matrix on a vector whose high bits are the bra's.

    Examples
    --------
    >>> depolarising_channel(1.0, 1).real @ [1, 0, 0, 0]
    array([0.5, 0. , 0. , 0.5])
    """
    d = 2**n_qubits
    mixed = np.eye(d).reshape(-1)
    channel = (1 - rate) * np.eye(d * d) + rate / d * np.outer(mixed, mixed)
    return np.asarray(channel, dtype=np.complex128)
