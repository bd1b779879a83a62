"""Exact one- and two-qubit reduced states of shallow circuits, whatever their width.

The reduced state of a few qubits depends on the gates that can reach them, their light cone. It is
found from the last gate to the first. A diagonal gate is left out where all later gates on its
qubits are diagonal and none of them is a target: it commutes to the end, and is traced out there.
So that this finds the gates of a ZZ map, CX–phase–CX is first taken as the diagonal gate it is.

With depolarising noise a cone's density matrix is evolved, a vector on twice as many qubits. The
noise of a gate that was left out stays: it is a mixture of Pauli gates, past which diagonal gates
commute up to other diagonal ones, and it acts on the cone's qubits alone.
"""

from collections import deque
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import combinations, count
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator

from aqka._util.arrays import ComplexArray, FloatArray, IntArray
from aqka.backends._bulk.evolve import Evolution, fuse_layers
from aqka.backends._bulk.gates import FixedGate, Phases, Primitive, evaluate, unfolded
from aqka.backends._bulk.layers import Angles
from aqka.core.settings import line_edges
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

MAX_CONE = 14
"""Qubits of a cone: 2^14 amplitudes a point, or with noise those of a density matrix of half."""
CHUNK_AMPLITUDES = 2**21  # amplitudes of the points that are evolved together: 32 MiB

_CX = np.eye(4)[[0, 3, 2, 1]]  # the control is the less significant bit
PAULIS = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])
# A CX turns a Pauli operator of its control and target, I, X, Y or Z each, into one of these on the
# target: times X where the control has X or Y.
_THROUGH_CX = np.array([[0, 1, 2, 3], [1, 0, 3, 2], [1, 0, 3, 2], [0, 1, 2, 3]])


@dataclass(frozen=True, eq=False)
class Rates:
    """Errors of a circuit: rates λ of ρ → (1 - λ) ρ + λ I/d after gates, and wrong bits."""

    one: FloatArray  # λ of each qubit, after its one-qubit gates
    two: FloatArray  # λ of each pair of qubits, a symmetric matrix; larger gates take their first
    readout: FloatArray  # of each qubit, the chances to read a 0 as 1 and a 1 as 0

    @classmethod
    def even(cls, n_qubits: int, one: float, two: float, readout: float = 0.0) -> "Rates":
        """Return the same rates for all qubits."""
        n = n_qubits
        return cls(np.full(n, one), np.full((n, n), two), np.full((n, 2), readout))

    def after(self, qubits: tuple[int, ...]) -> FloatArray:
        """Return what a gate's noise leaves of each product of I, X, Y, Z on its qubits."""
        rate = self.one[qubits[0]] if len(qubits) == 1 else self.two[qubits[0], qubits[1]]
        left = np.full((4,) * len(qubits), 1 - rate)
        left[(0,) * len(qubits)] = 1.0
        return left


@dataclass(frozen=True, eq=False)
class Operation:
    """A gate whose angle is a number of the circuit's, and the noise behind it."""

    gate: Primitive
    noise: FloatArray | None = None  # what it leaves of each product of I, X, Y, Z; None: all

    @property
    def qubits(self) -> tuple[int, ...]:
        return self.gate.qubits

    @cached_property
    def is_diagonal(self) -> bool:
        if isinstance(self.gate, FixedGate):
            matrix = self.gate.matrix
            return not np.any(np.abs(matrix - np.diag(np.diag(matrix))) > 1e-14)
        return isinstance(self.gate, Phases)

    @property
    def is_cx(self) -> bool:
        matrix = getattr(self.gate, "matrix", np.eye(1))
        return matrix.shape == (4, 4) and np.allclose(matrix, _CX, rtol=0, atol=1e-14)

    def on_parity(self, control: int) -> "Operation":
        """Return a diagonal gate of one qubit as the same gate of its parity with another."""
        parity, qubits = np.array([0, 1, 1, 0]), (control, *self.qubits)
        gate: Primitive
        if isinstance(self.gate, Phases):
            gate = Phases(qubits, self.gate.angle, self.gate.weights[parity])
        else:
            assert isinstance(self.gate, FixedGate)
            gate = FixedGate(qubits, np.diag(np.diag(self.gate.matrix)[parity]))
        return Operation(gate, None if self.noise is None else self.noise[_THROUGH_CX])

    def with_noise(self, *more: FloatArray | None) -> "Operation":
        """Return it with noise that commutes with it and its own."""
        all_noise = [noise for noise in (self.noise, *more) if noise is not None]
        return replace(self, noise=reduce(np.multiply, all_noise)) if all_noise else self


