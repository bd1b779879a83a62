"""exp(i φ) for every basis state and point, with as few exponentials as the gates allow."""

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka.backends._bulk.gates import ComplexArray, local_index
from aqka.backends._bulk.layers import MonomialLayer

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
