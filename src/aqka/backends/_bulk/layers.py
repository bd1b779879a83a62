"""A stream of primitives fused into a few layers that each pass over the states once.

There are three kinds of layer. *Monomial*: any run of diagonal and permutation gates, kept as one
permutation and one table of phases. *Dense*: fixed gates, multiplied into small blocks. *Turn*:
one-qubit rotations whose angles depend on the point.

States are columns, one a point: each gate is then one long vector operation per amplitude,
whichever qubits it acts on. A layer goes ``forward`` over states, and ``back`` over ψ and λ behind
it to those before it, where it adds Re⟨∂ψ|λ⟩ to the slopes of its angles.
"""

from collections.abc import Callable, Hashable, Set
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

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


Angles = dict[Angle, int]  # the distinct angles of a circuit, each with its number
States = tuple[ComplexArray, ComplexArray]


@dataclass(frozen=True, eq=False)
class SweptAngles:
    """What a sweep back over layers reads of the angles, one column a point, and adds to."""

    values: FloatArray
    slopes: FloatArray  # Re⟨∂ψ|λ⟩
    wanted: Set[int]  # the numbers of those that have any


class MonomialLayer:
    """Output z is exp(i φ(source[z])) times input source[z]; φ is affine in the angles.

    By input state: ``constant``, the part of φ that is the same for every point, and ``weights``,
    for the number of each angle its weight in φ.
    """

    def __init__(self, n_qubits: int) -> None:
        self.source: IntArray = np.arange(2**n_qubits)
        self.constant: FloatArray = np.zeros(2**n_qubits)
        self.weights: dict[int, FloatArray] = {}
        self.n_qubits = n_qubits

    @property
    def varies(self) -> bool:
        return bool(self.weights)

    def add(self, gate: Primitive, angles: Angles) -> bool:
        """Append a gate if it is diagonal or a permutation."""
        if isinstance(gate, Phases):
            number = angles.setdefault(gate.angle, len(angles))
            weight = self.weights.setdefault(number, np.zeros(2**self.n_qubits))
            # Weights are kept by input state: the state that is at z now came from source[z].
            weight[self.source] += gate.weights[local_index(self.n_qubits, gate.qubits)]
        elif isinstance(gate, FixedGate) and gate.monomial is not None:
            source, phase = gate.monomial
            local = local_index(self.n_qubits, gate.qubits)
            self.constant[self.source] += phase[local]
            changed = source[local] ^ local
            flips = np.zeros_like(local)
            for bit, qubit in enumerate(gate.qubits):
                flips |= ((changed >> bit) & 1) << qubit
            self.source = self.source[np.arange(len(local)) ^ flips]
        else:
            return False
        return True

    @property
    def phases(self) -> Hashable:
        """What layers with the same phases, for all values of the angles, have in common."""
        parts = {-1: self.constant, **self.weights}
        # Without -0.0, which has other bytes than 0.0.
        return frozenset((number, sha256((w + 0.0).data).digest()) for number, w in parts.items())

    @cached_property
    def table(self) -> "PhaseTable":
        return PhaseTable(self)

    @cached_property
    def _order(self) -> IntArray:  # undoes the permutation
        return np.argsort(self.source)

    @cached_property
    def _permutes(self) -> bool:
        return not np.array_equal(self.source, np.arange(len(self.source)))

    def forward(self, state: ComplexArray, values: FloatArray) -> ComplexArray:
        state = state * self.table(values)
        return state[self.source] if self._permutes else state

    def back(self, psi: ComplexArray, lam: ComplexArray, angles: SweptAngles) -> States:
        """Undo the layer, whose phases exp(i a w) have ∂ψ = i w ψ."""
        psi, lam = psi[self._order], lam[self._order]
        numbers = sorted(angles.wanted & self.weights.keys())
        if numbers:
            weights = np.array([self.weights[number] for number in numbers])
            angles.slopes[numbers] += weights @ (psi.conj() * lam).imag
        back = self.table(angles.values).conj()
        return psi * back, lam * back


