"""The Nyström formula: a kernel from a few of its columns."""

import numpy as np
from scipy.linalg import solve

from aqka.arrays import FloatArray
from aqka.plan import Landmarks


def reconstruct(kernel: FloatArray, landmarks: Landmarks, ridge: float) -> FloatArray:
    """Return K_NL (K_LL + λI)^{-1} K_LN (Appendix C.6), off the landmark rows or everywhere.

    The small system is solved as it is: K_LL is a noisy estimate, so it is not assumed to be
    positive definite.
    """
    columns = kernel[:, landmarks.points]
    system = columns[landmarks.points] + ridge * np.eye(len(landmarks.points))
    full: FloatArray = columns @ solve(system, columns.T, assume_a="sym")
    full = (full + full.T) / 2
    if landmarks.keep_block:
        full[:, landmarks.points] = columns
        full[landmarks.points, :] = columns.T
    return full
