"""Projected kernels from counts of points: one- and two-qubit reduced states (Huang et al. 2021).

A reduced state is given by the expectations of its Pauli operators. Each of them is the mean of
±1 over all shots whose setting has the operator's letters, whatever the letters elsewhere.

Operators that are read from the same shots move together, so each point has a covariance matrix C
of its expectations a, taken from its own shots. A squared distance D = Σ w (a - b)² then has

    Var D ≈ 4 vᵀ(C_a + C_b)v + 2 Tr (W(C_a + C_b))²,  v = w ∘ (a - b), W = diag w

where the second term matters for near points. With the measured a - b the first term is too large
by twice the second, on average, which is taken off again.
"""

from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import BoolArray, FloatArray, IntArray
from aqka.core.points import PointTable
from aqka.core.settings import LETTERS
from aqka.errors import InputError
from aqka.estimates.readout import as_confusion

Locality = int | Literal["neighbours", "all"]
"""Qubits of a reduced state, 1 or 2; two neighbouring ones, q and q + 1; or all, up to four."""
MOST_QUBITS_OF_ALL = 4

PAULI = np.array([[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])
"""X, Y and Z."""


@dataclass(frozen=True, eq=False)
class ReducedStates:
    """Pauli expectations of the reduced states of some points, with their shot noise."""

    expectations: FloatArray  # one row per point, one column per Pauli operator
    variances: FloatArray  # unbiased estimates
    weights: FloatArray  # what an operator's squared difference adds to Σ ‖ρ - σ‖²
    n_states: int  # of a point: n one-qubit ones, n(n-1)/2 two-qubit ones, …
    locality: Locality

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


def reduced_states(
    table: PointTable,
    locality: Locality = 1,
    confusion: FloatArray | None = None,
    otherwise: "ReducedStates | None" = None,
) -> ReducedStates:
    """Return the one-qubit (``locality=1``), two-qubit or other reduced states of all points.

    ``confusion`` are readout errors (:func:`aqka.estimates.readout.confusion_matrices`); the states
    are those before the readout. Where an operator has fewer than two shots it is that of
    ``otherwise``, the states that shots were drawn again from; without it this is refused.
    """
    n = table.n_qubits
    check_locality(locality, n)
    values, matching = operator_values(table, locality, confusion)
    operators = _operators(n, locality)
    shots = table.shots @ matching.T
    few = shots < 2
    if otherwise is None:
        _check_shots(shots, operators)
    shots = np.maximum(shots, 2)
    point, setting = table.cells // table.n_settings, table.cells % table.n_settings
    means, variances = np.empty(shots.shape), np.empty(shots.shape)
    for k, chosen in enumerate(matching[:, setting]):
        counts, value = table.counts[chosen], values[chosen, k]
        mean, square = (
            np.bincount(point[chosen], power * counts, minlength=table.n_points) / shots[:, k]
            for power in (value, value**2)
        )
        means[:, k], variances[:, k] = mean, (square - mean**2) / (shots[:, k] - 1)
    if otherwise is not None:
        means = np.where(few, otherwise.expectations, means)
        variances = np.where(few, otherwise.variances, variances)
    return _states_of(means, variances, operators, locality)


def _states_of(
    means: FloatArray, variances: FloatArray, operators: "list[Operator]", locality: Locality
) -> ReducedStates:
    # ρ = 2^{-k} Σ ⟨P⟩ P with Tr P² = 2^k, so ‖ρ - σ‖² = 2^{-k} Σ (difference of ⟨P⟩)².
    # An operator of fewer qubits belongs to every reduced state that has them.
    largest = len(operators[-1][0])
    states = {group for group, _ in operators if len(group) == largest}
    shared = Counter(
        part
        for state in states
        for size in range(1, largest + 1)
        for part in combinations(state, size)
    )
    weights = [shared[group] / 2**largest for group, _ in operators]
    return ReducedStates(means, variances, np.asarray(weights), len(states), locality)


def check_locality(locality: Locality, n_qubits: int) -> None:
    """Refuse reduced states that points of so many qubits do not have."""
    if locality not in (1, 2, "neighbours", "all"):
        raise InputError(
            f"locality must be 1 or 2 qubits, 'neighbours' or 'all', got {locality!r}."
        )
    if locality == "all" and n_qubits > MOST_QUBITS_OF_ALL:
        raise InputError(
            f"all Pauli operators are measured of points of at most {MOST_QUBITS_OF_ALL} qubits, "
            f"and these have {n_qubits}; take 'neighbours' or 'pairs'."
        )
    if locality == 2 and n_qubits < 2:
        raise InputError(
            f"locality must be at most the {n_qubits} qubit of the points, got {locality!r}."
        )


def least_shots(settings: IntArray, locality: Locality = 1) -> int:
    """Return how many shots a point needs, spread over settings in turn, to have reduced states.

    Each operator needs two, whichever setting the turn begins with.

    >>> least_shots(np.array([[0], [1], [2]]))
    6
    >>> least_shots(np.array([[0, 0], [0, 1], [1, 2], [2, 0]]))
    8
    """
    table, most = PointTable(1, settings), 0
    for matching in operator_values(table, locality)[1]:
        places = np.flatnonzero(matching)
        if len(places) == 0:
            continue  # the reduced states themselves refuse it, by name
        turns = np.concatenate([places, places + len(settings), places + 2 * len(settings)])
        # Between an occurrence and the second after it there is room for one alone.
        most = max(most, int(np.max(turns[2:] - turns[:-2])))
    return most


def readable_points(table: PointTable, locality: Locality = 1) -> IntArray:
    """Return the points that have reduced states: two shots or more for each operator."""
    _, matching = operator_values(table, locality)
    return np.flatnonzero((table.shots @ matching.T).min(axis=1) >= 2)


Operator = tuple[tuple[int, ...], tuple[int, ...]]
"""Qubits and their letters."""


def _operators(n_qubits: int, locality: Locality) -> list[Operator]:
    qubits = range(n_qubits)
    groups: list[tuple[int, ...]]
    if locality == "neighbours":
        groups = [*((q,) for q in qubits), *((q, q + 1) for q in qubits[:-1])]
    else:
        most = n_qubits if locality == "all" else int(locality)
        groups = [group for size in range(1, most + 1) for group in combinations(qubits, size)]
    return [(group, letters) for group in groups for letters in np.ndindex(*(3,) * len(group))]


def operator_names(n_qubits: int, locality: Locality) -> list[str]:
    """Return what the columns of expectations are called.

    >>> operator_names(2, "all")[3:9]
    ['X1', 'Y1', 'Z1', 'X0X1', 'X0Y1', 'X0Z1']
    """
    return [
        "".join(f"{LETTERS[letter]}{qubit}" for qubit, letter in zip(*operator, strict=True))
        for operator in _operators(n_qubits, locality)
    ]


def operator_values(
    table: PointTable, locality: Locality, confusion: FloatArray | None = None
) -> tuple[FloatArray, BoolArray]:
    """Return what a shot of each entry says of each operator, and which settings measure it.

    The first has a row per entry of the table and a column per operator, the second a row per
    operator and a column per setting; where a setting does not measure an operator its value means
    nothing. Where bits are read wrongly a sign z is seen with the mean rz + d,
    r = 1 - P(1|0) - P(0|1) and d = P(0|1) - P(1|0); so a shot counts as (z - d)/r for each qubit.
    """
    n = table.n_qubits
    errors = np.tile(np.eye(2), (n, 1, 1)) if confusion is None else as_confusion(confusion, n)
    wrong_one, wrong_zero = errors[:, 1, 0], errors[:, 0, 1]
    bits = (table.outcomes[:, None] >> np.arange(n)) & 1
    signs = (1 - 2 * bits - (wrong_zero - wrong_one)) / (1 - wrong_one - wrong_zero)
    operators = _operators(n, locality)
    values = np.stack([np.prod(signs[:, group], axis=1) for group, _ in operators], axis=1)
    matching = np.stack(
        [np.all(table.settings[:, group] == letters, axis=1) for group, letters in operators]
    )
    return values, matching


def _check_shots(shots: IntArray, operators: list[Operator]) -> None:
    if shots.min() >= 2:
        return
    point, k = np.unravel_index(int(shots.argmin()), shots.shape)
    qubits, letters = operators[k]
    name = " ".join(f"{LETTERS[a]} on qubit {q}" for q, a in zip(qubits, letters, strict=True))
    raise InputError(
        f"settings must give every point 2 shots or more for each reduced state: point {point} "
        f"has {shots.min()} for {name}; add settings with these letters, or shots."
    )


def squared_distances(states: ReducedStates, others: ReducedStates | None = None) -> FloatArray:
    """Return unbiased estimates of Σ ‖ρ - σ‖² (Frobenius) over the reduced states of two points.

    The shot noise that a squared difference contains is taken off, so a small one may be negative.
    """
    columns = states if others is None else others
    scale = np.sqrt(states.weights)
    left, right = states.expectations * scale, columns.expectations * scale
    left_square = np.sum(left**2 - states.variances * states.weights, axis=1)
    right_square = np.sum(right**2 - columns.variances * columns.weights, axis=1)
    distances = left_square[:, None] + right_square - 2 * left @ right.T
    if others is None:
        np.fill_diagonal(distances, 0.0)
    return np.asarray(distances)


def median_gamma(states: ReducedStates) -> float:
    """Return γ = 1 / the median squared distance: kernel entries are then about 1/e."""
    distances = squared_distances(states)[np.triu_indices(len(states.expectations), k=1)]
    return float(1 / max(float(np.median(distances)), 1e-12)) if distances.size else 1.0


def gaussian_projected_kernel(
    states: ReducedStates,
    gamma: float,
    others: ReducedStates | None = None,
    keep_noise: bool = False,
) -> FloatArray:
    """Return exp(-γ Σ ‖ρ - σ‖²), with negative estimates of a distance taken as 0.

    With ``keep_noise`` the distances are those of the measured expectations, noise and all: the
    matrix is then positive semi-definite, and heads learn better from it
    (docs/explanation/points.md). ``others`` are the points that a head was trained on: their noise
    is kept, and that of the new ``states`` is taken as the mean of theirs, so that what a head says
    of a new point does not depend on how often it was measured.
    """
    distances = squared_distances(states, others)
    if keep_noise:
        columns = states if others is None else others
        noise = columns.variances @ columns.weights
        rows = noise[:, None] if others is None else np.mean(noise)
        distances = distances + rows + noise
        if others is None:
            np.fill_diagonal(distances, 0.0)
    return np.exp(-gamma * np.maximum(distances, 0.0))


def linear_projected_kernel(
    states: ReducedStates, others: ReducedStates | None = None
) -> FloatArray:
    """Return unbiased estimates of Σ Tr ρσ over the reduced states.

    Only the diagonal, a point with itself, has a shot-noise bias to be taken off.
    """
    columns = states if others is None else others
    kernel = (states.expectations * states.weights) @ columns.expectations.T
    if others is None:
        kernel[np.diag_indices_from(kernel)] -= states.variances @ states.weights
    return np.asarray(kernel + states.n_states * states.weights.min())  # 2^{-k}


def exact_reduced_states(vectors: NDArray[np.complex128], locality: Locality = 1) -> ReducedStates:
    """Return the reduced states of exact pure states, one per row; they have no shot noise."""
    n = int(vectors.shape[1]).bit_length() - 1
    operators = _operators(n, locality)
    # Axis 1 + q of the tensor is qubit n - 1 - q: qubit 0 is the least significant bit.
    tensor = np.asarray(vectors).reshape(-1, *(2,) * n)
    means = np.empty((len(vectors), len(operators)))
    for k, (group, letters) in enumerate(operators):
        turned = tensor
        for qubit, letter in zip(group, letters, strict=True):
            axis = n - qubit
            turned = np.moveaxis(np.tensordot(PAULI[letter], turned, axes=(1, axis)), 0, axis)
        means[:, k] = np.sum(tensor.conj() * turned, axis=tuple(range(1, n + 1))).real
    return _states_of(means, np.zeros_like(means), operators, locality)


def expectation_covariances(
    table: PointTable, states: ReducedStates, confusion: FloatArray | None = None
) -> FloatArray:
    """Return the covariance matrix of each point's expectations, points × operators × operators."""
    values, matching = operator_values(table, states.locality, confusion)
    setting, point = table.cells % table.n_settings, table.cells // table.n_settings
    shots = table.shots @ matching.T.astype(np.float64)  # of each point and operator
    size = values.shape[1]
    covariances = np.empty((table.n_points, size, size))
    ends = np.searchsorted(point, np.arange(table.n_points + 1))
    for i in range(table.n_points):
        mine = slice(ends[i], ends[i + 1])
        seen = matching.T[setting[mine]]
        away = np.where(seen, values[mine] - states.expectations[i], 0.0) / shots[i]
        product = (away * table.counts[mine, None]).T @ away
        # n/(n - 1), each operator with its own shots: an unbiased variance on the diagonal.
        unbiased = np.sqrt(shots[i] / (shots[i] - 1))
        covariances[i] = product * np.outer(unbiased, unbiased)
    return covariances


def _traces(covariances: FloatArray, weights: FloatArray) -> FloatArray:
    """Return Tr WC_i WC_j of all points."""
    half = covariances * weights[:, None]
    n_points = len(half)
    return np.asarray(half.reshape(n_points, -1) @ half.transpose(0, 2, 1).reshape(n_points, -1).T)


def distance_variances(
    table: PointTable, states: ReducedStates, confusion: FloatArray | None = None
) -> FloatArray:
    """Return the variances of the squared distances of all points; 0 on the diagonal."""
    covariances = expectation_covariances(table, states, confusion)
    w = states.weights
    scaled = covariances * w[:, None] * w  # W C W: w ∘ (a - b) is applied as a - b
    traces = _traces(covariances, w)
    own = np.diagonal(traces)
    second_order = 2 * (own[:, None] + own + 2 * traces)
    variances = -second_order
    for i, a in enumerate(states.expectations):
        away = a - states.expectations
        mine = np.einsum("jo,op,jp->j", away, scaled[i], away, optimize=True)
        variances[i] += 4 * mine
        variances[:, i] += 4 * mine
    variances = np.maximum(variances, second_order)
    np.fill_diagonal(variances, 0.0)
    return np.asarray(variances)


def overlap_variances(
    table: PointTable, states: ReducedStates, confusion: FloatArray | None = None
) -> FloatArray:
    """Return the variances of Σ Tr ρσ over the reduced states; 0 on the diagonal.

    The overlap of two points is Σ w a b and a constant, so that its variance is
    (wb)ᵀC_a(wb) + (wa)ᵀC_b(wa) + Tr WC_a WC_b. With the measured a and b each of the first two is
    too large by the third, on average, which is taken off again.
    """
    covariances = expectation_covariances(table, states, confusion)
    sides, traces = states.expectations * states.weights, _traces(covariances, states.weights)
    first = np.einsum("jo,iop,jp->ij", sides, covariances, sides, optimize=True)
    variances = np.maximum(first + first.T - traces, traces)
    np.fill_diagonal(variances, 0.0)
    return np.asarray(variances)
