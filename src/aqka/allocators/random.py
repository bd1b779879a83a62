"""Each shot's pair drawn uniformly at random."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from aqka.allocators._base import Allocation, Allocator
from aqka.core.pairs import PairTable
from aqka.core.problem import Problem
from aqka.schedule import ONE_SHOT, Schedule
from aqka.targets import sample_uniformly


@dataclass(frozen=True)
class Random(Allocator):
    """Independent uniform pair sampling: the paper's ``random``."""

    ledger_name: ClassVar[str] = "aqka.allocators.random.Random"

    schedule: ClassVar[Schedule] = ONE_SHOT

    def ask(self, table: PairTable, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Draw every shot's pair independently."""
        return Allocation(sample_uniformly(table.n_pairs, shots, rng))
