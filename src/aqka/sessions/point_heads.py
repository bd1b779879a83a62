"""From counts of points to a head, and from counts of new points to its decisions.

The kernel of points has two readings, and each is a class here: the fidelity of fitted states,
where f(x) = Tr ρ(x)A with one matrix A whatever the number of training points, and the projected
kernel of reduced states, for more qubits than a state can be fitted on.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.estimates.state_errors import kernel_errors
from aqka.estimates.state_rank import RankTest, choose_rank
from aqka.estimates.states import FittedStates, KernelOf, StateFitter, draw_counts
from aqka.maths.product_bases import ComplexArray, ProductBases
from aqka.maths.state_errors import tangent_roots
from aqka.maths.state_features import expectations, observable
from aqka.readouts import Readout, make_readout
from aqka.sessions.point_contract import PointHead, PointKernel
from aqka.sessions.state_fits import StateFits

__all__ = [
    "MAX_FIDELITY_QUBITS",
    "MEANINGS",
    "FidelityOfPoints",
    "PointHead",
    "PointKernel",
    "StateHead",
]

MAX_FIDELITY_QUBITS = 8
CALIBRATED_POINTS = 200
MEANINGS: dict[KernelOf, str] = {
    "purified": "K̂ is the fidelity of states fitted to the counts, with most of a device's noise "
    "taken off.",
    "device": "K̂ is Tr ρσ of states fitted to the counts, with the device's noise.",
}
VARIANCE_POINTS = 200


@dataclass(frozen=True, eq=False)
class StateHead(PointHead):
    """f(x) = Tr ρ(x)A + b, where ρ(x) is fitted to the counts of a point.

    Attributes
    ----------
    operators
        A, one Hermitian matrix per output.
    intercept
        b, one number per output.
    states
        The fitted states of the training points whose kernel was learnt.
    kernel_of
        Which kernel that is: ``"purified"`` or ``"device"``.
    rank
        Vectors of the states that new points are fitted with, as the training points were.
    tests
        Whether the states are pure, and what was decided.
    fit_states
        Fits the states of new points, as it did those of the training points.
    """

    operators: ComplexArray
    intercept: FloatArray
    states: FittedStates
    kernel_of: KernelOf
    rank: int
    tests: list[RankTest]
    fit_states: StateFitter = field(default_factory=StateFits)

    def decide(self, table: PointTable, seed: int = 0) -> tuple[FloatArray, FloatArray]:
        """Return f of measured points and its standard deviation.

        The delta method at the fitted states, multiplied by what counts drawn from them show it to
        miss, never by less than 1.
        """
        fitted = self.fit_points(table)
        f, variance = self.decide_states(fitted), self._variance(table, fitted)
        chosen = np.unique(np.linspace(0, table.n_points - 1, CALIBRATED_POINTS).astype(np.int64))
        part, truth = table.subset(chosen), fitted.subset(chosen)
        drawn = draw_counts(truth, part, np.random.default_rng(seed))
        again = self.fit_points(drawn)
        error = self.decide_states(again) - self.decide_states(truth)
        expected = self._variance(drawn, again)
        ratio = np.mean(error**2 / np.maximum(expected, 1e-300))
        return f, np.sqrt(variance * max(1.0, float(ratio)))

    def kernel(self) -> FloatArray:
        """Return the fidelities of the training points' states."""
        return self.states.kernel()

    @property
    def meaning(self) -> str:
        """Whether a device's noise is in the kernel."""
        return MEANINGS[self.kernel_of]

    def decide_states(self, states: FittedStates) -> FloatArray:
        """Return f of states: those fitted to counts, or exact ones of a simulation."""
        vectors = states.behind(self.kernel_of).vectors
        values = np.stack([expectations(a, vectors) for a in self.operators], axis=1)
        values = values + self.intercept.reshape(-1)
        return values[:, 0] if len(self.operators) == 1 else values

    def decide_exactly(self, vectors: ComplexArray) -> FloatArray:
        """Return f of exact pure states, one per row."""
        return self.decide_states(FittedStates.given(np.asarray(vectors)[None]))

    def fit_points(self, table: PointTable) -> FittedStates:
        """Return the states of new points, fitted as those of the training points were."""
        return self.fit_states(table, self.rank, None, self.states.confusion)

    def _variance(self, table: PointTable, fitted: FittedStates) -> FloatArray:
        """Return the variance of f by the Fisher information at the nearest pure states."""
        pure = fitted.purified().vectors[0]
        bases = ProductBases(table.settings)
        shots = table.shots.astype(np.float64)
        size = max(1, 2**22 // (2 * bases.dimension) ** 2)
        variance = np.empty((table.n_points, len(self.operators)))
        for first in range(0, table.n_points, size):
            some = slice(first, first + size)
            roots = tangent_roots(bases, pure[some], shots[some], self.states.confusion)
            for k, operator in enumerate(self.operators):
                gradient = pure[some] @ operator.T  # A u, and f moves by 2 Re⟨δ|Au⟩
                real = np.concatenate([gradient.real, gradient.imag], axis=1)
                moved = 2 * np.einsum("ia,iab->ib", real, roots)
                variance[some, k] = np.sum(moved**2, axis=1)
        return variance[:, 0] if len(self.operators) == 1 else variance


@dataclass(frozen=True)
class FidelityOfPoints(PointKernel):
    """The fidelity kernel of states fitted by maximum likelihood.

    Attributes
    ----------
    kernel_of
        ``"purified"`` takes most of a device's noise away; ``"device"`` is the kernel that pairs
        would have measured.
    rank
        Vectors of a state; None tests whether pure states will do.
    confusion
        Readout errors from a calibration (``aqka.estimates.readout.confusion_matrices``).
    fit_states
        Who fits the states, of training points and of new ones: by default this process a few,
        and all cores very many; a Dask cluster by ``StateFits(scheduler=…)``.
    """

    kernel_of: KernelOf = "purified"
    rank: int | None = None
    confusion: FloatArray | None = None
    fit_states: StateFitter = field(default_factory=StateFits)

    def with_confusion(self, confusion: FloatArray | None) -> "FidelityOfPoints":
        """Return the kernel read with these readout errors, unless it has its own."""
        return self if self.confusion is not None else replace(self, confusion=confusion)

    def fit(self, table: PointTable, problem: Problem, readout: Any) -> StateHead:
        """Fit the states, then the head on their kernel or, where it is smaller, their features."""
        states, tests = self._states(table)
        kept, chosen, found = states.behind(self.kernel_of), _readout(readout), None
        if 4**table.n_qubits < problem.n_points:
            found = chosen.fit_features(
                kept.features(), lambda: self._mean_variance(table, states), problem
            )
        if found is not None:
            operators = np.stack([observable(column) for column in found.weights.T])
            intercept, regularisation = np.zeros(len(operators)), found.regularisation
        else:
            head = chosen.fit_noisy(kept.kernel(), lambda: self._variances(table, states), problem)
            alpha = head.alpha.reshape(problem.n_points, -1)
            operators = np.einsum("kid,ic,kie->cde", kept.vectors, alpha, kept.vectors.conj())
            intercept, regularisation = np.reshape(head.intercept, -1), head.regularisation
        return StateHead(
            problem.classes,
            regularisation,
            table.settings,
            operators,
            intercept,
            kept,
            self.kernel_of,
            states.rank,
            tests,
            self.fit_states,
        )

    def _variances(self, table: PointTable, states: FittedStates) -> FloatArray:
        random = np.random.default_rng(0)  # the same counts give the same head
        return kernel_errors(table, states, random, self.kernel_of).variance

    def _mean_variance(self, table: PointTable, states: FittedStates) -> float:
        """Return the mean variance of an entry off the diagonal, over some of the points."""
        count = min(table.n_points, VARIANCE_POINTS)
        points = np.linspace(0, table.n_points - 1, count).astype(np.int64)
        variances = self._variances(table.subset(points), states.subset(points))
        return float((variances.sum() - np.trace(variances)) / (count * (count - 1)))

    def _states(self, table: PointTable) -> tuple[FittedStates, list[RankTest]]:
        if self.rank is not None:
            return self.fit_states(table, self.rank, None, self.confusion), []
        random = np.random.default_rng(0)
        return choose_rank(
            table, random, confusion=self.confusion, kernel_of=self.kernel_of, fit=self.fit_states
        )


def _readout(readout: Any) -> Readout:
    return make_readout("ridge-loo" if readout is None else readout)
