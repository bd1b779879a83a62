"""Projected kernels of reduced states (Huang et al. 2021), for any number of qubits."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka.backends.base import Backend
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.core.settings import neighbour_settings, uniform_settings
from aqka.designs._point_kernel import PointEstimate, PointKernel, as_outputs, exact_states
from aqka.designs.fidelity import MAX_FIDELITY_QUBITS
from aqka.errors import InputError
from aqka.estimates import projected as kernels
from aqka.estimates import reduced_states as reduced
from aqka.estimates.reduced_states import ALL_STRINGS, Operators, ReducedStates
from aqka.learners import Decided, FittedHead
from aqka.learners.ridge import RIDGE_GRID, loo_errors
from aqka.maths.spectrum import Spectrum

MOST_COVARIANCES = 2**26  # covariances of all points' expectations: these take half a gigabyte
RESAMPLES = 24  # draws of the shots: the relative error of a deviation is 1/sqrt(2 · 24)


@dataclass(frozen=True)
class Projected(PointKernel):
    """A projected kernel of reduced states (Huang et al. 2021), for any number of qubits.

    Parameters
    ----------
    locality : {1, 2, 4}, default=1
        Qubits of a reduced state, 1 or 2; or 4 for all Pauli strings of points of up to 4 qubits.
    form : {"gaussian", "linear"}, default="gaussian"
        ``"gaussian"``: exp(-γ Σ ‖ρ - σ‖²). ``"linear"``: the mean of Tr ρσ, where a point with
        itself is the mean purity of its reduced states, not 1.
    gamma : float, default=None
        γ of the Gaussian; None chooses it with the ridge, by leaving points out.
    confusion : array of shape (qubits, 2, 2), default=None
        Readout errors from a calibration (``aqka.estimates.readout``).
    pairs : str or tuple of pairs, default="neighbours"
        Which two-qubit states: ``"neighbours"``, those that the feature map's gates act on where
        nine settings measure them all, else those on a line; ``"all"``; or ((0, 1), (1, 2), …).
    """

    locality: int = 1
    form: Literal["gaussian", "linear"] = "gaussian"
    gamma: float | None = None
    confusion: FloatArray | None = None
    pairs: str | tuple[tuple[int, int], ...] = "neighbours"

    @property
    def has_unit_diagonal(self) -> bool:  # type: ignore[override]
        """Whether a point with itself is 1."""
        return self.form == "gaussian"

    def check(self, n_qubits: int) -> None:
        """Refuse reduced states of more qubits than there are."""
        if self.locality == 1 and self.pairs != "neighbours":
            raise InputError("pairs are for two-qubit states: take locality=2, or leave them out.")
        self.operators(n_qubits)

    def check_settings(self, settings: IntArray) -> None:
        """Refuse settings that do not measure every operator of a reduced state."""
        super().check_settings(settings)
        operators = self.operators(settings.shape[1])
        missing = np.setdiff1d(np.arange(operators.size), operators.measured(settings))
        if missing.size:
            raise InputError(
                f"settings must measure every operator of {self.locality}-qubit states, but no "
                f"setting measures {operators.names()[missing[0]]} ({missing.size} such "
                "operators); leave settings out, or take the kernel 'projected'."
            )

    def on(self, lattice: IntArray) -> "Projected":
        """Return it with these pairs as neighbours."""
        if self.locality == 1 or self.pairs != "neighbours":
            return self
        return replace(self, pairs=tuple((int(a), int(b)) for a, b in lattice))

    def operators(self, n_qubits: int) -> Operators:
        """Return the Pauli operators that it reads."""
        return Operators.of(n_qubits, self.locality, self.pairs)

    def check_backend(self, backend: Backend) -> None:
        """Refuse a backend whose outcomes of a pair of qubits do not belong together."""
        exact = backend.joint_pairs
        if exact is None or self.locality == 1:
            return
        if self.locality == ALL_STRINGS:
            return super().check_backend(backend)
        assert backend.n_qubits is not None
        wanted = set(map(tuple, self.operators(backend.n_qubits).edges.tolist()))
        wrong = sorted(wanted - set(map(tuple, exact.tolist())))
        if wrong:
            raise InputError(
                f"{type(backend).__name__} samples qubits {wrong[0]} independently, as it does for "
                f"{len(wrong)} of the {len(wanted)} pairs that the kernel reads: take the kernel "
                "'projected', pairs that the feature map entangles in a line or a tree, a real "
                "device, or up to 24 qubits the backend 'statevector'."
            )

    def readable(self, table: PointTable) -> IntArray:
        """Return the points with two shots or more of each operator of a reduced state."""
        return reduced.readable_points(table, self.locality, self.pairs)

    def describe(self) -> str:
        """Return kernel and settings as a text."""
        pairs = "" if self.pairs == "neighbours" else f" pairs {self.pairs!r}"
        return f"projected {self.form} locality {self.locality} gamma {self.gamma!r}{pairs}"

    def settings(self, n_qubits: int) -> IntArray | None:
        """Return all X, all Y and all Z for one-qubit states, and above eight qubits few others.

        Up to eight the usual ones also serve the fidelity.
        """
        if self.locality == 1:
            return uniform_settings(n_qubits)
        if self.locality == ALL_STRINGS:  # each string of all qubits has a setting of its own
            return np.indices((3,) * n_qubits).reshape(n_qubits, -1).T
        if n_qubits <= MAX_FIDELITY_QUBITS:
            return None
        return neighbour_settings(n_qubits, self.operators(n_qubits).edges)

    def least_shots(self, settings: IntArray) -> int:
        """Return two for each operator of a reduced state."""
        return reduced.least_shots(settings, self.locality, self.pairs)

    def read(
        self, table: PointTable, design: Any, problem: Problem | None = None
    ) -> "ReducedEstimate":
        """Reduce the states; the width of a Gaussian follows from the labels, if there are any."""
        states, kernel = self.reduce(table), self
        if self.form == "gaussian":
            states = reduced.shrunk_to_signal(states, float(states.operators.shots(table).mean()))
        if self.form == "gaussian" and self.gamma is None:
            y = None if problem is None else problem.outputs
            gamma = kernels.median_gamma(states) if y is None else tuned_gamma(states, y)
            kernel = replace(self, gamma=gamma)
        return ReducedEstimate(kernel, table, design, states, self.describe())

    def reduce(self, table: PointTable, otherwise: ReducedStates | None = None) -> ReducedStates:
        """Return the reduced states of points."""
        return reduced.reduced_states(table, self.locality, self.confusion, otherwise, self.pairs)


WIDTHS = (0.25, 1.0, 4.0, 16.0)
"""In units of the median squared distance. With few shots a wide kernel is better, because it
averages over points; with many a narrow one can be."""


def tuned_gamma(states: ReducedStates, y: FloatArray, keep_noise: bool = True) -> float:
    """Return the γ whose kernel has the smallest leave-one-out error at its best ridge.

    ``y`` has one column or one for each output; for ``keep_noise`` see
    :func:`~aqka.estimates.projected.gaussian_projected_kernel`.
    """
    unit, ridges = kernels.median_gamma(states), np.asarray(RIDGE_GRID)
    outputs = np.asarray(y, dtype=np.float64).reshape(len(states.expectations), -1)
    errors = []
    for width in WIDTHS:
        kernel = kernels.gaussian_projected_kernel(states, unit / width, keep_noise=keep_noise)
        errors.append(loo_errors(Spectrum.of(kernel), outputs, ridges).mean(axis=0).min())
    return unit / WIDTHS[int(np.argmin(errors))]


class ReducedEstimate(PointEstimate):
    """Reduced states, of training points and of others read since, and the kernel they give."""

    kernel_of_points: Projected
    is_fidelity = False

    def __init__(
        self, kernel: Projected, table: PointTable, design: Any, states: ReducedStates, named: str
    ) -> None:
        self.kernel_of_points, self.table, self.design = kernel, table, design
        self.states, self.n_read = states, len(states.expectations)
        self._named = named  # the kernel before its width was chosen, which is a computed number
        self.meaning = (
            f"K̂ is the linear projected kernel: the mean of Tr ρσ of {states.n_states} reduced "
            "states."
            if kernel.form == "linear"
            else f"K̂ is the projected kernel exp(−γD) with γ = {kernel.gamma:.3g}: D is the "
            f"squared distance between two points' {states.n_states} reduced states."
        )

    @property
    def identity(self) -> str:
        """A digest of the counts, and the kernel as it was named."""
        return super().identity.replace(self.kernel_of_points.describe(), self._named)

    @cached_property
    def kernel(self) -> FloatArray:
        """The kernel of the measured states, noise included, which is a ridge."""
        return self._between(self.states, None)

    @cached_property
    def variance(self) -> FloatArray | None:
        """Variance of each entry, to first order; None where the covariances are too many."""
        table, states, kernel = self.table, self.states, self.kernel_of_points
        if table.n_points * states.operators.size**2 > MOST_COVARIANCES:
            return None
        if kernel.form == "linear":
            found = kernels.overlap_variances(table, states, kernel.confusion)
            return np.asarray(found / states.n_states**2)
        assert kernel.gamma is not None
        found = kernels.distance_variances(table, states, kernel.confusion)
        return np.asarray((kernel.gamma * self.kernel) ** 2 * found)

    def mean_variance(self) -> None:
        """Return None: the noise of a projected kernel is correlated, and its edge unknown."""

    def _between(self, states: ReducedStates, others: ReducedStates | None) -> FloatArray:
        """Return the kernel of points with themselves, or of new points with training points."""
        kernel = self.kernel_of_points
        if kernel.form == "gaussian":
            assert kernel.gamma is not None
            return kernels.gaussian_projected_kernel(states, kernel.gamma, others, keep_noise=True)
        # Named twice, so that the noise of a point with itself stays in: all of it is a ridge.
        columns = states if others is None else others
        return kernels.linear_projected_kernel(states, columns) / states.n_states

    def known_states(self, n_qubits: int) -> tuple[float, float]:
        """Return the number of expectations of the reduced states, which few shots tell well."""
        return float(self.states.expectations.shape[1]), 1.0

    def values(self, head: FittedHead, table: PointTable) -> FloatArray:
        """Return f of measured points."""
        return self._f(head, self._reduce(table))

    def decide(self, head: FittedHead, table: PointTable, seed: int = 0) -> Decided:
        """Return f of measured points and its standard deviation."""
        found = self._reduce(table)
        f = self._f(head, found)
        if self.kernel_of_points.form == "linear":
            # f = Σ_P slope_P ⟨P⟩ + a constant, whose deviation needs no draws.
            weights = (self.states.weights / self.states.n_states)[:, None]
            slopes = weights * (self.states.expectations.T @ head.coefficients)
            confusion = self.kernel_of_points.confusion
            variance = kernels.linear_variances(table, found, slopes, confusion)
            return Decided(f, as_outputs(np.sqrt(variance)))
        random = np.random.default_rng(seed)
        again = [
            self._f(head, self._reduce(table.resampled(random), found)) for _ in range(RESAMPLES)
        ]
        return Decided(f, np.sqrt(np.mean([(other - f) ** 2 for other in again], axis=0)))

    def decide_exactly(self, head: FittedHead, backend: Backend) -> FloatArray:
        """Return f of the reduced states of a simulator's exact states."""
        kernel = self.kernel_of_points
        operators = kernel.operators(self.table.n_qubits)
        found = None if operators.larger else backend.expectations(operators.edges)
        if found is not None:
            states = reduced.given_states(found, operators)
        else:
            vectors = exact_states(backend)
            states = reduced.exact_reduced_states(vectors, kernel.locality, kernel.pairs)
        return self._f(head, replace(states, weights=self.states.weights))

    def _reduce(self, table: PointTable, otherwise: ReducedStates | None = None) -> ReducedStates:
        """Return the reduced states of new points, weighed as those of the training points."""
        found = self.kernel_of_points.reduce(table, otherwise)
        return replace(found, weights=self.states.weights)

    def _f(self, head: FittedHead, found: ReducedStates) -> FloatArray:
        values = self._between(found, self.states) @ head.coefficients
        return as_outputs(values + np.reshape(head.intercept, -1))

    def extended(self, table: PointTable) -> Self:
        """Return it with more reduced states."""
        states = self.states.joined(self._reduce(table))
        return type(self)(self.kernel_of_points, self.table, self.design, states, self._named)

    def block(self, rows: IntArray, cols: IntArray) -> FloatArray:
        """Return the kernel of points that were read, with the noise of both: blocks agree."""
        left, right = self.states.subset(rows), self.states.subset(cols)
        kernel = self.kernel_of_points
        if kernel.form == "linear":
            return kernels.linear_projected_kernel(left, right) / left.n_states
        assert kernel.gamma is not None
        noise = self.states.variances @ self.states.weights
        distances = kernels.squared_distances(left, right) + noise[rows][:, None] + noise[cols]
        distances[rows[:, None] == cols] = 0.0
        return np.asarray(np.exp(-kernel.gamma * np.maximum(distances, 0.0)))