def operations(
    circuit: "QuantumCircuit", rates: Rates | None = None
) -> tuple[list[Operation], Angles]:
    """Return the gates of a circuit with CX–phase–CX fused, and the angles they number."""
    angles: Angles = {}
    numbers = count()
    found: dict[int, Operation] = {}
    on: list[list[int]] = [[] for _ in range(circuit.num_qubits)]  # gates of each qubit, in order
    for parts in unfolded(circuit):
        for k, gate in enumerate(parts):
            if not gate.qubits:
                continue  # a global phase
            if not isinstance(gate, FixedGate):
                gate = replace(gate, angle=angles.setdefault(gate.angle, len(angles)))
            noise = None if rates is None or k < len(parts) - 1 else rates.after(gate.qubits)
            operation = Operation(gate, noise)
            if operation.is_cx and _fuse(operation, found, on):
                continue
            number = next(numbers)
            before = on[gate.qubits[0]][-1:]
            if len(gate.qubits) == 1 and before and len(found[before[0]].qubits) == 1:
                # Depolarising one qubit commutes with all gates on it alone.
                operation = operation.with_noise(found[before[0]].noise)
                found[before[0]] = replace(found[before[0]], noise=None)
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
            if closing.noise is not None and any(len(found[k].qubits) > 1 for k in later):
                return False  # the noise of the first CX does not commute with these
            break
        if len(operation.qubits) > 1 or not operation.is_diagonal:
            return False
        between.append(number)
    else:
        return False
    for k in between:
        found[k] = found[k].on_parity(control)
    # The depolarising noise of a gate commutes with all gates on the same two qubits.
    found[between[0]] = found[between[0]].with_noise(found.pop(number).noise, closing.noise)
    on[target].remove(number)
    on[control] = sorted([k for k in on[control] if k != number] + between)
    return True


