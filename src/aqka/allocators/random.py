"""Each shot's pair drawn uniformly at random."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from aqka.allocators._base import Allocation, Allocator
from aqka.allocators.schedule import ONE_SHOT, Schedule
from aqka.allocators.targets import sample_uniformly
from aqka.core.pairs import PairTable
from aqka.core.problem import Problem


@dataclass(frozen=True)
class Random(Allocator):
    """Independent uniform pair sampling: the paper's ``random``."""

    ledger_name: ClassVar[str] = "random"

    schedule: ClassVar[Schedule] = ONE_SHOT

    def ask(self, table: PairTable, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Draw every shot's pair independently."""
        return Allocation(sample_uniformly(table.n_pairs, shots, rng))
