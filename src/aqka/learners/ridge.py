"""Kernel ridge regression with the ridge as given."""

from dataclasses import dataclass

import numpy as np

from aqka.core.problem import Problem
from aqka.learners._base import Estimate, FittedHead, Learner
from aqka.maths.spectrum import FeatureSpectrum, Spectrum


def fit_ridge(
    learner: Learner,
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
        learner.describe(problem),
        spectrum,
    )


@dataclass(frozen=True)
class Ridge(Learner):
    """The problem's own ridge: the paper's learner."""

    def fit(self, estimate: Estimate, problem: Problem) -> FittedHead:
        """Project and solve."""
        return fit_ridge(self, estimate, estimate.spectrum(problem.weights), problem, problem.ridge)
