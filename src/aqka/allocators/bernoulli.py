"""The variance term alone, without the sensitivity (bernoulli-only)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.allocators._base import TargetFill
from aqka.core.pairs import PairTable
from aqka.core.problem import Problem


@dataclass(frozen=True)
class Bernoulli(TargetFill):
    """s* ∝ sqrt(K̂(1-K̂)): what is left of AQKA when the sensitivity is flat."""

    ledger_name: ClassVar[str] = "bernoulli"

    def sensitivity(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return the same for every pair."""
        return np.ones(table.n_pairs)
