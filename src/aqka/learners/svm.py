"""Support vector machine on the projected kernel."""

from dataclasses import dataclass

import numpy as np

from aqka.core.problem import Problem
from aqka.learners._base import Estimate, FittedHead, Learner
from aqka.maths.sensitivity import solve_dual
from aqka.maths.spectrum import Spectrum


@dataclass(frozen=True)
class Svm(Learner):
    """scikit-learn's SVC on a precomputed kernel, with the problem's C."""

    def fit(self, estimate: Estimate, problem: Problem) -> FittedHead:
        """Project and solve the dual, once per class where there are more than two."""
        spectrum = Spectrum.of(estimate.kernel)
        columns = problem.signs().T
        solved = [
            solve_dual(spectrum.kernel(), signs, problem.C, problem.weights) for signs in columns
        ]
        alpha = np.stack([s.dual * signs for s, signs in zip(solved, columns, strict=True)], axis=1)
        intercept = np.array([s.intercept for s in solved])
        if len(solved) == 1:
            alpha, intercept = alpha[:, 0], intercept[0]
        return FittedHead(
            alpha,
            intercept,
            estimate,
            problem.C,
            problem.classes,
            fitted_by=self.describe(problem),
            spectrum=spectrum,
        )
