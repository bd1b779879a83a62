"""The kernels that counts of points can be read as.

The fidelity of fitted states, where f(x) = Tr ρ(x)A with one matrix A whatever the number of
training points, and projected kernels of reduced states, for any number of qubits.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from aqka._util.arrays import FloatArray, IntArray, digest
from aqka._util.text import did_you_mean, inert
from aqka.backends.base import Backend
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.core.settings import neighbour_settings, uniform_settings
from aqka.designs.state_fits import StateFits
from aqka.errors import InputError
from aqka.estimates.projected import (
    Operators,
    ReducedStates,
    distance_variances,
    exact_reduced_states,
    gaussian_projected_kernel,
    given_states,
    least_shots,
    linear_projected_kernel,
    linear_variances,
    median_gamma,
    overlap_variances,
    readable_points,
    reduced_states,
    shrunk_to_signal,
    squared_distances,
)
from aqka.estimates.state_errors import bootstrap_is_affordable, kernel_errors
from aqka.estimates.state_rank import RankTest, choose_rank
from aqka.estimates.states import (
    MAX_STATE_QUBITS,
    FittedStates,
    KernelOf,
    StateFitter,
    draw_counts,
)
from aqka.learners import Decided, Estimate, FittedHead
from aqka.learners.projected_gamma import tuned_gamma
from aqka.maths.point_law import KernelSpread, equivalent_pair_shots
from aqka.maths.product_bases import ComplexArray, ProductBases
from aqka.maths.state_errors import tangent_roots
from aqka.maths.state_features import expectations

MAX_FIDELITY_QUBITS = 8
CALIBRATED_POINTS = 200
VARIANCE_POINTS = 200
MOST_POINTS_OF_A_KERNEL = 1000
"""Beyond it the kernel is not written out: it would take more memory than all else."""
MAX_PURE_STEPS = 2**30
"""Variances of pure states take 8ⁿ steps a point; more than this takes over ten seconds."""
MOST_COVARIANCES = 2**26
"""Covariances of all points' expectations: these take half a gigabyte."""
RESAMPLES = 24
"""How often shots are drawn again: the relative error of a deviation is 1/sqrt(2 · 24)."""


class PointEstimate(Estimate):
    """The kernel from counts of points; more points can be read in the same way.

    Attributes
    ----------
    kernel_of_points
        Which kernel it is.
    table
        The counts of the training points.
    """

    kernel_of_points: "PointKernel"
    table: PointTable

    @property
    def identity(self) -> str:
        """A digest of the counts, and the kernel."""
        table, kernel = self.table, self.kernel_of_points
        columns = (table.settings, table.shots, table.cells, table.outcomes, table.counts)
        confusion = "none" if kernel.confusion is None else digest(kernel.confusion)
        return f"points {' '.join(map(digest, columns))} {kernel.describe()} {confusion}"

    @property
    @abstractmethod
    def n_read(self) -> int:
        """Points that have been read, the training points first."""

    @abstractmethod
    def extended(self, table: PointTable) -> Self:
        """Return an estimate that has read more points, as the training points were."""

    @abstractmethod
    def block(self, rows: IntArray, cols: IntArray) -> FloatArray:
        """Return the kernel of some of the points that have been read with others of them."""


class PointKernel(ABC):
    """How counts of points are read as a kernel."""

    confusion: FloatArray | None
    """Readout errors from a calibration (``aqka.estimates.confusion``); None corrects nothing."""
    has_unit_diagonal: bool = True
    """Whether a point with itself is 1, but for a device's noise."""

    @abstractmethod
    def read(self, table: PointTable, design: Any, problem: Problem | None) -> PointEstimate:
        """Return what the counts say; without a problem, what needs labels is left out."""

    @abstractmethod
    def check(self, n_qubits: int) -> None:
        """Refuse points of a number of qubits that cannot be read."""

    def check_settings(self, settings: IntArray) -> None:
        """Refuse settings that it cannot be read from."""
        self.check(settings.shape[1])

    def check_backend(self, backend: Backend) -> None:
        """Refuse a backend that does not draw all qubits of an outcome together."""
        if backend.joint_pairs is not None:
            raise InputError(
                f"{type(backend).__name__} draws distant qubits independently, which only a "
                "projected kernel can be read from; take the kernel 'projected'."
            )

    @abstractmethod
    def readable(self, table: PointTable) -> IntArray:
        """Return the points of a table that have shots enough; some may have lost theirs."""

    @abstractmethod
    def describe(self) -> str:
        """Return kernel and settings as a text."""

    def settings(self, n_qubits: int) -> IntArray | None:
        """Return the fewest Pauli settings that it can be read from; None for the usual ones."""
        return None

    def least_shots(self, settings: IntArray) -> int:
        """Return the shots that a point needs in these settings before it can be read."""
        return 1

    def with_confusion(self, confusion: FloatArray | None) -> Self:
        """Return the kernel read with these readout errors, unless it has its own."""
        return self if self.confusion is not None else replace(self, confusion=confusion)  # type: ignore[type-var]


