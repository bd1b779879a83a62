"""The fidelity of states fitted to the counts: f(x) = Tr ρ(x)A, one matrix for all points."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.linalg import solve_triangular

from aqka._util.arrays import ComplexArray, FloatArray, IntArray
from aqka.backends.base import Backend
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.designs._point_kernel import PointEstimate, PointKernel, as_outputs, exact_states
from aqka.designs.state_fits import StateFits
from aqka.errors import InputError
from aqka.estimates.state_errors import bootstrap_is_affordable, kernel_errors
from aqka.estimates.state_prior import (
    POWERS,
    RedrawnPoints,
    StatePrior,
    log_likelihoods,
    state_weights,
)
from aqka.estimates.state_rank import RankTest, choose_rank
from aqka.estimates.states import (
    MAX_STATE_QUBITS,
    FittedStates,
    KernelOf,
    StateFitter,
    draw_counts,
    some_points,
)
from aqka.learners import Decided, FittedHead
from aqka.maths.angle_prior import spread_evenly
from aqka.maths.point_law import equivalent_pair_shots, state_fidelity
from aqka.maths.product_bases import ProductBases
from aqka.maths.state_errors import information_root
from aqka.maths.state_features import expectations

MAX_FIDELITY_QUBITS = 8
CALIBRATED_POINTS = 200
VARIANCE_POINTS = 200
MOST_POINTS_OF_A_KERNEL = 1000  # beyond it the kernel would take more memory than all else
REDRAWN_POINTS = 200  # on which the reading with a prior is learnt, at each level of shots
WELL_KNOWN = 4  # shots for each of 2ⁿ amplitudes, with which states are near the true ones
MAX_PRIOR_OUTCOMES = 2**24  # of all training points and settings, beyond which there is no prior
MAX_PURE_STEPS = 2**30  # for variances of pure states, 8ⁿ each; more take over ten seconds


@dataclass(frozen=True)
class Fidelity(PointKernel):
    """The fidelity kernel of states fitted by maximum likelihood, up to eight qubits.

    Parameters
    ----------
    kernel_of : {"purified", "device"}, default="purified"
        ``"purified"`` takes most of a device's noise away; ``"device"`` reads what pairs would.
    rank : int, default=None
        Vectors of a state; None tests whether pure states will do.
    confusion : array of shape (qubits, 2, 2), default=None
        Readout errors from a calibration (``aqka.estimates.readout``).
    fit_states : callable, default=StateFits()
        What fits the states of training points and of new ones: by default this process a few,
        and all cores very many; a Dask cluster by ``StateFits(scheduler=…)``.
    """

    kernel_of: KernelOf = "purified"
    rank: int | None = None
    confusion: FloatArray | None = None
    fit_states: StateFitter = field(default_factory=StateFits)

    def check(self, n_qubits: int, most: int = MAX_STATE_QUBITS) -> None:
        """Refuse more qubits than states can be fitted on."""
        if n_qubits > most:
            raise InputError(
                f"kernel {self.kernel_of!r} fits states of at most {most} qubits, and the points "
                f"have {n_qubits}; take 'projected', or leave it out."
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
    """Fitted states, their fidelities, and f(x) = Tr ρ(x)A + b with A = Σ α_i ρ_i."""

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
        self.states = fitted.behind(kernel.kernel_of)  # those whose overlaps are the kernel
        self.n_read = table.n_points
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
        entries = kernel[np.triu_indices_from(kernel, k=1)]
        worth = equivalent_pair_shots(table.n_qubits, table.total / table.n_points, entries)
        return np.maximum(kernel * (1 - kernel), 0.0) / max(worth, 1e-12)

    def mean_variance(self) -> float:
        """Return the mean variance of an entry off the diagonal, over some of the points."""
        variances = self._variances(*some_points(self.table, self.fitted, VARIANCE_POINTS))
        off_diagonal = len(variances) * (len(variances) - 1)
        return float((variances.sum() - np.trace(variances)) / max(off_diagonal, 1))

    def _variances(self, table: PointTable, states: FittedStates) -> FloatArray:
        random = np.random.default_rng(0)  # the same counts give the same head
        return kernel_errors(table, states, random, self.kernel_of_points.kernel_of).variance

    def known_states(self, n_qubits: int) -> tuple[float, float]:
        """Return 2ⁿ, and the fidelity by the law of points."""
        table = self.table
        return 2.0**n_qubits, state_fidelity(n_qubits, table.total / table.n_points)

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

    def values(self, head: FittedHead, table: PointTable) -> FloatArray:
        """Return f of measured points alone, without the fits that its deviation needs."""
        fitted = self.kernel_of_points.fit(table, self.fitted.rank)
        return self._f(head, self.operators(head), fitted)

    def decide(self, head: FittedHead, table: PointTable, seed: int = 0) -> Decided:
        """Return f of measured points and its standard deviation.

        By the delta method, times what counts drawn from the fitted states show it to miss (≥ 1).
        """
        operators, rank = self.operators(head), self.fitted.rank
        fitted = self.kernel_of_points.fit(table, rank)
        f, variance = self._f(head, operators, fitted), self._f_variance(operators, table, fitted)
        part, truth = some_points(table, fitted, CALIBRATED_POINTS)
        drawn = draw_counts(truth, part, np.random.default_rng(seed))
        again = self.kernel_of_points.fit(drawn, rank)
        error = self._f(head, operators, again) - self._f(head, operators, truth)
        expected = self._f_variance(operators, drawn, again)
        ratio = np.mean(error**2 / np.maximum(expected, 1e-300))
        return Decided(f, np.sqrt(variance * max(1.0, float(ratio))), states=fitted)

    def improve(
        self, head: FittedHead, table: PointTable, decided: Decided, points: IntArray, seed: int = 0
    ) -> Decided:
        """Read some of the points with the training states as a prior, where that is better.

        Points with about the same shots are read alike; see :mod:`aqka.estimates.state_prior`.
        Redrawn counts promise too much where the training states are poor; then the deviation
        stays that of maximum likelihood, which is larger.
        """
        if self.fitted.vectors.shape[1] * table.n_settings * 2**table.n_qubits > MAX_PRIOR_OUTCOMES:
            return decided
        shape, outputs = decided.f.shape, head.coefficients.shape[1]
        f, deviation = (a.reshape(-1, outputs).copy() for a in (decided.f, decided.deviation))
        training = self._f(head, self.operators(head), self.fitted).reshape(-1, outputs)
        known_well = self.table.total >= WELL_KNOWN * 2**table.n_qubits * self.table.n_points
        points = points[table.shots_per_point[points] > 0]
        levels = np.rint(np.log2(table.shots_per_point[points])).astype(np.int64)
        for level in np.unique(levels):
            chosen = points[levels == level]
            part = table.subset(chosen)
            prior = StatePrior.learn(self._redrawn(head, training, part, (seed, int(level))))
            if prior is None:
                continue
            own = decided.states.log_likelihood[chosen]
            found, holds = prior.read(log_likelihoods(part, self.fitted), own, f[chosen], training)
            f[chosen[holds]] = found[holds]
            if known_well:
                deviation[chosen[holds]] = prior.deviation
        return replace(decided, f=f.reshape(shape), deviation=deviation.reshape(shape))

    def _redrawn(
        self, head: FittedHead, f: FloatArray, like: PointTable, seed: tuple[int, int]
    ) -> RedrawnPoints:
        """Measure training points anew, with the shots that other points have."""
        some = spread_evenly(len(f), REDRAWN_POINTS)
        origin = np.tile(some, -(-REDRAWN_POINTS // len(some)))
        table = PointTable(len(origin), like.settings)
        table.shots[:] = like.shots[np.arange(len(origin)) % like.n_points]
        truth = self.fitted.subset(origin)
        drawn = draw_counts(truth, table, np.random.default_rng(seed))
        again = self.kernel_of_points.fit(drawn, self.fitted.rank)
        # f without the training point itself, which a new point has no part in either.
        alpha, rows = head.coefficients[origin], np.arange(len(origin))
        overlaps = self.states.subset(origin).kernel(self.states)
        between = again.behind(self.kernel_of_points.kernel_of).kernel(self.states)
        fitted = between @ head.coefficients + np.reshape(head.intercept, -1)
        likelihoods = log_likelihoods(drawn, self.fitted)
        likelihoods[rows, origin] = -np.inf
        weights = [state_weights(likelihoods, power) for power in POWERS]
        return RedrawnPoints(
            origin,
            f[origin] - alpha * overlaps[rows, origin][:, None],
            fitted - alpha * between[rows, origin][:, None],
            np.array([w @ f - alpha * np.sum(w * overlaps, axis=1)[:, None] for w in weights]),
            again.log_likelihood - likelihoods.max(axis=1),
        )

    def decide_exactly(self, head: FittedHead, backend: Backend) -> FloatArray:
        """Return f of a simulator's exact states."""
        states = FittedStates.given(exact_states(backend)[None])
        return self._f(head, self.operators(head), states)

    def _f(self, head: FittedHead, operators: ComplexArray, states: FittedStates) -> FloatArray:
        vectors = states.behind(self.kernel_of_points.kernel_of).vectors
        values = np.stack([expectations(a, vectors) for a in operators], axis=1)
        return as_outputs(values + np.reshape(head.intercept, -1))

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
            roots = information_root(bases, pure[some], shots[some], confusion)
            # A u for each output: f moves by 2 Re⟨δ|Au⟩.
            gradient = np.stack([pure[some] @ operator.T for operator in operators], axis=2)
            real = 2 * np.concatenate([gradient.real, gradient.imag], axis=1)
            moved = [solve_triangular(*one, lower=True) for one in zip(roots, real, strict=True)]
            variance[some] = np.sum(np.square(moved), axis=1)
        return as_outputs(variance)

    def extended(self, table: PointTable) -> Self:
        """Return it with more states, of the rank that the training points have."""
        new = self.kernel_of_points.fit(table, self.fitted.rank)
        more = new.behind(self.kernel_of_points.kernel_of).vectors
        made = type(self)(self.kernel_of_points, self.table, self.design, self.fitted, self.tests)
        made.states = FittedStates.given(np.concatenate([self.states.vectors, more], axis=1))
        made.n_read = self.n_read + table.n_points
        return made

    def block(self, rows: IntArray, cols: IntArray) -> FloatArray:
        """Return Tr ρ_i ρ_j; of pure states |⟨u_i|u_j⟩|²."""
        return self.states.subset(rows).kernel(self.states.subset(cols))
