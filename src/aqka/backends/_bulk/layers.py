"""A stream of primitives fused into a few layers that each pass over the states once.

There are three kinds of layer. *Monomial*: any run of diagonal and permutation gates, kept as one
permutation and one table of phases. *Dense*: fixed gates, multiplied into small blocks. *Turn*:
one-qubit rotations whose angles depend on the point. A gate goes to the earliest layer of
its kind that no later gate on its qubits has closed off, so the order in which a circuit happens
to list commuting gates does not matter.
"""

from collections.abc import Iterable

import numpy as np

from aqka._util.arrays import ComplexArray, FloatArray, IntArray
from aqka.backends._bulk.gates import (
    DENSE_QUBITS,
    Angle,
    FixedGate,
    Phases,
    Primitive,
    Rotation,
    local_index,
)

# Neighbouring blocks of a dense layer are multiplied out up to this size: fewer passes over the
# states, at 2^k multiplications per amplitude.
BLOCK_QUBITS = 4


Angles = dict[Angle, int]
"""The distinct angles of a circuit, each with its number."""


class MonomialLayer:
    """Output z is exp(i φ(source[z])) times input source[z]; φ is affine in the angles.

    By input state: ``constant``, the part of φ that is the same for every point, and ``weights``,
    for the number of each angle its weight in φ.
    """

    def __init__(self, n_qubits: int) -> None:
        self.source: IntArray = np.arange(2**n_qubits)
        self.constant: FloatArray = np.zeros(2**n_qubits)
        self.weights: dict[int, FloatArray] = {}
        self._n_qubits = n_qubits

    @property
    def varies(self) -> bool:
        """Whether the layer differs from point to point."""
        return bool(self.weights)

    def add(self, gate: Primitive, angles: Angles) -> bool:
        """Append a gate if it is diagonal or a permutation."""
        if isinstance(gate, Phases):
            number = angles.setdefault(gate.angle, len(angles))
            weight = self.weights.setdefault(number, np.zeros(2**self._n_qubits))
            # Weights are kept by input state: the state that is at z now came from source[z].
            weight[self.source] += gate.weights[local_index(self._n_qubits, gate.qubits)]
        elif isinstance(gate, FixedGate) and gate.monomial is not None:
            self._permute(gate.qubits, *gate.monomial)
        else:
            return False
        return True

    def _permute(self, qubits: tuple[int, ...], source: IntArray, phase: FloatArray) -> None:
        local = local_index(self._n_qubits, qubits)
        self.constant[self.source] += phase[local]
        changed = source[local] ^ local
        flips = np.zeros_like(local)
        for bit, qubit in enumerate(qubits):
            flips |= ((changed >> bit) & 1) << qubit
        self.source = self.source[np.arange(len(local)) ^ flips]


class DenseLayer:
    """Fixed gates on few qubits each, as blocks on disjoint qubits in ascending order."""

    def __init__(self) -> None:
        self.blocks: dict[tuple[int, ...], ComplexArray] = {}

    varies = False

    def add(self, gate: Primitive, angles: Angles) -> bool:
        """Append a fixed gate, unless the block it calls for would become too large."""
        if not isinstance(gate, FixedGate):
            return False
        inside_a_block = any(set(gate.qubits) <= set(block) for block in self.blocks)
        if gate.monomial is not None and not (gate.qubits and inside_a_block):
            return False  # cheaper as part of a monomial layer
        touched = [block for block in self.blocks if set(block) & set(gate.qubits)]
        merged = tuple(sorted(set(gate.qubits).union(*touched)))
        if len(merged) > max(DENSE_QUBITS, len(gate.qubits)):
            return False
        matrix = np.eye(2 ** len(merged), dtype=np.complex128)
        for block in touched:
            matrix = embed(self.blocks.pop(block), block, merged) @ matrix
        self.blocks[merged] = embed(gate.matrix, gate.qubits, merged) @ matrix
        return True

    def merged_blocks(self) -> list[tuple[tuple[int, ...], ComplexArray]]:
        """Return the blocks, with neighbours multiplied out into larger ones."""
        merged: list[tuple[tuple[int, ...], ComplexArray]] = []
        for qubits in sorted(self.blocks):
            matrix = self.blocks[qubits]
            if merged:
                before, left = merged[-1]
                joined = before + qubits
                in_a_row = joined == tuple(range(joined[0], joined[0] + len(joined)))
                if in_a_row and len(joined) <= BLOCK_QUBITS:
                    merged[-1] = joined, np.kron(matrix, left).astype(np.complex128)
                    continue
            merged.append((qubits, matrix))
        return merged


class TurnLayer:
    """At most one rotation per qubit, with the number of its angle."""

    def __init__(self) -> None:
        self.rotations: dict[int, int] = {}

    varies = True

    def add(self, gate: Primitive, angles: Angles) -> bool:
        """Append a rotation, if its qubit is still free."""
        if not isinstance(gate, Rotation) or gate.qubits[0] in self.rotations:
            return False
        self.rotations[gate.qubits[0]] = angles.setdefault(gate.angle, len(angles))
        return True


Layer = MonomialLayer | DenseLayer | TurnLayer


