"""AQKA and its like over points: shots where a point's noise moves the loss or the predictions."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from aqka._util.arrays import ComplexArray, FloatArray
from aqka.allocators._base import Allocation, TargetFill
from aqka.allocators.schedule import EVEN_START, Schedule
from aqka.allocators.targets import raise_lowest
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.estimates.states import fit_states
from aqka.learners.ridge import best_loo_ridge
from aqka.maths.product_bases import ProductBases
from aqka.maths.sensitivity import loss_variances, prediction_variances
from aqka.maths.spectrum import FeatureSpectrum, Spectrum
from aqka.maths.state_errors import tangent_roots
from aqka.maths.state_features import overlap_kernel, state_features


@dataclass(frozen=True)
class PointFill(TargetFill):
    """Fills toward shots ∝ sqrt(v), v the variance that a point adds at one shot.

    Points without shots come first: nothing is known about them. sqrt(v) is raised to ``floor``
    times the largest one, so that an estimate that is too low starves no point.
    """

    floor: float = 0.2
    schedule: ClassVar[Schedule] = EVEN_START
    units: ClassVar[tuple[str, ...]] = ("point",)

    def deviation(self, table: PointTable, problem: Problem) -> FloatArray:
        """Return 1 for each point: v counts its noise."""
        return np.ones(table.n_points)

    def ask(self, table: PointTable, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Allocate one round's shots (docs/explanation/points.md)."""
        if table.unit_shots.min() == 0:
            return Allocation(raise_lowest(table.unit_shots, shots, rng))
        return super().ask(table, problem, shots, rng)


def _fit(table: PointTable) -> tuple[ComplexArray, FloatArray]:
    """Return the pure states of all points, and how one shot moves them."""
    states = fit_states(table).vectors[0]
    share = np.full((table.n_points, table.n_settings), 1 / table.n_settings)
    return states, tangent_roots(ProductBases(table.settings), states, share)


@dataclass(frozen=True)
class AqkaPoints(PointFill):
    """Shots ∝ sqrt(Var_i(G_i)), G_i = ∂L/∂ρ_i = Σ_j g_ij ρ_j with the paper's g (Eq. 6)."""

    ledger_name: ClassVar[str] = "aqka-points"

    def sensitivity(self, table: PointTable, problem: Problem) -> FloatArray:
        """Return the root of the loss's variance at one shot, all outputs together."""
        (states, roots), y = _fit(table), problem.outputs
        # Neither the loss nor its gradient needs the kernel where its features are fewer.
        spectrum = (
            FeatureSpectrum.of(state_features(states[None]))
            if 4**table.n_qubits < table.n_points
            else Spectrum.of(overlap_kernel(states[None]))
        )
        ridge = best_loo_ridge(spectrum, y)
        alpha = spectrum.solve(y, ridge)
        beta = spectrum.solve(alpha, ridge)
        return np.asarray(np.sqrt(loss_variances(states, roots, alpha, beta).sum(axis=1)))


@dataclass(frozen=True)
class PredictivePoints(PointFill):
    """Shots ∝ sqrt(v_i), v_i the variance that a point's noise gives to all predictions."""

    ledger_name: ClassVar[str] = "predictive-points"

    def sensitivity(self, table: PointTable, problem: Problem) -> FloatArray:
        """Return the root of the predictions' variance at one shot, all outputs together."""
        (states, roots), y = _fit(table), problem.outputs
        # Every state moves the predictions of every point, so this one needs the kernel.
        spectrum = Spectrum.of(overlap_kernel(states[None]))
        ridge = best_loo_ridge(spectrum, y)
        alpha = spectrum.solve(y, ridge)
        variances = prediction_variances(states, roots, spectrum, alpha, ridge)
        return np.asarray(np.sqrt(variances.sum(axis=1)))
