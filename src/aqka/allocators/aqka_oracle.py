"""Target-fill with the sensitivity of the true kernel (target-oracle)."""

from dataclasses import dataclass

import numpy as np

from aqka.allocators._base import TargetFill
from aqka.allocators.aqka import ridge_gradient
from aqka.arrays import FloatArray
from aqka.pairs import PairTable
from aqka.problem import Problem
from aqka.targets import floored


@dataclass(frozen=True)
class AqkaOracle(TargetFill):
    """What AQKA would do if it knew the kernel it is about to measure."""

    def score(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return |g| sqrt(K(1-K)) of the true kernel."""
        kernel = problem.oracle()
        k = table.condense(kernel)
        gradient = table.condense(ridge_gradient(kernel, problem))
        return floored(gradient, self.floor) * np.sqrt(k * (1 - k))
