"""The linear projected kernel of points: Tr ρσ of their reduced states (Huang et al. 2021)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.estimates.projected import (
    ReducedStates,
    least_shots,
    linear_projected_kernel,
    reduced_states,
)
from aqka.estimates.projected_errors import expectation_covariances
from aqka.readouts import make_readout
from aqka.sessions.point_contract import PointHead, ReducedStateKernel


@dataclass(frozen=True, eq=False)
class LinearHead(PointHead):
    """f(x) = Σ α_j k(x, x_j) + b with the mean of Tr ρσ as the kernel: linear in ρ(x).

    Attributes
    ----------
    alpha, intercept
        Coefficients, one column per output, and b.
    states
        The reduced states of the training points.
    confusion
        Readout errors.
    """

    alpha: FloatArray
    intercept: FloatArray
    states: ReducedStates
    confusion: FloatArray | None

    def decide(self, table: PointTable, seed: int = 0) -> tuple[FloatArray, FloatArray]:
        """Return f of measured points and its standard deviation, which needs no draws."""
        found = reduced_states(table, self.states.locality, self.confusion)
        f = mean_overlaps(found, self.states) @ self.alpha + self.intercept
        # f = Σ_P slope_P ⟨P⟩ + a constant, so that its variance is that of the expectations.
        slopes = (self.states.weights / self.states.n_states)[:, None] * (
            self.states.expectations.T @ self.alpha
        )
        covariances = expectation_covariances(table, found, self.confusion)
        variance = np.einsum("oc,iop,pc->ic", slopes, covariances, slopes, optimize=True)
        deviation = np.sqrt(np.maximum(variance, 0.0))
        return (f[:, 0], deviation[:, 0]) if self.alpha.shape[1] == 1 else (f, deviation)

    def kernel(self) -> FloatArray:
        """Return the overlaps of the training points' measured states, noise included."""
        return mean_overlaps(self.states, self.states)

    @property
    def meaning(self) -> str:
        """The kernel's formula and its states."""
        return linear_meaning(self.states)

    @property
    def least_shots(self) -> int:
        """Two for each operator of a reduced state."""
        return least_shots(self.settings, self.states.locality)


@dataclass(frozen=True)
class LinearProjectedPoints(ReducedStateKernel):
    """The linear projected kernel, the mean of Tr ρσ over reduced states, for any qubits.

    A point with itself is the mean purity of its reduced states, not 1.
    """

    has_unit_diagonal: ClassVar[bool] = False

    def fit(self, table: PointTable, problem: Problem, readout: Any) -> LinearHead:
        """Reduce the states, and fit the head on their overlaps."""
        states = reduced_states(table, self.locality, self.confusion)
        chosen = make_readout("ridge-loo" if readout is None else readout)
        head = chosen.fit_kernel(mean_overlaps(states, states), problem)
        return LinearHead(
            problem.classes,
            head.regularisation,
            table.settings,
            head.alpha.reshape(problem.n_points, -1),
            np.reshape(head.intercept, -1),
            states,
            self.confusion,
        )


def mean_overlaps(states: ReducedStates, others: ReducedStates) -> FloatArray:
    """Return the mean of Tr ρσ over the reduced states, with their noise where points are equal.

    So the matrix of points with themselves is positive semi-definite, and its shot noise, all of
    it on the diagonal, is a ridge.
    """
    return linear_projected_kernel(states, others) / states.n_states


def linear_meaning(states: ReducedStates) -> str:
    """Return what a linear projected kernel is, in a sentence."""
    return (
        f"K̂ is the linear projected kernel: the mean of Tr ρσ over the {states.n_states} reduced "
        "states of two points."
    )
