"""Shots where they steady the predictions, instead of the training loss."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.allocators._base import Allocator, TargetFill
from aqka.allocators._points import PredictivePoints
from aqka.allocators.schedule import EVEN_START, Schedule
from aqka.core.pairs import PairTable
from aqka.core.prior import KernelPrior
from aqka.core.problem import Problem
from aqka.learners.ridge_noise import ridge_above_noise
from aqka.maths.sensitivity import prediction_sensitivity
from aqka.maths.spectrum import Spectrum


@dataclass(frozen=True)
class Predictive(TargetFill):
    """Half of the shots ∝ sqrt(G k(1-k)), the variance of the predictions; half uniform.

    The coefficients and the ridge are those of the ``ridge-noise`` learner: at the paper's tiny
    ridge the sensitivities follow noise that the learner will filter out.
    """

    ledger_name: ClassVar[str] = "predictive"
    units: ClassVar[tuple[str, ...]] = ("pair", "point")

    floor: float = 0.0  # the uniform half is the floor
    schedule: ClassVar[Schedule] = EVEN_START

    def sensitivity(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return how far each pair moves the predictions."""
        spectrum = Spectrum.of(problem.reading.kernel(table))
        variance = float(np.mean(KernelPrior.of(table).variances(table)))
        ridge = ridge_above_noise(spectrum, problem, variance)
        alpha = spectrum.solve(problem.outputs, ridge)
        return table.condense(prediction_sensitivity(spectrum, alpha, ridge))

    def score(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return half of the predictions' shares, and half of equal ones."""
        score = super().score(table, problem)
        return score / score.mean() + 1 if score.any() else score

    def over(self, unit: str) -> Allocator:
        """Return it, or its like over points."""
        return PredictivePoints() if unit == "point" else self
