"""AQKA for a support vector machine: dual products as the sensitivity."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.allocators._base import TargetFill
from aqka.core.pairs import PairTable
from aqka.core.problem import Problem
from aqka.maths.sensitivity import (
    SvmSolution,
    combine_outputs,
    soft_support,
    solve_dual,
    svm_gradient,
)
from aqka.maths.spectrum import project_psd


@dataclass(frozen=True)
class AqkaSvm(TargetFill):
    """s* ∝ |η_i η_j| sqrt(K̂(1-K̂)), from the envelope theorem (Prop. 4, Eq. 49)."""

    ledger_name: ClassVar[str] = "aqka-svm"

    def check(self, problem: Problem) -> None:
        """Require classes."""
        _ = problem.signs

    def weights(self, solution: SvmSolution) -> FloatArray:
        """Return the support weight of each point: its dual coefficient."""
        return solution.dual

    def sensitivity(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return the product of the support weights of a pair's two points."""
        kernel = project_psd(problem.reading.kernel(table))
        machines = (solve_dual(kernel, signs, problem.C) for signs in problem.signs.T)
        weights = (self.weights(machine) for machine in machines)
        return table.condense(combine_outputs(svm_gradient(w, np.ones_like(w)) for w in weights))


@dataclass(frozen=True)
class AqkaSvmSoft(AqkaSvm):
    """The dual coefficients replaced by softmax(η / τ), τ = 1/γ (Appendix A.6, remedy (i))."""

    ledger_name: ClassVar[str] = "aqka-svm-soft"

    def weights(self, solution: SvmSolution) -> FloatArray:
        """Return the soft support, flatter the thinner the margin."""
        return soft_support(solution.dual, solution.margin)
