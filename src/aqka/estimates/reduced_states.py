"""One- and two-qubit reduced states from counts of points, or all Pauli strings of few qubits.

A reduced state is given by the expectations of its Pauli operators. Each of them is the mean of
±1 over all shots whose setting has the operator's letters, whatever the letters elsewhere. A
setting measures one operator of every qubit and of every edge, so that expectations are sums of
blocks, the setting's entries × qubits and edges, and never of entries × all operators.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations, product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aqka._util.arrays import FloatArray, IntArray
from aqka.core.outcomes import bits_of
from aqka.core.points import PointTable
from aqka.core.settings import LETTERS, all_edges, as_edges, line_edges
from aqka.errors import InputError
from aqka.estimates.readout import as_confusion

ALL_STRINGS = 4  # qubits of which all Pauli strings can be read: 255 operators in 81 settings
PAULI = np.array([[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])  # X, Y and Z


@dataclass(frozen=True, eq=False)
class ReducedStates:
    """Pauli expectations of the reduced states of some points, with their shot noise."""

    expectations: FloatArray  # one row per point, one column per Pauli operator
    variances: FloatArray  # unbiased estimates
    weights: FloatArray  # what an operator's squared difference adds to Σ ‖ρ - σ‖²
    n_states: int  # of a point: n one-qubit ones, or a two-qubit one for each edge
    operators: "Operators"  # what the columns are

    def subset(self, points: slice | IntArray) -> "ReducedStates":
        """Return the states of some of the points."""
        return replace(
            self, expectations=self.expectations[points], variances=self.variances[points]
        )

    def joined(self, others: "ReducedStates") -> "ReducedStates":
        """Return these points and then others, reduced in the same way."""
        return replace(
            self,
            expectations=np.vstack([self.expectations, others.expectations]),
            variances=np.vstack([self.variances, others.variances]),
        )


Pairs = str | ArrayLike  # of qubits with two-qubit states: "neighbours" on a line, "all", or rows


@dataclass(frozen=True, eq=False)
class Operators:
    """The Pauli operators of reduced states: three a qubit, nine an edge, 3ᵏ a larger set of k."""

    n_qubits: int
    edges: IntArray  # pairs of qubits with two-qubit states, one a row; none for one-qubit states
    larger: tuple[IntArray, ...] = ()  # all sets of three, four …, where all strings are read

    @classmethod
    def of(cls, n_qubits: int, locality: int = 1, pairs: Pairs = "neighbours") -> "Operators":
        """Return those of one-qubit states, of two-qubit ones (``locality=2``), or all strings.

        ``locality=4`` are all Pauli strings of points of up to four qubits.
        """
        if locality not in (1, 2, ALL_STRINGS):
            raise InputError(
                f"locality must be 1 or 2 qubits, or {ALL_STRINGS} for all Pauli strings of as "
                f"many, got {locality!r}."
            )
        if locality == ALL_STRINGS:
            if n_qubits > ALL_STRINGS:
                raise InputError(
                    f"all Pauli strings are read of at most {ALL_STRINGS} qubits, and the points "
                    f"have {n_qubits}; take the operators of single qubits or of pairs."
                )
            sizes = (combinations(range(n_qubits), k) for k in range(3, n_qubits + 1))
            larger = tuple(np.array(list(sets)) for sets in sizes)
            return cls(n_qubits, np.asarray(all_edges(n_qubits)), larger)
        if locality > n_qubits:
            raise InputError(
                f"locality must be at most the {n_qubits} qubit of the points, got {locality}; "
                "points of 1 feature(s) take the kernel 'projected'."
            )
        if locality == 1:
            return cls(n_qubits, np.zeros((0, 2), dtype=np.int64))
        if isinstance(pairs, str):
            if pairs not in ("neighbours", "all"):
                raise InputError(f"pairs must be 'neighbours', 'all' or edges, got {pairs!r}.")
            pairs = (line_edges if pairs == "neighbours" else all_edges)(n_qubits)
        return cls(n_qubits, as_edges(pairs, n_qubits))

    @property
    def size(self) -> int:
        """Number of operators: those of qubit q are 3q and on, those of edge e 3n + 9e and on."""
        return sum(len(sets) * 3 ** sets.shape[1] for sets in self.supports)

    @property
    def supports(self) -> list[IntArray]:
        """Qubits that operators act on: each of them, the edges, larger sets."""
        return [np.arange(self.n_qubits)[:, None], self.edges, *self.larger]

    @property
    def locality(self) -> int:
        """Qubits of a reduced state."""
        if self.larger:
            return self.n_qubits
        return 2 if len(self.edges) else 1

    @property
    def n_states(self) -> int:
        """Reduced states of a point."""
        return 1 if self.larger else len(self.edges) or self.n_qubits

    def measured(self, settings: IntArray) -> IntArray:
        """Return the operator of each qubit and each edge that a setting measures, a row each."""
        columns, start = [], 0
        for sets in self.supports:
            letters = 3 ** np.arange(sets.shape[1])[::-1]  # the first qubit's counts most
            of_set = start + 3 ** sets.shape[1] * np.arange(len(sets))
            columns.append(of_set + settings[:, sets] @ letters)
            start += len(sets) * 3 ** sets.shape[1]
        return np.concatenate(columns, axis=1)

    def shots(self, table: PointTable) -> IntArray:
        """Return the shots of each point that measure each operator."""
        found = np.zeros((table.n_points, self.size), dtype=np.int64)
        for setting, measured in enumerate(self.measured(table.settings)):
            found[:, measured] += table.shots[:, setting, None]
        return found

    def weights(self) -> FloatArray:
        """Return what each operator's squared difference adds to Σ ‖ρ - σ‖².

        ρ = 2^{-k} Σ ⟨P⟩ P with Tr P² = 2^k, so ‖ρ - σ‖² = 2^{-k} Σ (difference of ⟨P⟩)². A
        one-qubit operator belongs to every edge that has its qubit.
        """
        if self.locality == 1 or self.larger:
            return np.full(self.size, 0.5**self.locality)
        degrees = np.bincount(self.edges.reshape(-1), minlength=self.n_qubits)
        return np.concatenate([np.repeat(degrees, 3), np.ones(9 * len(self.edges))]) / 4

    def names(self) -> list[str]:
        """Return the names of all operators, such as "Z1" or "X0Y1"."""
        return [
            "".join(f"{letter}{qubit}" for letter, qubit in zip(letters, qubits, strict=True))
            for sets in self.supports
            for qubits in sets.tolist()
            for letters in product(LETTERS, repeat=len(qubits))
        ]


def reduced_states(
    table: PointTable,
    locality: int = 1,
    confusion: FloatArray | None = None,
    otherwise: "ReducedStates | None" = None,
    pairs: Pairs = "neighbours",
) -> ReducedStates:
    """Return the one-qubit (``locality=1``) or two-qubit reduced states of all points.

    Two-qubit states are those of ``pairs``. ``confusion`` are readout errors, a 2 × 2 matrix for
    each qubit (:func:`aqka.estimates.readout.confusion_matrices`), and the states those before the
    readout. Where an operator has fewer than two shots it is that of ``otherwise``, the states that
    shots were drawn again from; without it this is refused.
    """
    operators = Operators.of(table.n_qubits, locality, pairs)
    shots = operators.shots(table)
    few = shots < 2
    if otherwise is None and few.any():
        point, k = np.unravel_index(int(shots.argmin()), shots.shape)
        raise InputError(
            f"settings must give every point 2 shots or more for each reduced state: point {point} "
            f"has {shots.min()} for {operators.names()[k]}; add settings with these letters, or "
            "shots."
        )
    shots = np.maximum(shots, 2)
    means, squares = np.zeros(shots.shape), np.zeros(shots.shape)
    for measured, entries, values in operator_values(table, operators, confusion):
        points = table.cells[entries] // table.n_settings
        first = np.flatnonzero(np.diff(points, prepend=-1))
        counts = table.counts[entries, None]
        place = np.ix_(points[first], measured)
        means[place] += np.add.reduceat(counts * values, first)
        # Without readout errors a value is ±1, so its square needs no sum.
        squares[place] += np.add.reduceat(counts * (1 if confusion is None else values**2), first)
    means, squares = means / shots, squares / shots
    variances = (squares - means**2) / (shots - 1)
    if otherwise is not None:
        means = np.where(few, otherwise.expectations, means)
        variances = np.where(few, otherwise.variances, variances)
    return ReducedStates(means, variances, operators.weights(), operators.n_states, operators)


def least_shots(settings: IntArray, locality: int = 1, pairs: Pairs = "neighbours") -> int:
    """Return how many shots a point needs, spread over settings in turn, to have reduced states.

    Each operator needs two, whichever setting the turn begins with.
    """
    measured = Operators.of(settings.shape[1], locality, pairs).measured(settings)
    most, count = 0, len(settings)
    operators, setting = measured.reshape(-1), np.repeat(np.arange(count), measured.shape[1])
    order = np.lexsort((setting, operators))
    starts = np.flatnonzero(np.diff(operators[order], prepend=-1))
    for places in np.split(setting[order], starts[1:]):
        turns = np.concatenate([places, places + count, places + 2 * count])
        # Between an occurrence and the second after it there is room for one alone.
        most = max(most, int(np.max(turns[2:] - turns[:-2])))
    return most  # an operator without a setting is refused by the reduced states, by name


def readable_points(table: PointTable, locality: int = 1, pairs: Pairs = "neighbours") -> IntArray:
    """Return the points that have reduced states: two shots or more for each operator."""
    shots = Operators.of(table.n_qubits, locality, pairs).shots(table)
    return np.flatnonzero(shots.min(axis=1) >= 2)


def operator_values(
    table: PointTable, operators: Operators, confusion: FloatArray | None = None
) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Yield for each setting its operators, its entries, and what a shot of each says of each.

    Where bits are read wrongly a sign z is seen with the mean rz + d, r = 1 - P(1|0) - P(0|1) and
    d = P(0|1) - P(1|0); so a shot counts as (z - d)/r for each qubit.
    """
    n = table.n_qubits
    errors = np.tile(np.eye(2), (n, 1, 1)) if confusion is None else as_confusion(confusion, n)
    wrong_one, wrong_zero = errors[:, 1, 0], errors[:, 0, 1]
    setting = table.cells % table.n_settings
    for k, measured in enumerate(operators.measured(table.settings)):
        entries = np.flatnonzero(setting == k)
        if entries.size:
            bits = bits_of(table.outcomes[entries], n)
            signs = (1 - 2 * bits - (wrong_zero - wrong_one)) / (1 - wrong_one - wrong_zero)
            products = [
                reduce(np.multiply, (signs[:, qubits] for qubits in sets.T))
                for sets in operators.supports
            ]
            yield measured, entries, np.concatenate(products, axis=1)