class LightCones:
    """The reduced states of all points under one circuit, and shots drawn from them.

    Column k of ``X`` is the k-th of the circuit's parameters.
    """

    def __init__(
        self, circuit: "QuantumCircuit", X: FloatArray, rates: Rates | None = None
    ) -> None:
        self.n_qubits, self.n_points = int(circuit.num_qubits), len(X)
        self._noisy = rates is not None and bool(np.any(rates.one) or np.any(rates.two))
        self._readout = None if rates is None else rates.readout
        self._operations, angles = operations(circuit, rates if self._noisy else None)
        self.angles = list(angles)
        self._values = evaluate(self.angles, list(circuit.parameters), X)
        self._known: dict[tuple[int, ...], FloatArray] = {}
        self.largest = MAX_CONE // 2 if self._noisy else MAX_CONE

    def cone(self, targets: tuple[int, ...]) -> tuple[list[int], list[Operation]]:
        """Return the qubits that some qubits' state depends on, and the gates in order.

        Where there is noise, a gate that was left out is the identity, followed by its noise.
        """
        diagonal_later = dict.fromkeys(targets, False)
        kept: list[Operation] = []
        for operation in reversed(self._operations):
            reached = [q for q in operation.qubits if q in diagonal_later]
            if not reached:
                continue
            diagonal = operation.is_diagonal
            if diagonal and all(diagonal_later[q] for q in reached):
                if operation.noise is not None:
                    identity = FixedGate(tuple(reached), np.eye(2 ** len(reached), dtype=complex))
                    here = tuple(slice(4) if q in reached else 0 for q in operation.qubits)
                    kept.append(Operation(identity, operation.noise[here]))
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
            noisy = " with noise" if self._noisy else ""
            raise InputError(
                f"feature_map is too deep for light cones: the state of {what} depends on {size} "
                f"qubits, at most {self.largest} are possible{noisy}; take fewer repetitions, "
                "gates between neighbours only, or fewer qubits (PCA): up to 24 the backend "
                "'statevector' takes any map."
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
            n_qubits, gates, places = self.local(targets)
            size = n_qubits * (2 if self._noisy else 1)
            layers, numbers = fuse_layers(gates, size)
            values = self._values[numbers].reshape(len(numbers), self.n_points)
            evolution, step = Evolution(layers, size), max(1, CHUNK_AMPLITUDES >> size)
            found = [
                self._read(evolution.states(values[:, start : start + step]), places, n_qubits)
                for start in range(0, self.n_points, step)
            ]
            self._known[targets] = np.concatenate(found)
        return self._known[targets]

    def local(self, targets: tuple[int, ...]) -> tuple[int, list[Primitive], tuple[int, ...]]:
        """Return how many qubits a cone has, its gates on them, and the places of the targets."""
        self.check(targets)
        qubits, kept = self.cone(targets)
        place = {qubit: k for k, qubit in enumerate(qubits)}
        gates: list[Primitive] = []
        for operation in kept:
            gates += self._moved(operation, tuple(place[q] for q in operation.qubits), len(qubits))
        return len(qubits), gates, tuple(place[q] for q in targets)

    def _moved(self, operation: Operation, here: tuple[int, ...], n_qubits: int) -> list[Primitive]:
        """Return a gate on its places in the cone; with noise, on both sides and then its noise."""
        gate = replace(operation.gate, qubits=here)
        if not self._noisy:
            return [gate]
        there = tuple(k + n_qubits for k in here)
        other = replace(gate, qubits=there)  # a rotation about Y is its own conjugate
        if isinstance(other, Phases):
            other = replace(other, weights=-other.weights)
        elif isinstance(other, FixedGate):
            other = replace(other, matrix=other.matrix.conj())
        if operation.noise is None:
            return [gate, other]
        return [gate, other, FixedGate((*here, *there), pauli_channel(operation.noise))]

    def _read(self, states: ComplexArray, places: tuple[int, ...], n_qubits: int) -> FloatArray:
        """Return the expectations of one or two qubits from states or density matrices."""
        if self._noisy:
            # The bra's qubits are the more significant ones, and so come first.
            both = (*places, *(place + n_qubits for place in places))
            d, rest = 2 ** len(places), 2 ** (n_qubits - len(places))
            tensor = paired(states, both).reshape(-1, d, d, rest, rest)
            reduced = np.einsum("nbarr->nab", tensor)
        else:
            tensor = paired(states, places)
            reduced = tensor @ tensor.conj().transpose(0, 2, 1)
        if len(places) == 1:
            return np.asarray(np.einsum("nab,pba->np", reduced, PAULIS).real)
        pairs = reduced.reshape(-1, 2, 2, 2, 2)  # second and first target, ket and bra
        found = np.einsum("nsftg,pgf,qts->npq", pairs, PAULIS, PAULIS, optimize=True)
        return np.asarray(found.real)

    def check_all(self) -> None:
        """Refuse a circuit in which the cone of a single qubit is too large."""
        for qubit in range(self.n_qubits):
            self.check((qubit,))

    @cached_property
    def _parents(self) -> dict[int, int | None]:
        """Each qubit with the one that it is drawn after, in the order of drawing."""
        near: list[list[int]] = [[] for _ in range(self.n_qubits)]
        coupled = {
            pair for gate in self._operations for pair in combinations(sorted(gate.qubits), 2)
        }
        for a, b in [*sorted(coupled), *line_edges(self.n_qubits).tolist()]:
            if len(self.cone((a, b))[0]) <= self.largest:
                near[a].append(b)
                near[b].append(a)
        parents: dict[int, int | None] = {}
        for root in range(self.n_qubits):
            parents.setdefault(root, None)
            waiting = deque([root])
            while waiting:
                qubit = waiting.popleft()
                new = [other for other in near[qubit] if other not in parents]
                parents.update(dict.fromkeys(new, qubit))
                waiting.extend(new)
        return parents

    @property
    def joint_pairs(self) -> IntArray:
        """Pairs of qubits whose bits are drawn together, the smaller one first."""
        pairs = [sorted((q, p)) for q, p in self._parents.items() if p is not None]
        return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)

    def draw(self, points: IntArray, letters: IntArray, random: Generator) -> IntArray:
        """Return the bits of one shot for each point and row of letters named."""
        edges = self.joint_pairs
        single, double = np.split(self.expectations(edges), [3 * self.n_qubits], axis=1)
        single = single.reshape(-1, self.n_qubits, 3)
        double = double.reshape(-1, len(edges), 3, 3)
        number = {tuple(edge): k for k, edge in enumerate(edges.tolist())}
        signs = np.empty((len(points), self.n_qubits))
        for qubit, parent in self._parents.items():
            mean = single[points, qubit, letters[:, qubit]]
            if parent is not None:  # ⟨q⟩ where the parent's sign z was seen
                a, b = sorted((qubit, parent))
                joint = double[points, number[a, b], letters[:, a], letters[:, b]]
                z = signs[:, parent]
                seen_before = 1 + z * single[points, parent, letters[:, parent]]
                mean = (mean + z * joint) / np.maximum(seen_before, 1e-15)
            signs[:, qubit] = np.where(2 * random.random(len(points)) < 1 + mean, 1, -1)
        return self.read((signs < 0).astype(np.int64), random)

    def read(self, bits: IntArray, random: Generator) -> IntArray:
        """Return bits as they are read, some of them wrongly."""
        if self._readout is None or not np.any(self._readout):
            return bits
        wrong = self._readout[np.arange(self.n_qubits), bits]
        return np.asarray(bits ^ (random.random(bits.shape) < wrong))


