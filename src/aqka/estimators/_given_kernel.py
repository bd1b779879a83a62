"""A kernel that is X itself."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, as_kernel
from aqka.core.problem import Problem
from aqka.estimators._training_kernel import KernelSource, OnRound, TrainingKernel
from aqka.readouts import FittedHead


@dataclass(frozen=True, eq=False)
class GivenKernel(KernelSource):
    """Exact entries, as scikit-learn's ``"precomputed"`` has them; no shots."""

    X: NDArray[Any]

    def training(self, problem: Problem, on_round: OnRound | None = None) -> TrainingKernel:
        """Return X, which must be a kernel."""
        kernel = as_kernel(self.X, "X")
        return TrainingKernel(kernel, np.zeros_like(kernel), "No shots: the kernel was given.")

    def decide(self, head: FittedHead, X: NDArray[Any], problem: Problem) -> FloatArray:
        """Return f of X, which must be a test-by-train block."""
        return head.decision_function(as_kernel(X, "X", square=False))
