"""Fusion: a stream of primitives becomes a few layers that each pass over the states once.

There are three kinds of layer. *Monomial*: any run of diagonal and permutation gates, kept as one
permutation and one table of phases. *Dense*: fixed gates, multiplied into small blocks. *Turn*:
one-qubit rotations whose angles depend on the point. A gate goes to the earliest layer of
its kind that no later gate on its qubits has closed off, so the order in which a circuit happens
to list commuting gates does not matter.
"""

from collections.abc import Iterable

import numpy as np

from aqka.arrays import FloatArray, IntArray
from aqka.backends._gates import (
    DENSE_QUBITS,
    Angle,
    ComplexArray,
    Fixed,
    Phases,
    Primitive,
    Rotation,
    local_index,
    monomial,
)

# Neighbouring blocks of a dense layer are multiplied out up to this size: fewer passes over the
# states, at 2^k multiplications per amplitude.
BLOCK_QUBITS = 4


class Angles:
    """The distinct angles of a circuit, each known by its number."""

    def __init__(self) -> None:
        self._numbers: dict[Angle, int] = {}

    def number(self, angle: Angle) -> int:
        """Return the angle's number, a new one if it was not met before."""
        return self._numbers.setdefault(angle, len(self._numbers))

    def all(self) -> list[Angle]:
        """Return the angles in the order of their numbers."""
        return list(self._numbers)


class Monomial:
    """Output z is exp(i φ(source[z])) times input source[z]; φ is affine in the angles.

    Attributes
    ----------
    source
        The permutation.
    constant
        The part of φ that is the same for every point, by input state.
    weights
        For the number of each angle, its weight in φ by input state.
    """

    def __init__(self, n_qubits: int) -> None:
        self.qubits: set[int] = set()
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
            weight = self.weights.setdefault(angles.number(gate.angle), np.zeros(2**self._n_qubits))
            # Weights are kept by input state: the state that is at z now came from source[z].
            weight[self.source] += gate.weights[local_index(self._n_qubits, gate.qubits)]
        elif isinstance(gate, Fixed) and (parts := monomial(gate.matrix)) is not None:
            self._permute(gate.qubits, *parts)
        else:
            return False
        self.qubits.update(gate.qubits)
        return True

    def _permute(self, qubits: tuple[int, ...], source: IntArray, phase: FloatArray) -> None:
        local = local_index(self._n_qubits, qubits)
        self.constant[self.source] += phase[local]
        changed = source[local] ^ local
        flips = np.zeros_like(local)
        for bit, qubit in enumerate(qubits):
            flips |= ((changed >> bit) & 1) << qubit
        self.source = self.source[np.arange(len(local)) ^ flips]


class Dense:
    """Fixed gates on few qubits each, as blocks on disjoint qubits in ascending order."""

    def __init__(self) -> None:
        self.blocks: dict[tuple[int, ...], ComplexArray] = {}

    varies = False

    @property
    def qubits(self) -> set[int]:
        """The qubits that some block acts on."""
        return {qubit for block in self.blocks for qubit in block}

    def add(self, gate: Primitive, angles: Angles) -> bool:
        """Append a fixed gate, unless the block it calls for would become too large."""
        if not isinstance(gate, Fixed):
            return False
        touched = [block for block in self.blocks if set(block) & set(gate.qubits)]
        merged = tuple(sorted(set(gate.qubits).union(*touched)))
        if len(merged) > max(DENSE_QUBITS, len(gate.qubits)):
            return False
        matrix = np.eye(2 ** len(merged), dtype=np.complex128)
        for block in touched:
            matrix = _embed(self.blocks.pop(block), block, merged) @ matrix
        self.blocks[merged] = _embed(gate.matrix, gate.qubits, merged) @ matrix
        return True

    def absorbs(self, gate: Fixed) -> bool:
        """Return whether a gate fits inside one existing block, where it costs nothing."""
        return any(set(gate.qubits) <= set(block) for block in self.blocks)

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


class Turn:
    """At most one rotation per qubit: the numbers of theta, phi and lam."""

    def __init__(self) -> None:
        self.rotations: dict[int, tuple[int, int, int]] = {}

    varies = True

    @property
    def qubits(self) -> set[int]:
        """The qubits that are turned."""
        return set(self.rotations)

    def add(self, gate: Primitive, angles: Angles) -> bool:
        """Append a rotation, if its qubit is still free."""
        if not isinstance(gate, Rotation) or gate.qubit in self.rotations:
            return False
        theta, phi, lam = (angles.number(a) for a in (gate.theta, gate.phi, gate.lam))
        self.rotations[gate.qubit] = theta, phi, lam
        return True


Layer = Monomial | Dense | Turn


def fuse(gates: Iterable[Primitive], n_qubits: int) -> tuple[list[Layer], list[Angle]]:
    """Return the layers of a circuit, and the angles whose numbers they use."""
    layers: list[Layer] = []
    angles = Angles()
    for gate in gates:
        qubits = {gate.qubit} if isinstance(gate, Rotation) else set(gate.qubits)
        last = max((k for k, layer in enumerate(layers) if layer.qubits & qubits), default=0)
        candidates = [layer for layer in layers[last:] if _suits(layer, gate)]
        if not any(layer.add(gate, angles) for layer in candidates):
            layers.append(_new_layer(gate, n_qubits))
            layers[-1].add(gate, angles)
    return layers, angles.all()


def _suits(layer: Layer, gate: Primitive) -> bool:
    """Return whether the gate may go there: a permutation stays out of new dense blocks."""
    if isinstance(layer, Dense) and isinstance(gate, Fixed):
        return monomial(gate.matrix) is None or layer.absorbs(gate)
    return True


def _new_layer(gate: Primitive, n_qubits: int) -> Layer:
    if isinstance(gate, Rotation):
        return Turn()
    if isinstance(gate, Fixed) and monomial(gate.matrix) is None:
        return Dense()
    return Monomial(n_qubits)


def _embed(matrix: ComplexArray, qubits: tuple[int, ...], onto: tuple[int, ...]) -> ComplexArray:
    """Return the gate's matrix on the larger set of qubits ``onto``."""
    places = tuple(onto.index(qubit) for qubit in qubits)
    local = local_index(len(onto), places)
    others = local_index(len(onto), tuple(set(range(len(onto))) - set(places)))
    same = others[:, None] == others[None, :]
    embedded: ComplexArray = np.where(same, matrix[np.ix_(local, local)], 0.0)
    return embedded
