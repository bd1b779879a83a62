"""Kernel ridge regression with the ridge as given."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.problem import Problem
from aqka.maths.spectrum import FeatureSpectrum, Spectrum
from aqka.readouts._base import FeatureHead, FittedHead, Readout


def fit_ridge(spectrum: Spectrum, problem: Problem, ridge: float) -> FittedHead:
    """Return the head α = (K + λI)^{-1} y on the projected kernel."""
    alpha = spectrum.solve(problem.y, ridge)
    intercept = np.zeros(alpha.shape[1:])
    return FittedHead(
        alpha, intercept, spectrum.kernel(), ridge, problem.classes, spectrum=spectrum
    )


def feature_ridge(spectrum: FeatureSpectrum, problem: Problem, ridge: float) -> FeatureHead:
    """Return the same head by the features' weights."""
    return FeatureHead(spectrum.weights(problem.outputs, ridge), ridge)


@dataclass(frozen=True)
class Ridge(Readout):
    """The problem's own ridge: the paper's readout."""

    def fit_kernel(self, kernel: FloatArray, problem: Problem) -> FittedHead:
        """Project and solve."""
        return fit_ridge(Spectrum.of(kernel), problem, problem.ridge)

    def fit_features(
        self, features: FloatArray, mean_variance: Callable[[], float], problem: Problem
    ) -> FeatureHead:
        """Solve without the kernel."""
        return feature_ridge(FeatureSpectrum.of(features), problem, problem.ridge)
