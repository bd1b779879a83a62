"""The SVM dual on a given kernel, solved by scikit-learn."""

import math
from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class SvmSolution:
    """Solution of the dual (Eq. 46): coefficients η, intercept, and geometric margin γ = 1/‖w‖."""

    dual: FloatArray
    intercept: float
    margin: float


def solve_dual(kernel: FloatArray, signs: FloatArray, C: float) -> SvmSolution:
    """Maximise 1ᵀη - ½ ηᵀ(Y K Y)η on 0 ≤ η ≤ C, yᵀη = 0 (Eq. 46)."""
    from sklearn.svm import SVC  # imported here: it takes longer than all the rest of aqka

    # SVC orders its classes, so +1 is the positive class and dual_coef_ holds y η.
    machine = SVC(kernel="precomputed", C=C, tol=1e-6).fit(kernel, signs)
    signed = np.zeros(len(signs))
    signed[machine.support_] = machine.dual_coef_[0]
    squared_norm = float(signed @ kernel @ signed)
    norm = math.sqrt(max(squared_norm, np.finfo(float).tiny))
    return SvmSolution(signed * signs, float(machine.intercept_[0]), 1.0 / norm)
