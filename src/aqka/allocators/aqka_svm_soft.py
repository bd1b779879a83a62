"""AQKA for a support vector machine with the paper's proposed mend: a soft support."""

from dataclasses import dataclass

from aqka.allocators.aqka_svm import AqkaSvm
from aqka.arrays import FloatArray
from aqka.problem import Problem
from aqka.sensitivity import soft_support
from aqka.svm import solve_dual


@dataclass(frozen=True)
class AqkaSvmSoft(AqkaSvm):
    """The dual coefficients replaced by softmax(η / τ), τ = 1/γ (Appendix A.6, mend (i))."""

    def weights(self, kernel: FloatArray, problem: Problem) -> FloatArray:
        """Return the soft support, flatter the thinner the margin."""
        solution = solve_dual(kernel, problem.signs, problem.C)
        return soft_support(solution.dual, solution.margin)
