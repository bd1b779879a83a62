"""AQKA: shots ∝ |g| sqrt(K(1-K)), by estimated or true sensitivities, filled or drawn."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.allocators._base import Allocator, SampledScore, TargetFill
from aqka.allocators._points import AqkaPoints
from aqka.core.pairs import PairTable
from aqka.core.problem import Problem
from aqka.maths.sensitivity import combine_outputs, krr_gradient
from aqka.maths.spectrum import Spectrum


def ridge_gradient(kernel: FloatArray, problem: Problem) -> FloatArray:
    """Return |g| of kernel ridge regression on ``kernel``, up to a factor (lines 5 to 7).

    Those of several outputs are combined by :func:`~aqka.maths.sensitivity.combine_outputs`.
    Where the kernel is decomposed already, :func:`spectrum_gradient` is the same.

    Only ratios matter to targets, so labels and coefficients are scaled to a largest of 1,
    which keeps the smallest and the largest ridges within floating point.
    """
    return spectrum_gradient(Spectrum.of(kernel), problem)  # line 5: PSD-project


def spectrum_gradient(spectrum: Spectrum, problem: Problem) -> FloatArray:
    """Return :func:`ridge_gradient` of a decomposed kernel."""
    y = _scale_to_one(problem.outputs)
    alpha = _scale_to_one(spectrum.solve(y, problem.ridge))  # line 6: α = (K̂ + λI)⁻¹ y
    beta = _scale_to_one(spectrum.solve(alpha, problem.ridge))  #  β = (K̂ + λI)⁻¹ α
    outputs = zip(alpha.T, beta.T, strict=True)
    return combine_outputs(krr_gradient(a, b, ridge=1.0) for a, b in outputs)  # line 7: Lemma 1


def _scale_to_one(vector: FloatArray) -> FloatArray:
    return np.asarray(vector / np.abs(vector).max())


@dataclass(frozen=True)
class Aqka(TargetFill):
    """The paper's method: s* ∝ |g| sqrt(K(1-K)) with plug-in estimates (Eq. 14)."""

    ledger_name: ClassVar[str] = "aqka"
    units: ClassVar[tuple[str, ...]] = ("pair", "point")

    def sensitivity(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return ĝ from what has been measured so far."""
        k_hat = problem.reading.kernel(table)  # line 5: K̂ = c / s
        return table.condense(ridge_gradient(k_hat, problem))

    def over(self, unit: str) -> Allocator:
        """Return it, or its like over points."""
        return AqkaPoints() if unit == "point" else self


@dataclass(frozen=True)
class AqkaOracle(TargetFill):
    """What AQKA would do if it knew the kernel it is about to measure."""

    ledger_name: ClassVar[str] = "aqka-oracle"

    def check(self, problem: Problem) -> None:
        """Require the true kernel."""
        problem.oracle()

    def sensitivity(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return g of the true kernel."""
        return table.condense(ridge_gradient(problem.oracle(), problem))

    def deviation(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return sqrt(K(1-K)) of the true kernel."""
        k = table.condense(problem.oracle())
        return np.sqrt(k * (1 - k))


@dataclass(frozen=True)
class Multinomial(SampledScore, Aqka):
    """Sampling from p ∝ |ĝ| sqrt(K̂(1-K̂)) instead of filling toward it (Appendix C.5)."""

    ledger_name: ClassVar[str] = "multinomial"
    units: ClassVar[tuple[str, ...]] = ("pair",)


@dataclass(frozen=True)
class MultinomialOracle(SampledScore, AqkaOracle):
    """Sampling from p ∝ |g| sqrt(K(1-K)) of the true kernel (Appendix C.5)."""

    ledger_name: ClassVar[str] = "multinomial-oracle"
