"""Kernel ridge regression with the ridge chosen by the closed-form leave-one-out error."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray, as_positive
from aqka.core.problem import Problem
from aqka.errors import InputError
from aqka.maths.spectrum import FeatureSpectrum, Spectrum
from aqka.readouts._base import FeatureHead, FittedHead, Readout
from aqka.readouts.ridge import feature_ridge, fit_ridge

RIDGE_GRID: tuple[float, ...] = tuple(np.geomspace(1e-3, 1e2, 21).tolist())
"""Four values per decade. The paper's grid ends at 0.1, where the optimum often only begins."""


Residuals = Callable[[FloatArray, FloatArray], FloatArray]
"""From an output and some ridges to leave-one-out residuals, one column per ridge."""


def check_grid(grid: tuple[float, ...]) -> None:
    """Refuse a grid that is empty or holds anything but positive numbers."""
    if len(grid) == 0:
        raise InputError("grid must hold at least one ridge, got none.")
    for ridge in grid:
        as_positive(ridge, "grid")


def loo_residuals(spectrum: Spectrum, y: FloatArray, ridges: FloatArray) -> FloatArray:
    """Return the leave-one-out residuals α_i / A_ii, one column per ridge (Appendix C.17)."""
    shrunk = 1.0 / (spectrum.values[:, None] + ridges)
    alpha = spectrum.vectors @ ((spectrum.vectors.T @ y)[:, None] * shrunk)
    diagonal = spectrum.vectors**2 @ shrunk
    return np.asarray(alpha / diagonal)


@dataclass(frozen=True)
class RidgeLoo(Readout):
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
        """Check the grid."""
        check_grid(self.grid)

    def fit_kernel(self, kernel: FloatArray, problem: Problem) -> FittedHead:
        """Project once, score every ridge, and solve with the best."""
        spectrum = Spectrum.of(kernel)
        ridge = self._best(problem, lambda y, ridges: loo_residuals(spectrum, y, ridges))
        return fit_ridge(spectrum, problem, ridge)

    def fit_features(
        self, features: FloatArray, mean_variance: Callable[[], float], problem: Problem
    ) -> FeatureHead:
        """Do the same without the kernel."""
        spectrum = FeatureSpectrum.of(features)
        return feature_ridge(spectrum, problem, self._best(problem, spectrum.loo_residuals))

    def _best(self, problem: Problem, residuals: Residuals) -> float:
        """Return the ridge with the smallest error over all outputs."""
        ridges = np.asarray(self.grid)
        errors = sum(np.mean(residuals(y, ridges) ** 2, axis=0) for y in problem.outputs.T)
        return float(ridges[np.argmin(errors)])