@dataclass(frozen=True)
class Fidelity(PointKernel):
    """The fidelity kernel of states fitted by maximum likelihood, up to eight qubits.

    Attributes
    ----------
    kernel_of
        ``"purified"`` takes most of a device's noise away; ``"device"`` is the kernel that pairs
        would have measured.
    rank
        Vectors of a state; None tests whether pure states will do.
    confusion
        Readout errors from a calibration (``aqka.estimates.confusion``).
    fit_states
        What fits the states of training points and of new ones: by default this process a few,
        and all cores very many; a Dask cluster by ``StateFits(scheduler=…)``.
    """

    kernel_of: KernelOf = "purified"
    rank: int | None = None
    confusion: FloatArray | None = None
    fit_states: StateFitter = field(default_factory=StateFits)

    def check(self, n_qubits: int) -> None:
        """Refuse more qubits than states can be fitted on."""
        if n_qubits > MAX_STATE_QUBITS:
            raise InputError(
                f"kernel {self.kernel_of!r} fits states of at most {MAX_STATE_QUBITS} qubits, and "
                f"the points have {n_qubits}; take 'projected', or leave it out."
            )

    def readable(self, table: PointTable) -> IntArray:
        """Return the points with shots."""
        return np.flatnonzero(table.shots_per_point)

    def describe(self) -> str:
        """Return kernel and settings as a text."""
        return f"fidelity {self.kernel_of} rank {self.rank}"

    def read(
        self, table: PointTable, design: Any, problem: Problem | None = None
    ) -> "StateEstimate":
        """Fit the states, of the lowest rank that will do where none is named."""
        if self.rank is not None:
            return StateEstimate(self, table, design, self.fit(table, self.rank), [])
        states, tests = choose_rank(
            table,
            np.random.default_rng(0),
            confusion=self.confusion,
            kernel_of=self.kernel_of,
            fit=self.fit_states,
        )
        return StateEstimate(self, table, design, states, tests)

    def fit(self, table: PointTable, rank: int) -> FittedStates:
        """Return states of a rank that explain the counts."""
        return self.fit_states(table, rank, None, self.confusion)


