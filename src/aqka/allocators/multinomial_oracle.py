"""The oracle's score, each shot's pair drawn at random from it."""

from dataclasses import dataclass

from numpy.random import Generator

from aqka.allocators._base import Allocation
from aqka.allocators.aqka_oracle import AqkaOracle
from aqka.pairs import PairTable
from aqka.problem import Problem
from aqka.targets import sample


@dataclass(frozen=True)
class MultinomialOracle(AqkaOracle):
    """Sampling from p ∝ |g| sqrt(K(1-K)) of the true kernel (Appendix C.5)."""

    def ask(self, table: PairTable, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Draw every shot's pair independently from the score."""
        return Allocation(sample(self.score(table, problem), shots, rng))