class DenseLayer:
    """Fixed gates on few qubits each, as blocks on disjoint qubits in ascending order."""

    def __init__(self) -> None:
        self._blocks: dict[tuple[int, ...], ComplexArray] = {}

    varies = False

    def add(self, gate: Primitive, angles: Angles) -> bool:
        """Append a fixed gate, unless the block it calls for would become too large."""
        if not isinstance(gate, FixedGate):
            return False
        inside_a_block = any(set(gate.qubits) <= set(block) for block in self._blocks)
        if gate.monomial is not None and not (gate.qubits and inside_a_block):
            return False  # cheaper as part of a monomial layer
        touched = [block for block in self._blocks if set(block) & set(gate.qubits)]
        merged = tuple(sorted(set(gate.qubits).union(*touched)))
        if len(merged) > max(DENSE_QUBITS, len(gate.qubits)):
            return False
        matrix = np.eye(2 ** len(merged), dtype=np.complex128)
        for block in touched:
            matrix = embed(self._blocks.pop(block), block, merged) @ matrix
        self._blocks[merged] = embed(gate.matrix, gate.qubits, merged) @ matrix
        return True

    @cached_property
    def _merged(self) -> list[tuple[tuple[int, ...], ComplexArray]]:
        """The blocks, with neighbours multiplied out into larger ones."""
        merged: list[tuple[tuple[int, ...], ComplexArray]] = []
        for qubits in sorted(self._blocks):
            matrix = self._blocks[qubits]
            if merged:
                before, left = merged[-1]
                joined = before + qubits
                in_a_row = joined == tuple(range(joined[0], joined[0] + len(joined)))
                if in_a_row and len(joined) <= BLOCK_QUBITS:
                    merged[-1] = joined, np.kron(matrix, left).astype(np.complex128)
                    continue
            merged.append((qubits, matrix))
        return merged

    def forward(self, state: ComplexArray, values: FloatArray) -> ComplexArray:
        for qubits, matrix in self._merged:
            state = _apply_block(state, qubits, matrix)
        return state

    def back(self, psi: ComplexArray, lam: ComplexArray, angles: SweptAngles) -> States:
        for qubits, matrix in self._merged:
            back = matrix.conj().T
            psi, lam = _apply_block(psi, qubits, back), _apply_block(lam, qubits, back)
        return psi, lam


class TurnLayer:
    """At most one rotation per qubit, with the number of its angle."""

    def __init__(self) -> None:
        self._rotations: dict[int, int] = {}

    varies = True

    def add(self, gate: Primitive, angles: Angles) -> bool:
        """Append a rotation, if its qubit is still free."""
        if not isinstance(gate, Rotation) or gate.qubits[0] in self._rotations:
            return False
        self._rotations[gate.qubits[0]] = angles.setdefault(gate.angle, len(angles))
        return True

    def forward(self, state: ComplexArray, values: FloatArray) -> ComplexArray:
        points = values.shape[1]
        state = np.ascontiguousarray(np.broadcast_to(state, (len(state), points)))
        for qubit, number in self._rotations.items():
            # Real factors, so the real and imaginary parts are just twice as many points.
            cos, sin = (np.repeat(f(values[number] / 2), 2) for f in (np.cos, np.sin))
            halves = state.view(np.float64).reshape(-1, 2, 2**qubit, 2 * points)
            turned = halves * cos
            turned[:, 0] -= halves[:, 1] * sin
            turned[:, 1] += halves[:, 0] * sin
            state = turned.reshape(-1, 2 * points).view(np.complex128)
        return state

    def back(self, psi: ComplexArray, lam: ComplexArray, angles: SweptAngles) -> States:
        """Undo the layer, whose rotations RY(a) have ∂ψ = (-ψ₁, ψ₀) / 2."""
        for qubit, number in self._rotations.items():
            if number in angles.wanted:
                one, other = (part.reshape(-1, 2, 2**qubit, psi.shape[1]) for part in (psi, lam))
                both = one[:, 0].conj() * other[:, 1] - one[:, 1].conj() * other[:, 0]
                angles.slopes[number] += both.real.sum(axis=(0, 1)) / 2
        return self.forward(psi, -angles.values), self.forward(lam, -angles.values)