class StateEstimate(PointEstimate):
    """Fitted states, their fidelities, and f(x) = Tr ρ(x)A + b with A = Σ α_i ρ_i.

    Attributes
    ----------
    fitted
        The states as fitted.
    states
        Those whose overlaps are the kernel.
    tests
        Whether the states are pure, and what was decided.
    """

    kernel_of_points: Fidelity

    def __init__(
        self,
        kernel: Fidelity,
        table: PointTable,
        design: Any,
        fitted: FittedStates,
        tests: Sequence[RankTest],
    ) -> None:
        self.kernel_of_points, self.table, self.design = kernel, table, design
        self.fitted, self.tests = fitted, tests
        self.states = fitted.behind(kernel.kernel_of)
        self.forms_kernel = table.n_points <= MOST_POINTS_OF_A_KERNEL
        noise = "with the device's noise"
        if kernel.kernel_of == "purified":
            noise = "with most of a device's noise removed"
        self.meaning = f"K̂ is the fidelity of states fitted to the counts, {noise}."

    @cached_property
    def kernel(self) -> FloatArray:
        """The fidelities of the training points' states."""
        return self.states.kernel()

    @cached_property
    def variance(self) -> FloatArray | None:
        """Variance of each entry; None for very many points, or where a bootstrap takes minutes."""
        table, steps = self.table, self.table.n_points * 8**self.table.n_qubits
        mixed = self.fitted.rank > 1
        slow = not bootstrap_is_affordable(table) if mixed else steps > MAX_PURE_STEPS
        return None if slow or not self.forms_kernel else self._variances(table, self.fitted)

    def rough_variance(self) -> FloatArray:
        """Return the variances, by the law of points where they are not computed."""
        if self.variance is not None:
            return self.variance
        kernel, table = self.kernel, self.table
        spread = KernelSpread.of(kernel[np.triu_indices_from(kernel, k=1)])
        worth = equivalent_pair_shots(table.n_qubits, table.total / table.n_points, spread)
        return np.maximum(kernel * (1 - kernel), 0.0) / max(worth, 1e-12)

    def mean_variance(self) -> float:
        """Return the mean variance of an entry off the diagonal, over some of the points."""
        count = min(self.table.n_points, VARIANCE_POINTS)
        points = np.linspace(0, self.table.n_points - 1, count).astype(np.int64)
        variances = self._variances(self.table.subset(points), self.fitted.subset(points))
        return float((variances.sum() - np.trace(variances)) / max(count * (count - 1), 1))

    def _variances(self, table: PointTable, states: FittedStates) -> FloatArray:
        random = np.random.default_rng(0)  # the same counts give the same head
        return kernel_errors(table, states, random, self.kernel_of_points.kernel_of).variance

    def features(self) -> FloatArray | None:
        """Return 4^n numbers for each point, where these are fewer than the points."""
        few = 4**self.table.n_qubits < self.table.n_points
        return self.states.features() if few else None

    def operators(self, head: FittedHead) -> ComplexArray:
        """Return A = Σ α_i ρ_i, one Hermitian matrix per output: the whole predictor."""
        vectors = self.states.vectors
        made = [
            sum((v * column[:, None]).T @ v.conj() for v in vectors)
            for column in head.coefficients.T
        ]
        return np.asarray(made)

    def decide(self, head: FittedHead, table: PointTable, seed: int = 0) -> Decided:
        """Return f of measured points and its standard deviation.

        The delta method at the fitted states, multiplied by what counts drawn from them show it to
        miss, never by less than 1.
        """
        operators, rank = self.operators(head), self.fitted.rank
        fitted = self.kernel_of_points.fit(table, rank)
        f, variance = self._f(head, operators, fitted), self._f_variance(operators, table, fitted)
        chosen = np.unique(np.linspace(0, table.n_points - 1, CALIBRATED_POINTS).astype(np.int64))
        part, truth = table.subset(chosen), fitted.subset(chosen)
        drawn = draw_counts(truth, part, np.random.default_rng(seed))
        again = self.kernel_of_points.fit(drawn, rank)
        error = self._f(head, operators, again) - self._f(head, operators, truth)
        expected = self._f_variance(operators, drawn, again)
        ratio = np.mean(error**2 / np.maximum(expected, 1e-300))
        return Decided(f, np.sqrt(variance * max(1.0, float(ratio))))

    def decide_exactly(self, head: FittedHead, backend: Backend) -> FloatArray:
        """Return f of a simulator's exact states."""
        states = FittedStates.given(exact_states(backend)[None])
        return self._f(head, self.operators(head), states)

    def _f(self, head: FittedHead, operators: ComplexArray, states: FittedStates) -> FloatArray:
        vectors = states.behind(self.kernel_of_points.kernel_of).vectors
        values = np.stack([expectations(a, vectors) for a in operators], axis=1)
        return _outputs(values + np.reshape(head.intercept, -1))

    def _f_variance(
        self, operators: ComplexArray, table: PointTable, fitted: FittedStates
    ) -> FloatArray:
        """Return the variance of f by the Fisher information at the nearest pure states."""
        pure = fitted.purified().vectors[0]
        bases = ProductBases(table.settings)
        shots = table.shots.astype(np.float64)
        size = max(1, 2**22 // (2 * bases.dimension) ** 2)
        variance = np.empty((table.n_points, len(operators)))
        for first in range(0, table.n_points, size):
            some = slice(first, first + size)
            confusion = self.kernel_of_points.confusion
            roots = tangent_roots(bases, pure[some], shots[some], confusion)
            for k, operator in enumerate(operators):
                gradient = pure[some] @ operator.T  # A u, and f moves by 2 Re⟨δ|Au⟩
                real = np.concatenate([gradient.real, gradient.imag], axis=1)
                moved = 2 * np.einsum("ia,iab->ib", real, roots)
                variance[some, k] = np.sum(moved**2, axis=1)
        return _outputs(variance)

    @property
    def n_read(self) -> int:
        """Points whose states are known."""
        return int(self.states.vectors.shape[1])

    def extended(self, table: PointTable) -> Self:
        """Return it with more states, of the rank that the training points have."""
        new = self.kernel_of_points.fit(table, self.fitted.rank)
        more = new.behind(self.kernel_of_points.kernel_of).vectors
        made = type(self)(self.kernel_of_points, self.table, self.design, self.fitted, self.tests)
        made.states = FittedStates.given(np.concatenate([self.states.vectors, more], axis=1))
        return made

    def block(self, rows: IntArray, cols: IntArray) -> FloatArray:
        """Return Tr ρ_i ρ_j; of pure states |⟨u_i|u_j⟩|²."""
        return self.states.subset(rows).kernel(self.states.subset(cols))


@dataclass(frozen=True)
class Projected(PointKernel):
    """A projected kernel of reduced states (Huang et al. 2021), for any number of qubits.

    Attributes
    ----------
    locality
        Qubits of a reduced state, 1 or 2.
    form
        ``"gaussian"``: exp(-γ Σ ‖ρ - σ‖²). ``"linear"``: the mean of Tr ρσ, where a point with
        itself is the mean purity of its reduced states, not 1.
    gamma
        γ of the Gaussian; None chooses it with the ridge, by leaving points out.
    confusion
        Readout errors from a calibration (``aqka.estimates.confusion``).
    pairs
        Which two-qubit states: ``"neighbours"`` on a line, ``"all"``, or the edges of a lattice,
        ((0, 1), (1, 2), …).
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
        if self.locality > n_qubits:
            raise InputError(
                "kernel 'projected-2' needs two qubits or more, and the points have one, of "
                "1 feature(s); take 'projected'."
            )
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
                f"setting measures {operators.name(int(missing[0]))} ({missing.size} such "
                "operators); leave settings out, or take the kernel 'projected'."
            )

    def operators(self, n_qubits: int) -> Operators:
        """Return the Pauli operators that it reads."""
        return Operators.of(n_qubits, self.locality, self.pairs)

    def check_backend(self, backend: Backend) -> None:
        """Refuse a backend whose outcomes of a pair of qubits do not belong together."""
        exact = backend.joint_pairs
        if exact is None or self.locality == 1:
            return
        assert backend.n_qubits is not None
        wanted = set(map(tuple, self.operators(backend.n_qubits).edges.tolist()))
        wrong = sorted(wanted - set(map(tuple, exact.tolist())))
        if wrong:
            raise InputError(
                f"{type(backend).__name__} draws the qubits {wrong[0]} independently, as it does "
                f"{len(wrong)} of {len(wanted)} pairs that the kernel reads: take the kernel "
                "'projected', pairs that the feature map entangles in a line or a tree, or another "
                "backend, such as 'matrix-product'."
            )

    def readable(self, table: PointTable) -> IntArray:
        """Return the points with two shots or more of each operator of a reduced state."""
        return readable_points(table, self.locality, self.pairs)

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
        if n_qubits <= MAX_FIDELITY_QUBITS:
            return None
        return neighbour_settings(n_qubits, self.operators(n_qubits).edges)

    def least_shots(self, settings: IntArray) -> int:
        """Return two for each operator of a reduced state."""
        return least_shots(settings, self.locality, self.pairs)

    def read(
        self, table: PointTable, design: Any, problem: Problem | None = None
    ) -> "ReducedEstimate":
        """Reduce the states; the width of a Gaussian follows from the labels, if there are any."""
        states, kernel = self.reduce(table), self
        if self.form == "gaussian":
            states = shrunk_to_signal(states, float(states.operators.shots(table).mean()))
        if self.form == "gaussian" and self.gamma is None:
            gamma = (
                median_gamma(states) if problem is None else tuned_gamma(states, problem.outputs)
            )
            kernel = replace(self, gamma=gamma)
        return ReducedEstimate(kernel, table, design, states, self.describe())

    def reduce(self, table: PointTable, otherwise: ReducedStates | None = None) -> ReducedStates:
        """Return the reduced states of points."""
        return reduced_states(table, self.locality, self.confusion, otherwise, self.pairs)


class ReducedEstimate(PointEstimate):
    """Reduced states, and the kernel of their distances or overlaps.

    Attributes
    ----------
    states
        The reduced states of the training points, and of others that were read since.
    """

    kernel_of_points: Projected
    is_fidelity = False

    def __init__(
        self,
        kernel: Projected,
        table: PointTable,
        design: Any,
        states: ReducedStates,
        named: str,
    ) -> None:
        self.kernel_of_points, self.table, self.design = kernel, table, design
        self.states = states
        self._named = named  # the kernel before its width was chosen, which is a computed number
        self.meaning = (
            f"K̂ is the linear projected kernel: the mean of Tr ρσ of {states.n_states} reduced "
            "states."
            if kernel.form == "linear"
            else f"K̂ is the projected kernel exp(−γD) with γ = {kernel.gamma:.3g}: D is the "
            f"squared distance of the {states.n_states} reduced states of two points."
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
            found = overlap_variances(table, states, kernel.confusion)
            return np.asarray(found / states.n_states**2)
        assert kernel.gamma is not None
        found = distance_variances(table, states, kernel.confusion)
        return np.asarray((kernel.gamma * self.kernel) ** 2 * found)

    def mean_variance(self) -> None:
        """Return None: the noise of a projected kernel is correlated, and its edge unknown."""

    def _between(self, states: ReducedStates, others: ReducedStates | None) -> FloatArray:
        """Return the kernel of points with themselves, or of new points with training points."""
        kernel = self.kernel_of_points
        if kernel.form == "gaussian":
            assert kernel.gamma is not None
            return gaussian_projected_kernel(states, kernel.gamma, others, keep_noise=True)
        # Named twice, so that the noise of a point with itself stays in: all of it is a ridge.
        columns = states if others is None else others
        return linear_projected_kernel(states, columns) / states.n_states

    def decide(self, head: FittedHead, table: PointTable, seed: int = 0) -> Decided:
        """Return f of measured points and its standard deviation."""
        found = self._reduce(table)
        f = self._f(head, found)
        if self.kernel_of_points.form == "linear":
            return Decided(f, self._linear_deviation(head, table, found))
        random = np.random.default_rng(seed)
        again = [
            self._f(head, self._reduce(table.resampled(random), found)) for _ in range(RESAMPLES)
        ]
        return Decided(f, np.sqrt(np.mean([(other - f) ** 2 for other in again], axis=0)))

    def decide_exactly(self, head: FittedHead, backend: Backend) -> FloatArray:
        """Return f of the reduced states of a simulator's exact states."""
        kernel = self.kernel_of_points
        operators = kernel.operators(self.table.n_qubits)
        found = backend.expectations(operators.edges)
        if found is not None:
            states = given_states(found, operators)
        else:
            vectors = exact_states(backend)
            states = exact_reduced_states(vectors, kernel.locality, kernel.pairs)
        return self._f(head, replace(states, weights=self.states.weights))

    def _reduce(self, table: PointTable, otherwise: ReducedStates | None = None) -> ReducedStates:
        """Return the reduced states of new points, weighed as those of the training points."""
        found = self.kernel_of_points.reduce(table, otherwise)
        return replace(found, weights=self.states.weights)

    def _f(self, head: FittedHead, found: ReducedStates) -> FloatArray:
        values = self._between(found, self.states) @ head.coefficients
        return _outputs(values + np.reshape(head.intercept, -1))

    def _linear_deviation(
        self, head: FittedHead, table: PointTable, found: ReducedStates
    ) -> FloatArray:
        """Return the deviation of f = Σ_P slope_P ⟨P⟩ + a constant, which needs no draws."""
        states = self.states
        weights = (states.weights / states.n_states)[:, None]
        slopes = weights * (states.expectations.T @ head.coefficients)
        variance = linear_variances(table, found, slopes, self.kernel_of_points.confusion)
        return _outputs(np.sqrt(variance))

    @property
    def n_read(self) -> int:
        """Points whose reduced states are known."""
        return len(self.states.expectations)

    def extended(self, table: PointTable) -> Self:
        """Return it with more reduced states."""
        states = self.states.joined(self._reduce(table))
        return type(self)(self.kernel_of_points, self.table, self.design, states, self._named)

    def block(self, rows: IntArray, cols: IntArray) -> FloatArray:
        """Return the kernel of points that were read.

        With the noise of both points, whichever is new: so an entry is the same in every block.
        """
        left, right = self.states.subset(rows), self.states.subset(cols)
        kernel = self.kernel_of_points
        if kernel.form == "linear":
            return linear_projected_kernel(left, right) / left.n_states
        assert kernel.gamma is not None
        noise = self.states.variances @ self.states.weights
        distances = squared_distances(left, right) + noise[rows][:, None] + noise[cols]
        distances[rows[:, None] == cols] = 0.0
        return np.asarray(np.exp(-kernel.gamma * np.maximum(distances, 0.0)))


def _outputs(columns: FloatArray) -> FloatArray:
    """Return a single column as one dimension."""
    return columns[:, 0] if columns.shape[1] == 1 else columns


def exact_states(backend: Backend) -> ComplexArray:
    """Return the exact states of a simulator's points, one per row."""
    states: ComplexArray | None = backend.states()
    if states is None:
        raise InputError(
            f"budget is needed: {type(backend).__name__} has no exact states; predict(X, "
            "budget=…), or test_shots=… when the estimator is made."
        )
    return states


NAMED: dict[str, PointKernel] = {
    "purified": Fidelity("purified"),
    "device": Fidelity("device"),
    "projected": Projected(1),
    "projected-2": Projected(2),
    "projected-2-all": Projected(2, pairs="all"),
    "projected-linear": Projected(1, "linear"),
    "projected-2-linear": Projected(2, "linear"),
}


def point_kernel_names() -> list[str]:
    """Return the names of all kernels of points.

    ``"purified"`` and ``"device"`` are the fidelity of fitted states, without most of a device's
    noise or with it, of at most eight qubits. ``"projected"`` is the Gaussian projected kernel of
    one-qubit reduced states, for any number of qubits; ``"projected-2"`` is that of two-qubit
    states of neighbours on a line, and ``"projected-2-all"`` of all pairs of qubits. With
    ``"-linear"`` they are the mean overlap of these states.

    Examples
    --------
    >>> point_kernel_names()[2:5]
    ['projected', 'projected-2', 'projected-2-all']
    """
    return list(NAMED)


def as_point_kernel(kernel: str | PointKernel) -> PointKernel:
    """Return the kernel of that name, or the given one.

    Examples
    --------
    >>> as_point_kernel("projected-2")
    Projected(locality=2, form='gaussian', gamma=None, confusion=None, pairs='neighbours')
    """
    made = NAMED.get(kernel) if isinstance(kernel, str) else kernel
    if not isinstance(made, PointKernel):
        raise InputError(
            f"kernel of points must be one of {', '.join(map(repr, NAMED))} or a PointKernel, got "
            f"{inert(repr(kernel), 100)}.{did_you_mean(kernel, NAMED)}"
        )
    return made


def default_point_kernel(settings: IntArray) -> PointKernel:
    """Return the kernel of counts for which none is named, by the settings they were measured in.

    The fidelity up to eight qubits and the projected kernel above; and also where all qubits have
    one letter in every setting, which only gives one-qubit states.
    """
    n_qubits = settings.shape[1]
    is_uniform = n_qubits > 1 and bool(np.all(settings == settings[:, :1]))
    return Projected() if n_qubits > MAX_FIDELITY_QUBITS or is_uniform else Fidelity()
