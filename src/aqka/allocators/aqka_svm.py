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
from aqka.targets import floored


@dataclass(frozen=True)
class AqkaSvm(TargetFill):
    """s* ∝ |η_i η_j| sqrt(K̂(1-K̂)), from the envelope theorem (Prop. 4, Eq. 49)."""

    def weights(self, kernel: FloatArray, problem: Problem) -> FloatArray:
        """Return the support weight of each point: its dual coefficient."""
        return solve_dual(kernel, problem.signs, problem.C).dual

    def score(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return the product of two points' support weights times the pair's deviation."""
        kernel = project_psd(problem.protocol.kernel(table))
        weights = self.weights(kernel, problem)
        gradient = table.condense(svm_gradient(weights, np.ones_like(weights)))
        return floored(gradient, self.floor) * problem.protocol.deviation(table)
