"""Projected kernels from counts of points: one- and two-qubit reduced states (Huang et al. 2021).

A reduced state is given by the expectations of its Pauli operators. Each of them is the mean of
±1 over all shots whose setting has the operator's letters, whatever the letters elsewhere.
"""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import BoolArray, FloatArray, IntArray
from aqka.core.points import PointTable
from aqka.core.settings import LETTERS
from aqka.errors import InputError
from aqka.estimates.readout import as_confusion

PAULI = np.array([[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])
"""X, Y and Z."""


@dataclass(frozen=True, eq=False)
class ReducedStates:
    """Pauli expectations of the reduced states of some points, with their shot noise."""

    expectations: FloatArray  # one row per point, one column per Pauli operator
    variances: FloatArray  # unbiased estimates
    weights: FloatArray  # what an operator's squared difference adds to Σ ‖ρ - σ‖²
    n_states: int  # of a point: n one-qubit ones, or n(n-1)/2 two-qubit ones
    locality: int  # qubits of a reduced state, 1 or 2

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
    locality: int = 1,
    confusion: FloatArray | None = None,
    otherwise: "ReducedStates | None" = None,
) -> ReducedStates:
    """Return the one-qubit (``locality=1``) or two-qubit reduced states of all points.

    ``confusion`` are readout errors (:func:`aqka.estimates.readout.confusion_matrices`); the states
    are those before the readout. Where an operator has fewer than two shots it is that of
    ``otherwise``, the states that shots were drawn again from; without it this is refused.
    """
    if locality not in (1, 2):
        raise InputError(f"locality must be 1 or 2 qubits, got {locality!r}.")
    n = table.n_qubits
    if locality > n:
        raise InputError(f"locality must be at most the {n} qubit of the points, got {locality}.")
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
    return _states_of(means, variances, operators, n, locality)


def _states_of(
    means: FloatArray, variances: FloatArray, operators: "list[Operator]", n: int, locality: int
) -> ReducedStates:
    # ρ = 2^{-k} Σ ⟨P⟩ P with Tr P² = 2^k, so ‖ρ - σ‖² = 2^{-k} Σ (difference of ⟨P⟩)².
    # A one-qubit operator belongs to every pair that has its qubit.
    shared = n - 1 if locality == 2 else 1
    weights = [(shared if len(group) == 1 else 1) / 2**locality for group, _ in operators]
    n_states = n * (n - 1) // 2 if locality == 2 else n
    return ReducedStates(means, variances, np.asarray(weights), n_states, locality)


def least_shots(settings: IntArray, locality: int = 1) -> int:
    """Return how many shots a point needs, spread over settings in turn, to have reduced states.

    Each operator needs two, whichever setting the turn begins with.

    Examples
    --------
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


def readable_points(table: PointTable, locality: int = 1) -> IntArray:
    """Return the points that have reduced states: two shots or more for each operator."""
    _, matching = operator_values(table, locality)
    return np.flatnonzero((table.shots @ matching.T).min(axis=1) >= 2)


Operator = tuple[tuple[int, ...], tuple[int, ...]]
"""Qubits and their letters."""


def _operators(n_qubits: int, locality: int) -> list[Operator]:
    groups: list[tuple[int, ...]] = [(q,) for q in range(n_qubits)]
    if locality == 2:
        groups += list(combinations(range(n_qubits), 2))
    return [(group, letters) for group in groups for letters in np.ndindex(*(3,) * len(group))]


def operator_values(
    table: PointTable, locality: int, confusion: FloatArray | None = None
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
    return np.asarray(kernel + states.n_states / 2**states.locality)


def exact_reduced_states(vectors: NDArray[np.complex128], locality: int = 1) -> ReducedStates:
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
    return _states_of(means, np.zeros_like(means), operators, n, locality)
