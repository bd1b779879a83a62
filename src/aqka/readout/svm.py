"""Support vector machine on the projected kernel."""

from dataclasses import dataclass

from aqka.arrays import FloatArray
from aqka.problem import Problem
from aqka.readout._base import FittedHead, Readout
from aqka.spectrum import project_psd
from aqka.svm import solve_dual


@dataclass(frozen=True)
class Svm(Readout):
    """scikit-learn's SVC on a precomputed kernel, with the problem's C."""

    def fit_kernel(self, kernel: FloatArray, problem: Problem) -> FittedHead:
        """Project and solve the dual."""
        projected = project_psd(kernel)
        solution = solve_dual(projected, problem.signs, problem.C)
        alpha = solution.dual * problem.signs
        return FittedHead(alpha, solution.intercept, projected, problem.C, problem.classes)
