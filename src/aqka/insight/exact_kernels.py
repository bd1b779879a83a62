"""Exact states and kernels of many points at once, and what they say before any shot is paid.

The geometric difference and the projected kernel are those of Huang et al., "Power of data in
quantum machine learning" (Nature Communications 12, 2631, 2021); equations are numbered as in its
preprint, arXiv:2011.01938.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist

from aqka._util.arrays import ComplexArray, FloatArray
from aqka.backends import LightConeBackend
from aqka.backends.feature_maps import DEFAULT_REPS, built_in_map, check_map_name
from aqka.backends.statevector import StatevectorBackend, phase_states
from aqka.errors import InputError
from aqka.estimates import reduced_states
from aqka.estimates.projected import gaussian_projected_kernel, median_gamma
from aqka.estimates.reduced_states import ReducedStates

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

PROJECTED_WIDTHS = (0.25, 1.0, 4.0)  # of the median squared distance; the head chooses
MAX_QUBITS = 14  # 200 states of more would not fit the memory of a small machine

FeatureMap: TypeAlias = "str | QuantumCircuit | Callable[[Any], Any]"


def map_states(
    angles: FloatArray, feature_map: FeatureMap, repetitions: int = DEFAULT_REPS
) -> ComplexArray:
    """Return the state of each row of angles, one per row.

    ``feature_map`` is a built-in name, with so many repetitions, or whatever
    :class:`~aqka.StatevectorBackend` takes.
    """
    named = isinstance(feature_map, str)
    n_qubits = angles.shape[1] if named else getattr(feature_map, "num_qubits", 0)
    if n_qubits > MAX_QUBITS:
        raise InputError(
            f"whole states are simulated on at most {MAX_QUBITS} qubits; this feature map needs "
            f"{n_qubits}. Reduce the data to fewer principal components first (PCA): "
            "one qubit each."
        )
    if not isinstance(feature_map, str):
        return StatevectorBackend(angles, feature_map).states()
    apart = {"z": 0, "zz": 1, "zz-full": n_qubits}[check_map_name(feature_map)]
    return phase_states(angles, repetitions, apart)


def is_wide(angles: FloatArray, feature_map: FeatureMap) -> bool:
    """Return whether a map has more qubits than whole states are simulated on."""
    n_qubits = angles.shape[1] if isinstance(feature_map, str) else 0
    return getattr(feature_map, "num_qubits", n_qubits) > MAX_QUBITS


def map_features(
    angles: FloatArray, feature_map: FeatureMap, repetitions: int = DEFAULT_REPS
) -> ReducedStates:
    """Return the exact one-qubit states of each row of angles, of many qubits by light cones."""
    if not is_wide(angles, feature_map):
        return reduced_states.exact_reduced_states(map_states(angles, feature_map, repetitions))
    circuit: Any = feature_map
    if isinstance(feature_map, str):
        circuit = built_in_map(feature_map, angles.shape[1], repetitions)
    backend = LightConeBackend(angles, circuit)
    operators = reduced_states.Operators.of(backend.n_qubits)
    return reduced_states.given_states(backend.expectations(operators.edges), operators)


def drawn_features(states: ReducedStates, shots: float, rng: np.random.Generator) -> ReducedStates:
    """Return one-qubit states as so many shots a point, in three settings, would show them."""
    each = max(2, round(shots / 3))
    ones = rng.binomial(each, np.clip((1 + states.expectations) / 2, 0.0, 1.0))
    means = 2 * ones / each - 1
    return replace(states, expectations=means, variances=(1 - means**2) / (each - 1))


def linear_share(columns: FloatArray, states: ReducedStates) -> float:
    """Return how much of the features' variance a linear model of the columns explains.

    R² of points that are left out one by one, at the best ridge; never below 0.
    """
    from sklearn.linear_model import RidgeCV

    F, n = states.expectations, len(columns)
    found = RidgeCV(n * np.geomspace(1e-4, 1e2, 13)).fit(standardised(columns), F)
    spread = np.mean(F.var(axis=0)) / (1 - 1 / n) ** 2  # by the mean of the other points
    return max(0.0, 1 + float(found.best_score_ / max(spread, 1e-300)))


def standardised(X: FloatArray) -> FloatArray:
    """Return columns with the mean 0 and the variance 1; one that does not vary is 0."""
    spread = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def projected_kernels(states: ReducedStates) -> list[FloatArray]:
    """Return exp(-γ Σ_k ‖ρ_k(x) - ρ_k(y)‖²_F) for several γ (Huang et al. 2021)."""
    unit = median_gamma(states)
    return [gaussian_projected_kernel(states, unit / width) for width in PROJECTED_WIDTHS]


@dataclass(frozen=True)
class Concentration:
    """Off-diagonal entries and spectrum of a kernel."""

    mean: float
    spread: float  # standard deviation
    effective_rank: float
    n_points: int
    shots_per_pair: float | None = None  # of a budget spread evenly
    shot_error: float | None = None  # root mean square of sqrt(K (1 - K) / shots)

    @property
    def words(self) -> str:
        """What that means, in a sentence."""
        if self.effective_rank > 0.9 * self.n_points:
            shape = "concentrated: every point is like itself alone, so little can be learned"
        elif self.effective_rank < 1.5:
            shape = "flat: all points look alike"
        else:
            shape = "neither concentrated nor flat"
        if self.shots_per_pair is None or self.shot_error is None:
            return f"The kernel is {shape}."
        ratio = self.spread / self.shot_error if self.shot_error > 0 else math.inf
        if ratio >= 2:
            reach = "tell entries apart one by one"
        elif ratio >= 0.5:
            reach = "tell groups of entries apart, not single ones"
        else:
            reach = "hardly tell any entries apart"
        return f"The kernel is {shape}; {self.shots_per_pair:.1f} shots a pair {reach}."


def concentration(kernel: FloatArray, shots_per_pair: float | None = None) -> Concentration:
    """Return how concentrated a kernel is, and what so many shots a pair can resolve of it."""
    entries, error = kernel[np.triu_indices(len(kernel), 1)], None
    if shots_per_pair is not None:
        error = float(np.sqrt(np.mean(entries * (1 - entries)) / shots_per_pair))
    moments = float(entries.mean()), float(entries.std())
    return Concentration(*moments, effective_rank(kernel), len(kernel), shots_per_pair, error)


def effective_rank(kernel: FloatArray) -> float:
    """Return exp of the entropy of the eigenvalues' shares (Roy and Vetterli 2007).

    1 where all points look alike, N where every point looks like itself alone.
    """
    values = np.linalg.eigvalsh(kernel)
    shares = values[values > 1e-12 * values[-1]]
    shares = shares / shares.sum()
    return float(np.exp(-np.sum(shares * np.log(shares))))


RIDGES = tuple(float(10.0**power) for power in range(-8, 1))
LARGEST_TRAINING_ERROR = 0.05  # that of a kernel compared with itself at λ = 0.01
RBF_WIDTHS = (0.1, 0.3, 1.0, 3.0, 10.0)  # of RBF kernels, in units of one over the columns


@dataclass(frozen=True)
class GeometricDifference:
    """The difference g to the plain kernel that comes nearest.

    No more than about 1 where the plain kernel sees all that the quantum one does; near √N, the
    largest, it leaves room for an advantage.
    """

    value: float
    largest: float
    nearest: str
    ridge: float | None  # λ of the difference; None where no plain kernel comes near at all


def geometric_differences(
    plain: FloatArray, quantum: FloatArray, ridge: float
) -> tuple[float, float]:
    """Return g_gen and g_tra of a quantum kernel and a plain one, both scaled to the trace N.

    g_gen = sqrt(‖√K_Q √K_C (K_C + λI)^{-2} √K_C √K_Q‖), their Eq. F9 and with λ = 0 their Eq. 5.
    g_tra = λ sqrt(‖√K_Q (K_C + λI)^{-2} √K_Q‖) is what stays unlearned of targets that the quantum
    kernel fits with norm √N; a plain kernel of low rank leaves much, however small its g_gen is.
    """
    values, vectors = np.linalg.eigh(plain * (len(plain) / np.trace(plain)))
    values = np.maximum(values, 0.0)
    turned = vectors.T @ (quantum * (len(plain) / np.trace(quantum))) @ vectors

    def norm(weights: FloatArray) -> float:
        # ‖√Q V D² Vᵀ √Q‖ is the largest eigenvalue of D Vᵀ Q V D.
        largest = np.linalg.eigvalsh(weights[:, None] * turned * weights)[-1]
        return math.sqrt(max(float(largest), 0.0))

    return norm(np.sqrt(values) / (values + ridge)), norm(ridge / (values + ridge))


def nearest_plain_kernel(X: FloatArray, quantum: FloatArray) -> GeometricDifference:
    """Return the smallest difference to a linear or an RBF kernel of the standardised columns.

    Each is taken with the largest ridge of a grid at which it leaves hardly anything unlearned
    (g_tra at most 0.05, our choice); one without such a ridge is infinitely far.
    """
    Z, largest = standardised(X), math.sqrt(len(X))
    distances = cdist(Z, Z, "sqeuclidean")
    kernels = {"linear": Z @ Z.T + 1.0}  # with a constant, as a linear model has
    for width in RBF_WIDTHS:
        kernels[f"RBF, γ = {width:g}/columns"] = np.exp(-width / X.shape[1] * distances)
    found = [GeometricDifference(math.inf, largest, "linear", None)]
    for name, kernel in kernels.items():
        for ridge in reversed(RIDGES):
            difference, unlearned = geometric_differences(kernel, quantum, ridge)
            if unlearned <= LARGEST_TRAINING_ERROR:
                found.append(GeometricDifference(difference, largest, name, ridge))
                break
    return min(found, key=lambda each: each.value)
