"""Kernel ridge regression with the ridge as given."""

from dataclasses import dataclass

import numpy as np

from aqka.core.problem import Problem
from aqka.maths.spectrum import FeatureSpectrum, Spectrum
from aqka.readouts._base import Estimate, FittedHead, Readout


def fit_ridge(
    readout: Readout,
    estimate: Estimate,
    spectrum: Spectrum | FeatureSpectrum,
    problem: Problem,
    ridge: float,
) -> FittedHead:
    """Return the head α = (K + λI)^{-1} y on the projected kernel."""
    alpha = spectrum.solve(problem.y, ridge)
    return FittedHead(
        alpha,
        np.zeros(alpha.shape[1:]),
        estimate,
        ridge,
        problem.classes,
        problem.has_classes,
        readout.describe(problem),
        spectrum,
    )


@dataclass(frozen=True)
class Ridge(Readout):
    """The problem's own ridge: the paper's readout."""

    def fit(self, estimate: Estimate, problem: Problem) -> FittedHead:
        """Project and solve."""
        return fit_ridge(self, estimate, estimate.spectrum(), problem, problem.ridge)
