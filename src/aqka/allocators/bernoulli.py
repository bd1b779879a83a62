"""The variance term alone, without the sensitivity (bernoulli-only)."""

from dataclasses import dataclass

from aqka.allocators._base import TargetFill
from aqka.arrays import FloatArray
from aqka.pairs import PairTable
from aqka.problem import Problem


@dataclass(frozen=True)
class Bernoulli(TargetFill):
    """s* ∝ sqrt(K̂(1-K̂)): what is left of AQKA when the sensitivity is flat."""

    def score(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return sqrt(K̂(1-K̂))."""
        return problem.protocol.deviation(table)
