"""Projected kernels from counts of points: one- and two-qubit reduced states (Huang et al. 2021).

A reduced state is given by the expectations of its Pauli operators. Each of them is the mean of
±1 over all shots whose setting has the operator's letters, whatever the letters elsewhere.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.points import PointTable
from aqka.core.settings import LETTERS
from aqka.errors import InputError
from aqka.estimates.readout import as_confusion


@dataclass(frozen=True, eq=False)
class ReducedStates:
    """Pauli expectations of the reduced states of some points, with their shot noise.

    Attributes
    ----------
    expectations
        One row per point, one column per Pauli operator.
    variances
        Unbiased estimates of the variances of the expectations.
    weights
        What each operator's squared difference adds to Σ ‖ρ - σ‖² over the reduced states.
    n_states
        Reduced states of a point: n one-qubit ones, or n(n-1)/2 two-qubit ones.
    locality
        Qubits of a reduced state, 1 or 2.
    """

    expectations: FloatArray
    variances: FloatArray
    weights: FloatArray
    n_states: int
    locality: int


def reduced_states(
    table: PointTable, locality: int = 1, confusion: FloatArray | None = None
) -> ReducedStates:
    """Return the one-qubit (``locality=1``) or two-qubit reduced states of all points.

    ``confusion`` are readout errors, a 2 × 2 matrix for each qubit
    (:func:`aqka.estimates.readout.confusion_matrices`), and the states those before the readout.
    """
    if locality not in (1, 2):
        raise InputError(f"locality must be 1 or 2 qubits, got {locality!r}.")
    n = table.n_qubits
    if locality > n:
        raise InputError(f"locality must be at most the {n} qubit of the points, got {locality}.")
    singles = [(q,) for q in range(n)]
    pairs = list(combinations(range(n), 2)) if locality == 2 else []
    operators = [
        (group, letters) for group in singles + pairs for letters in np.ndindex(*(3,) * len(group))
    ]
    errors = np.tile(np.eye(2), (n, 1, 1)) if confusion is None else as_confusion(confusion, n)
    columns = [_expectation(table, group, letters, errors) for group, letters in operators]
    # ρ = 2^{-k} Σ ⟨P⟩ P with Tr P² = 2^k, so ‖ρ - σ‖² = 2^{-k} Σ (difference of ⟨P⟩)².
    # A one-qubit operator belongs to every pair that has its qubit.
    shared = n - 1 if locality == 2 else 1
    weights = [(shared if len(group) == 1 else 1) / 2**locality for group, _ in operators]
    return ReducedStates(
        np.column_stack([mean for mean, _ in columns]),
        np.column_stack([variance for _, variance in columns]),
        np.asarray(weights),
        len(pairs) if locality == 2 else n,
        locality,
    )


def _expectation(
    table: PointTable, qubits: tuple[int, ...], letters: tuple[int, ...], confusion: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the mean of one Pauli operator for every point, and its unbiased variance.

    Where bits are read wrongly a sign z is seen with the mean rz + d, r = 1 - P(1|0) - P(0|1) and
    d = P(0|1) - P(1|0); so a shot counts as (z - d)/r for each of its qubits.
    """
    matching = np.all(table.settings[:, qubits] == letters, axis=1)
    shots = table.shots[:, matching].sum(axis=1)
    if shots.min() < 2:
        name = " ".join(f"{LETTERS[a]} on qubit {q}" for q, a in zip(qubits, letters, strict=True))
        raise InputError(
            f"settings must give every point 2 shots or more for each reduced state: point "
            f"{int(shots.argmin())} has {shots.min()} for {name}; add settings with these letters, "
            "or shots."
        )
    chosen = matching[table.cells % table.n_settings]
    value = np.ones(np.count_nonzero(chosen))
    for qubit in qubits:
        sign = 1 - 2 * ((table.outcomes[chosen] >> qubit) & 1)
        (_, read_zero), (read_one, _) = confusion[qubit]
        value *= (sign - (read_zero - read_one)) / (1 - read_one - read_zero)
    point, counts = table.cells[chosen] // table.n_settings, table.counts[chosen]
    mean = np.bincount(point, value * counts, minlength=table.n_points) / shots
    square = np.bincount(point, value**2 * counts, minlength=table.n_points) / shots
    return mean, (square - mean**2) / (shots - 1)


def squared_distances(states: ReducedStates, others: ReducedStates | None = None) -> FloatArray:
    """Return unbiased estimates of Σ ‖ρ - σ‖² (Frobenius) over the reduced states of two points.

    Shot noise adds the two variances to a squared difference, and they are taken off again; so an
    estimate of a small distance can be negative. Without ``others`` the diagonal is 0.
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


def gaussian_projected_kernel(
    states: ReducedStates, gamma: float, others: ReducedStates | None = None
) -> FloatArray:
    """Return exp(-γ Σ ‖ρ - σ‖²), with negative estimates of a distance taken as 0."""
    return np.exp(-gamma * np.maximum(squared_distances(states, others), 0.0))


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
