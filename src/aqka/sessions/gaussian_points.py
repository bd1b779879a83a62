"""The Gaussian projected kernel of points: exp(-γD) of their reduced states (Huang et al. 2021)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.estimates.projected import (
    ReducedStates,
    gaussian_projected_kernel,
    least_shots,
    reduced_states,
)
from aqka.readouts import make_readout
from aqka.readouts.projected_gamma import tuned_gamma
from aqka.sessions.point_contract import PointHead, ReducedStateKernel

RESAMPLES = 24
"""How often shots are drawn again: the relative error of a deviation is 1/sqrt(2 · 24)."""


@dataclass(frozen=True, eq=False)
class ProjectedHead(PointHead):
    """f(x) = Σ α_j k(x, x_j) + b with the Gaussian projected kernel.

    Attributes
    ----------
    alpha, intercept
        Coefficients, one column per output, and b.
    states
        The reduced states of the training points.
    gamma
        Of the kernel exp(-γ Σ ‖ρ - σ‖²).
    confusion
        Readout errors.
    """

    alpha: FloatArray
    intercept: FloatArray
    states: ReducedStates
    gamma: float
    confusion: FloatArray | None

    def decide(self, table: PointTable, seed: int = 0) -> tuple[FloatArray, FloatArray]:
        """Return f of measured points and its standard deviation, by resampling their shots."""
        random, how = np.random.default_rng(seed), (self.states.locality, self.confusion)
        found = reduced_states(table, *how)
        f = self._f(found)
        again = [reduced_states(table.resampled(random), *how, found) for _ in range(RESAMPLES)]
        return f, np.sqrt(np.mean([(self._f(states) - f) ** 2 for states in again], axis=0))

    def kernel(self) -> FloatArray:
        """Return the Gaussian of the training points' measured distances, noise included."""
        return gaussian_projected_kernel(self.states, self.gamma, keep_noise=True)

    @property
    def meaning(self) -> str:
        """The kernel's formula, its width and its states."""
        return gaussian_meaning(self.states, self.gamma)

    @property
    def least_shots(self) -> int:
        """Two for each operator of a reduced state."""
        return least_shots(self.settings, self.states.locality)

    def _f(self, found: ReducedStates) -> FloatArray:
        kernel = gaussian_projected_kernel(found, self.gamma, self.states, keep_noise=True)
        values = kernel @ self.alpha + self.intercept
        return values[:, 0] if self.alpha.shape[1] == 1 else values


@dataclass(frozen=True)
class ProjectedPoints(ReducedStateKernel):
    """The Gaussian projected kernel of reduced states (Huang et al. 2021), for any qubits.

    Attributes
    ----------
    gamma
        Of exp(-γ Σ ‖ρ - σ‖²); None chooses it with the ridge, by leaving points out.
    """

    gamma: float | None = None

    def fit(self, table: PointTable, problem: Problem, readout: Any) -> ProjectedHead:
        """Reduce the states, and fit the head on their kernel."""
        states = reduced_states(table, self.locality, self.confusion)
        gamma = self.gamma
        if gamma is None:
            gamma = tuned_gamma(states, problem.outputs)
        kernel = gaussian_projected_kernel(states, gamma, keep_noise=True)
        head = make_readout("ridge-loo" if readout is None else readout).fit_kernel(kernel, problem)
        return ProjectedHead(
            problem.classes,
            head.regularisation,
            table.settings,
            head.alpha.reshape(problem.n_points, -1),
            np.reshape(head.intercept, -1),
            states,
            gamma,
            self.confusion,
        )


def gaussian_meaning(states: ReducedStates, gamma: float) -> str:
    """Return what a Gaussian projected kernel is, in a sentence."""
    return (
        f"K̂ is the projected kernel exp(−γD) with γ = {gamma:.3g}: D is the squared distance of "
        f"the {states.n_states} reduced states of two points."
    )