FEW_SHOTS = 30  # of an operator: with more its noise is too small for shrinking to help


def shrunk_to_signal(states: ReducedStates, shots: float) -> ReducedStates:
    """Return states whose operators weigh as much as they are signal, where shots are few.

    Each operator's deviations from its mean are multiplied by c = max(0, 1 - v / Var), with the
    mean v of its shot-noise variances and its variance over the points. In distances the means
    cancel, so that it is enough to weigh an operator by c² (docs/explanation/points.md).
    ``shots`` are those of an operator, on average.
    """
    if shots >= FEW_SHOTS or len(states.expectations) < 2:
        return states
    spread = states.expectations.var(axis=0, ddof=1)
    c = np.maximum(0.0, 1 - states.variances.mean(axis=0) / np.maximum(spread, 1e-12))
    return replace(states, weights=states.weights * c**2) if np.any(c) else states


def exact_reduced_states(
    vectors: NDArray[np.complex128], locality: int = 1, pairs: Pairs = "neighbours"
) -> ReducedStates:
    """Return the reduced states of exact pure states, one per row; they have no shot noise."""
    n = int(vectors.shape[1]).bit_length() - 1
    operators = Operators.of(n, locality, pairs)
    tensor = np.asarray(vectors).reshape(-1, *(2,) * n)
    means = []
    for sets in operators.supports:
        for qubits, letters in product(sets.tolist(), product(range(3), repeat=sets.shape[1])):
            turned = tensor
            for qubit, letter in zip(qubits, letters, strict=True):
                axis = n - qubit  # qubit 0 is the least significant bit
                turned = np.tensordot(PAULI[letter], turned, axes=(1, axis))
                turned = np.moveaxis(turned, 0, axis)
            means.append(np.sum(tensor.conj() * turned, axis=tuple(range(1, n + 1))).real)
    return given_states(np.stack(means, axis=1), operators)


def given_states(expectations: FloatArray, operators: Operators) -> ReducedStates:
    """Return reduced states of exact expectations, which have no shot noise."""
    none = np.zeros_like(expectations)
    return ReducedStates(expectations, none, operators.weights(), operators.n_states, operators)
