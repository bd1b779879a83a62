"""AQKA for a support vector machine with the paper's proposed mend: a soft support."""

from dataclasses import dataclass
from typing import ClassVar

from aqka._util.arrays import FloatArray
from aqka.allocators.aqka_svm import AqkaSvm
from aqka.maths.sensitivity import SvmSolution, soft_support


@dataclass(frozen=True)
class AqkaSvmSoft(AqkaSvm):
    """The dual coefficients replaced by softmax(η / τ), τ = 1/γ (Appendix A.6, mend (i))."""

    ledger_name: ClassVar[str] = "aqka-svm-soft"

    def weights(self, solution: SvmSolution) -> FloatArray:
        """Return the soft support, flatter the thinner the margin."""
        return soft_support(solution.dual, solution.margin)
