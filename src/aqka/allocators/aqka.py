"""AQKA itself: fill toward the KKT targets of the estimated sensitivity (target-est)."""

from dataclasses import dataclass

from aqka.allocators._base import TargetFill
from aqka.arrays import FloatArray
from aqka.pairs import PairTable
from aqka.problem import Problem
from aqka.sensitivity import krr_gradient
from aqka.spectrum import Spectrum
from aqka.targets import floored


def ridge_gradient(kernel: FloatArray, problem: Problem) -> FloatArray:
    """Return g of kernel ridge regression on ``kernel`` (Algorithm 1, lines 5 to 7)."""
    spectrum = Spectrum.of(kernel)  # line 5: PSD-project
    alpha = spectrum.solve(problem.y, problem.ridge)  # line 6: α = (K̂ + λI)^{-1} y
    beta = spectrum.solve(alpha, problem.ridge)  #            β = (K̂ + λI)^{-1} α
    return krr_gradient(alpha, beta, problem.ridge)  # line 7: Lemma 1


@dataclass(frozen=True)
class Aqka(TargetFill):
    """The paper's method: s* ∝ |g| sqrt(K(1-K)) with plug-in estimates (Eq. 14)."""

    def score(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return |ĝ| sqrt(K̂(1-K̂)) from what has been measured so far."""
        k_hat = problem.protocol.kernel(table)  # line 5: K̂ = c / s
        gradient = table.condense(ridge_gradient(k_hat, problem))
        return floored(gradient, self.floor) * problem.protocol.deviation(table)
