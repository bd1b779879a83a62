"""Equal shots for every pair, in one go."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from aqka.allocators._base import Allocation, Allocator
from aqka.allocators.schedule import ONE_SHOT, Schedule
from aqka.allocators.targets import raise_lowest
from aqka.core.pairs import PairTable
from aqka.core.problem import Problem


@dataclass(frozen=True)
class Uniform(Allocator):
    """Every pair gets B / M shots; a remainder goes to a random choice of pairs."""

    ledger_name: ClassVar[str] = "uniform"

    schedule: ClassVar[Schedule] = ONE_SHOT

    def ask(self, table: PairTable, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Raise the pairs that have fewest shots, so that all end equal."""
        return Allocation(raise_lowest(table.shots, shots, rng))

    def explain(self, table: PairTable, problem: Problem) -> str:
        """Say what every pair has had."""
        return f"Even shots: {table.total / table.n_pairs:.3g} a pair, whatever they show."