def fuse_layers(gates: Iterable[Primitive], n_qubits: int) -> tuple[list[Layer], list[Angle]]:
    """Return the layers of a circuit, and the angles whose numbers they use."""
    layers: list[Layer] = []
    angles: Angles = {}
    latest: dict[int, int] = {}  # for each qubit, the last layer that acts on it
    for gate in gates:
        earliest = max((latest.get(qubit, 0) for qubit in gate.qubits), default=0)
        for place in range(earliest, len(layers)):
            if layers[place].add(gate, angles):
                break
        else:
            place = len(layers)
            layers.append(_new_layer(gate, n_qubits))
            layers[place].add(gate, angles)
        latest.update(dict.fromkeys(gate.qubits, place))
    return layers, list(angles)


def _new_layer(gate: Primitive, n_qubits: int) -> Layer:
    if isinstance(gate, Rotation):
        return TurnLayer()
    if isinstance(gate, FixedGate) and gate.monomial is None:
        return DenseLayer()
    return MonomialLayer(n_qubits)


def embed(matrix: ComplexArray, qubits: tuple[int, ...], onto: tuple[int, ...]) -> ComplexArray:
    """Return a gate's matrix on the larger set of qubits ``onto``."""
    places = tuple(onto.index(qubit) for qubit in qubits)
    local = local_index(len(onto), places)
    others = local_index(len(onto), tuple(set(range(len(onto))) - set(places)))
    same = others[:, None] == others[None, :]
    embedded: ComplexArray = np.where(same, matrix[local[:, None], local], 0.0)
    return embedded


# An exponential costs as much as about ten multiplications of states: with more factors than
# this, one exponential per amplitude is the faster way.
MAX_FACTORS = 6
# Below this many qubits the exponentials are too few to matter.
MIN_QUBITS = 6


class PhaseTable:
    """The phases of a monomial layer, φ = constant + weights · angles.

    Each angle's weight depends on few qubits, say one or two. Angles are gathered into groups
    that together depend on at most half of the qubits, so that a group needs 2^(n/2) exponentials
    instead of 2^n, and exp(i φ) is the product of the groups' factors.
    """

    def __init__(self, layer: MonomialLayer) -> None:
        self._layer = layer
        self._constant = _unit(layer.constant[:, None]) if np.any(layer.constant) else None
        self._factors = [_Factor(group, layer) for group in _groups(layer)]
        self._latest: tuple[FloatArray, ComplexArray] | None = None

    def equals(self, other: "PhaseTable") -> bool:
        """Return whether both tables have the same phases for all values of the angles."""
        mine, theirs = self._layer, other._layer
        return (
            mine.weights.keys() == theirs.weights.keys()
            and np.array_equal(mine.constant, theirs.constant)
            and all(np.array_equal(w, theirs.weights[k]) for k, w in mine.weights.items())
        )

    def __call__(self, values: FloatArray) -> ComplexArray:
        """Return exp(i φ), basis states by points, for the points' values of all angles."""
        # A chunk's values are one array object for all its steps, so identity is the key.
        if self._latest is not None and self._latest[0] is values:
            return self._latest[1]
        table = self._constant
        for factor in self._factors:
            table = factor(values) if table is None else table * factor(values)
        if table is None:
            table = np.ones((len(self._layer.source), 1), dtype=np.complex128)
        self._latest = values, table
        return table


class _Factor:
    """exp of one group's share of φ, computed on the group's own qubits."""

    def __init__(self, group: tuple[list[int], tuple[int, ...]], layer: MonomialLayer) -> None:
        self._numbers, qubits = group
        self._weights = np.stack([layer.weights[number] for number in self._numbers], axis=1)
        self._index: IntArray | None = None
        n_qubits = len(layer.source).bit_length() - 1
        if len(qubits) < n_qubits:
            self._index = local_index(n_qubits, qubits)
            # Any basis state with the right bits on the group's qubits has the right weights.
            self._weights = self._weights[np.unique(self._index, return_index=True)[1]]

    def __call__(self, values: FloatArray) -> ComplexArray:
        table = _unit(self._weights @ values[self._numbers])
        return table if self._index is None else table[self._index]


def _groups(layer: MonomialLayer) -> list[tuple[list[int], tuple[int, ...]]]:
    """Return groups of angle numbers, and the qubits that each group depends on."""
    n_qubits = len(layer.source).bit_length() - 1
    everything = [(list(layer.weights), tuple(range(n_qubits)))] if layer.weights else []
    if n_qubits < MIN_QUBITS:
        return everything
    groups: list[tuple[list[int], set[int]]] = []
    supports = {number: _support(weight) for number, weight in layer.weights.items()}
    for number in sorted(supports, key=lambda k: min(supports[k], default=0)):
        support = supports[number]
        if len(support) > n_qubits // 2:
            return everything
        for numbers, qubits in groups:
            if len(qubits | support) <= n_qubits // 2:
                numbers.append(number)
                qubits |= support
                break
        else:
            groups.append(([number], set(support)))
    if len(groups) > MAX_FACTORS:
        return everything
    return [(numbers, tuple(sorted(qubits))) for numbers, qubits in groups]


def _support(weight: FloatArray) -> set[int]:
    """Return the qubits that a weight depends on."""
    n_qubits = len(weight).bit_length() - 1
    halves = ((q, weight.reshape(-1, 2, 2**q)) for q in range(n_qubits))
    return {q for q, pair in halves if not np.array_equal(pair[:, 0], pair[:, 1])}


def _unit(phase: FloatArray) -> ComplexArray:
    table = np.empty(phase.shape, dtype=np.complex128)
    np.cos(phase, out=table.real)
    np.sin(phase, out=table.imag)
    return table
