"""AQKA's score, but each shot's pair drawn at random from it."""

from dataclasses import dataclass

from numpy.random import Generator

from aqka.allocators._base import Allocation
from aqka.allocators.aqka import Aqka
from aqka.pairs import PairTable
from aqka.problem import Problem
from aqka.targets import sample


@dataclass(frozen=True)
class Multinomial(Aqka):
    """Sampling from p ∝ |ĝ| sqrt(K̂(1-K̂)) instead of filling toward it (Appendix C.5)."""

    def ask(self, table: PairTable, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Draw every shot's pair independently from the score."""
        return Allocation(sample(self.score(table, problem), shots, rng))
