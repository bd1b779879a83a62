"""Ridge leverage scores in place of the gradient."""

from dataclasses import dataclass
from typing import ClassVar

from aqka._util.arrays import FloatArray
from aqka.allocators._base import TargetFill
from aqka.core.pairs import PairTable
from aqka.core.problem import Problem
from aqka.maths.sensitivity import leverage_sums
from aqka.maths.spectrum import Spectrum


@dataclass(frozen=True)
class Leverage(TargetFill):
    """s* ∝ (ℓ_i + ℓ_j) sqrt(K̂(1-K̂)): safer than AQKA when the sensitivity is dense (Eq. 52)."""

    ledger_name: ClassVar[str] = "leverage"

    def sensitivity(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return the leverage of a pair's two points."""
        leverage = Spectrum.of(problem.reading.kernel(table)).leverage(problem.ridge)
        return table.condense(leverage_sums(leverage))
