"""Nyström-QKE with landmarks drawn by their ridge leverage scores."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from aqka._util.arrays import IntArray
from aqka.allocators.nystrom import Nystrom
from aqka.allocators.schedule import ONE_LOOK, Schedule
from aqka.core.pairs import PairTable
from aqka.core.problem import Problem
from aqka.maths.spectrum import Spectrum


@dataclass(frozen=True)
class NystromLeverage(Nystrom):
    """Landmarks drawn without replacement, p ∝ ℓ_i of the warm-up kernel (Appendix C.10)."""

    ledger_name: ClassVar[str] = "nystrom-leverage"

    schedule: ClassVar[Schedule] = ONE_LOOK

    def choose(self, table: PairTable, problem: Problem, rng: Generator) -> IntArray:
        """Draw the landmark points by leverage."""
        leverage = Spectrum.of(problem.reading.kernel(table)).leverage(problem.ridge)
        weights = leverage / leverage.sum()
        return rng.choice(table.n_points, self.count(table.n_points), replace=False, p=weights)