def paired(states: ComplexArray, places: tuple[int, ...], back: bool = False) -> ComplexArray:
    """Return states as a matrix a point, the qubits at some places by all others; or back."""
    n_qubits = states[0].size.bit_length() - 1
    # Qubit k is axis n - k, the points are axis 0; the first place counts least.
    axes, front = [n_qubits - k for k in reversed(places)], range(1, 1 + len(places))
    tensor = states.reshape(-1, *(2,) * n_qubits)
    if back:
        return np.moveaxis(tensor, front, axes).reshape(len(states), -1)
    return np.moveaxis(tensor, axes, front).reshape(len(states), 2 ** len(places), -1)


def pauli_channel(left: FloatArray) -> ComplexArray:
    """Return a mixture of Pauli gates as a matrix on a vector whose high bits are the bra's.

    ``left`` is what it leaves of each product of I, X, Y, Z, with an axis for each qubit.

    >>> pauli_channel(np.array([1.0, 0.0, 0.0, 0.0])).real @ [1, 0, 0, 0]
    array([0.5, 0. , 0. , 0.5])
    """
    d = 2**left.ndim
    products = reduce(lambda low, high: np.kron(high, low), [PAULIS] * left.ndim)
    vectors = products.transpose(0, 2, 1).reshape(d * d, d * d)
    return np.asarray(vectors.T @ (left.T.reshape(-1, 1) / d * vectors.conj()))
