"""AQKA and its like: shots where the noise of a pair moves the loss or the predictions."""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.allocators._base import SampledScore, TargetFill
from aqka.allocators._points import AqkaPoints, PredictivePoints
from aqka.allocators.schedule import EVEN_START, Schedule
from aqka.core.pairs import KernelPrior, PairTable
from aqka.core.problem import Problem
from aqka.learners.ridge import ridge_above_noise
from aqka.maths import sensitivity as formulas
from aqka.maths.sensitivity import SvmSolution, combine_outputs, krr_gradient
from aqka.maths.spectrum import Spectrum, project_psd


def ridge_gradient(spectrum: Spectrum, problem: Problem) -> FloatArray:
    """Return |g| of kernel ridge regression on a decomposed kernel, up to a factor (lines 5 to 7).

    Only ratios matter to targets, so labels and coefficients are scaled to a largest of 1,
    which keeps the smallest and the largest ridges within floating point.
    """

    def scaled(vector: FloatArray) -> FloatArray:
        return np.asarray(vector / np.abs(vector).max())

    alpha = scaled(spectrum.solve(scaled(problem.outputs), problem.ridge))  # line 6: (K̂ + λI)⁻¹ y
    beta = scaled(spectrum.solve(alpha, problem.ridge))  # β = (K̂ + λI)⁻¹ α
    outputs = zip(alpha.T, beta.T, strict=True)
    return combine_outputs(krr_gradient(a, b, ridge=1.0) for a, b in outputs)  # line 7: Lemma 1


@lru_cache(maxsize=2)
def true_gradient(problem: Problem) -> FloatArray:
    """Return |g| of the true kernel, which is the same in all rounds."""
    return ridge_gradient(Spectrum.of(problem.oracle()), problem)


@dataclass(frozen=True)
class Aqka(TargetFill):
    """The paper's method: s* ∝ |g| sqrt(K(1-K)) with plug-in estimates (Eq. 14).

    Parameters
    ----------
    floor : float, default=0.05
        Sensitivities are raised to this fraction of the largest one; for points 0.2 by default.
    """

    ledger_name: ClassVar[str] = "aqka"
    units: ClassVar[tuple[str, ...]] = ("pair", "point")
    over_points: ClassVar[type[TargetFill] | None] = AqkaPoints

    def sensitivity(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return ĝ from what has been measured so far."""
        return table.condense(ridge_gradient(self.spectrum(table, problem), problem))


@dataclass(frozen=True)
class AqkaOracle(TargetFill):
    """What AQKA would do if it knew the kernel it is about to measure.

    ``floor`` is that of :class:`Aqka`.
    """

    ledger_name: ClassVar[str] = "aqka-oracle"

    def check(self, problem: Problem) -> None:
        """Require the true kernel."""
        problem.oracle()

    def sensitivity(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return g of the true kernel."""
        return table.condense(true_gradient(problem))

    def deviation(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return sqrt(K(1-K)) of the true kernel."""
        k = table.condense(problem.oracle())
        return np.sqrt(k * (1 - k))


@dataclass(frozen=True)
class Multinomial(SampledScore, Aqka):
    """Sampling from p ∝ |ĝ| sqrt(K̂(1-K̂)) instead of filling toward it (Appendix C.5).

    ``floor`` is that of :class:`Aqka`.
    """

    ledger_name: ClassVar[str] = "multinomial"
    units: ClassVar[tuple[str, ...]] = ("pair",)


@dataclass(frozen=True)
class MultinomialOracle(SampledScore, AqkaOracle):
    """Sampling from p ∝ |g| sqrt(K(1-K)) of the true kernel (Appendix C.5).

    ``floor`` is that of :class:`Aqka`.
    """

    ledger_name: ClassVar[str] = "multinomial-oracle"


@dataclass(frozen=True)
class AqkaSvm(TargetFill):
    """s* ∝ |η_i η_j| sqrt(K̂(1-K̂)), from the envelope theorem (Prop. 4, Eq. 49).

    ``floor`` is that of :class:`Aqka`.
    """

    ledger_name: ClassVar[str] = "aqka-svm"

    def check(self, problem: Problem) -> None:
        """Require classes."""
        problem.signs()

    def weights(self, solution: SvmSolution) -> FloatArray:
        """Return the support weight of each point: its dual coefficient."""
        return solution.dual

    def sensitivity(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return the product of the support weights of a pair's two points."""
        kernel = project_psd(problem.reading.kernel(table))
        columns = problem.signs().T
        weights = (self.weights(formulas.solve_dual(kernel, y, problem.C)) for y in columns)
        gradients = (formulas.svm_gradient(w, np.ones_like(w)) for w in weights)
        return table.condense(combine_outputs(gradients))


@dataclass(frozen=True)
class AqkaSvmSoft(AqkaSvm):
    """The dual coefficients replaced by softmax(η / τ), τ = 1/γ (Appendix A.6, remedy (i)).

    ``floor`` is that of :class:`Aqka`.
    """

    ledger_name: ClassVar[str] = "aqka-svm-soft"

    def weights(self, solution: SvmSolution) -> FloatArray:
        """Return the soft support, flatter the thinner the margin."""
        return formulas.soft_support(solution.dual, solution.margin)


@dataclass(frozen=True)
class Predictive(TargetFill):
    """Half of the shots ∝ sqrt(G k(1-k)), the variance of the predictions; half uniform.

    The coefficients and the ridge are those of the ``ridge-noise`` learner: at the paper's tiny
    ridge the sensitivities follow noise that the learner will filter out.

    Parameters
    ----------
    floor : float, default=0.0
        Sensitivities are raised to this fraction of the largest one; for points 0.2 by default.
    """

    ledger_name: ClassVar[str] = "predictive"
    units: ClassVar[tuple[str, ...]] = ("pair", "point")
    over_points: ClassVar[type[TargetFill] | None] = PredictivePoints
    floor: float = 0.0  # the uniform half is the floor
    schedule: ClassVar[Schedule] = EVEN_START

    def sensitivity(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return how far each pair moves the predictions."""
        spectrum = self.spectrum(table, problem)
        variance = float(np.mean(KernelPrior.of(table).variances(table)))
        ridge = ridge_above_noise(spectrum, problem, variance)
        alpha = spectrum.solve(problem.outputs, ridge)
        return table.condense(formulas.prediction_sensitivity(spectrum, alpha, ridge))

    def score(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return half of the predictions' shares, and half of equal ones."""
        score = super().score(table, problem)
        return score / score.mean() + 1 if score.any() else score