Layer = MonomialLayer | DenseLayer | TurnLayer


def embed(matrix: ComplexArray, qubits: tuple[int, ...], onto: tuple[int, ...]) -> ComplexArray:
    """Return a gate's matrix on the larger set of qubits ``onto``."""
    places = tuple(onto.index(qubit) for qubit in qubits)
    local = local_index(len(onto), places)
    others = local_index(len(onto), tuple(set(range(len(onto))) - set(places)))
    same = others[:, None] == others[None, :]
    embedded: ComplexArray = np.where(same, matrix[local[:, None], local], 0.0)
    return embedded


def _apply_block(
    state: ComplexArray, qubits: tuple[int, ...], matrix: ComplexArray
) -> ComplexArray:
    """Return what a fixed gate makes of states, one column per point."""
    size, points = state.shape
    low, count = qubits[0], len(qubits)
    if qubits == tuple(range(low, low + count)):
        stacked = state.reshape(-1, 2**count, 2**low * points)
        return _product(matrix, stacked).reshape(size, points)
    n_qubits = size.bit_length() - 1
    axes = [n_qubits - 1 - qubit for qubit in reversed(qubits)]
    tensor = np.moveaxis(state.reshape((2,) * n_qubits + (points,)), axes, range(count))
    turned = _product(matrix, tensor.reshape(2**count, -1)).reshape(tensor.shape)
    return np.moveaxis(turned, range(count), axes).reshape(size, points)


def _product(matrix: ComplexArray, states: ComplexArray) -> ComplexArray:
    if np.any(matrix.imag):
        return np.asarray(np.matmul(matrix, states))
    # Real and imaginary parts are just more columns to a real matrix: half the work.
    parts = np.ascontiguousarray(states).view(np.float64)
    return np.asarray(np.matmul(np.ascontiguousarray(matrix.real), parts)).view(np.complex128)


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
        self._size = len(layer.source)
        self._constant = _unit(layer.constant[:, None]) if np.any(layer.constant) else None
        self._factors = [_factor(layer, *group) for group in _groups(layer)]
        self._latest: tuple[FloatArray, ComplexArray] | None = None

    def __call__(self, values: FloatArray) -> ComplexArray:
        """Return exp(i φ), basis states by points, for the points' values of all angles."""
        # A chunk's values are one array object for all its steps, so identity is the key.
        if self._latest is not None and self._latest[0] is values:
            return self._latest[1]
        table = self._constant
        for factor in self._factors:
            table = factor(values) if table is None else table * factor(values)
        if table is None:
            table = np.ones((self._size, 1), dtype=np.complex128)
        self._latest = values, table
        return table


def _factor(
    layer: MonomialLayer, numbers: list[int], qubits: tuple[int, ...]
) -> Callable[[FloatArray], ComplexArray]:
    """Return exp of one group's share of φ, computed on the group's own qubits."""
    weights = np.stack([layer.weights[number] for number in numbers], axis=1)
    if len(qubits) == layer.n_qubits:
        return lambda values: _unit(weights @ values[numbers])
    index = local_index(layer.n_qubits, qubits)
    # Any basis state with the right bits on the group's qubits has the right weights.
    weights = weights[np.unique(index, return_index=True)[1]]
    return lambda values: _unit(weights @ values[numbers])[index]


def _groups(layer: MonomialLayer) -> list[tuple[list[int], tuple[int, ...]]]:
    """Return groups of angle numbers, and the qubits that each group depends on."""
    n_qubits = layer.n_qubits
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
