"""Kernel ridge regression with the ridge chosen by the closed-form leave-one-out error."""

from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray, as_positive
from aqka.core.problem import Problem
from aqka.errors import InputError
from aqka.learners._base import Estimate, FittedHead, Learner
from aqka.learners.ridge import fit_ridge
from aqka.maths.spectrum import FeatureSpectrum, Spectrum

RIDGE_GRID: tuple[float, ...] = tuple(np.geomspace(1e-3, 1e2, 21).tolist())
"""Four values per decade. The paper's grid ends at 0.1, where the optimum often only begins."""


def check_grid(grid: tuple[float, ...]) -> None:
    """Refuse a grid that is empty or holds anything but positive numbers."""
    if len(grid) == 0:
        raise InputError("grid must hold at least one ridge, got none.")
    for ridge in grid:
        as_positive(ridge, "grid")


def loo_errors(
    spectrum: Spectrum | FeatureSpectrum, outputs: FloatArray, ridges: FloatArray
) -> FloatArray:
    """Return the squared leave-one-out residuals of all outputs together, points by ridges."""
    return np.asarray(sum(spectrum.loo_residuals(y, ridges) ** 2 for y in outputs.T))


def best_loo_ridge(
    spectrum: Spectrum | FeatureSpectrum,
    outputs: FloatArray,
    grid: tuple[float, ...] = RIDGE_GRID,
) -> float:
    """Return the ridge of the grid with the smallest mean squared leave-one-out residual."""
    ridges = np.asarray(grid)
    return float(ridges[np.argmin(loo_errors(spectrum, outputs, ridges).mean(axis=0))])


@dataclass(frozen=True)
class RidgeLoo(Learner):
    """The ridge of the grid with the smallest mean squared leave-one-out residual.

    One decomposition serves the whole grid. With very uneven shots it can mislead, because
    projection has already used every entry; ``ridge-kfold`` holds points out for real.

    Attributes
    ----------
    grid
        Ridges to choose from.
    """

    grid: tuple[float, ...] = RIDGE_GRID

    def __post_init__(self) -> None:
        check_grid(self.grid)

    def fit(self, estimate: Estimate, problem: Problem) -> FittedHead:
        """Project once, score every ridge, and solve with the best."""
        spectrum = estimate.spectrum(problem.weights)
        ridge = best_loo_ridge(spectrum, problem.outputs, self.grid)
        return fit_ridge(self, estimate, spectrum, problem, ridge)
