"""AQKA for a support vector machine: the dual product as the sensitivity."""

from dataclasses import dataclass

import numpy as np

from aqka.allocators._base import TargetFill
from aqka.arrays import FloatArray
from aqka.pairs import PairTable
from aqka.problem import Problem
from aqka.sensitivity import svm_gradient
from aqka.spectrum import project_psd
from aqka.svm import solve_dual


@dataclass(frozen=True)
class AqkaSvm(TargetFill):
    """s* ∝ |η_i η_j| sqrt(K̂(1-K̂)), from the envelope theorem (Prop. 4, Eq. 49)."""

    def check(self, problem: Problem) -> None:
        """Require two classes."""
        _ = problem.signs

    def weights(self, kernel: FloatArray, problem: Problem) -> FloatArray:
        """Return the support weight of each point: its dual coefficient."""
        return solve_dual(kernel, problem.signs, problem.C).dual

    def sensitivity(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return the product of the support weights of a pair's two points."""
        weights = self.weights(project_psd(problem.protocol.kernel(table)), problem)
        return table.condense(svm_gradient(weights, np.ones_like(weights)))
