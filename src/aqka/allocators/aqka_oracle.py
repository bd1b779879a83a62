"""Target-fill with the sensitivity of the true kernel (target-oracle)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.allocators._base import TargetFill
from aqka.allocators.aqka import ridge_gradient
from aqka.core.pairs import PairTable
from aqka.core.problem import Problem


@dataclass(frozen=True)
class AqkaOracle(TargetFill):
    """What AQKA would do if it knew the kernel it is about to measure."""

    ledger_name: ClassVar[str] = "aqka-oracle"

    def check(self, problem: Problem) -> None:
        """Require the true kernel."""
        problem.oracle()

    def sensitivity(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return g of the true kernel."""
        return table.condense(ridge_gradient(problem.oracle(), problem))

    def deviation(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return sqrt(K(1-K)) of the true kernel."""
        k = table.condense(problem.oracle())
        return np.sqrt(k * (1 - k))
