"""The Nyström formula: a kernel from a few of its columns."""

import numpy as np
from scipy.linalg import pinvh

from aqka._util.arrays import FloatArray
from aqka.core.plans import Landmarks


def reconstruct(kernel: FloatArray, landmarks: Landmarks, ridge: float) -> FloatArray:
    """Return K_NL (K_LL + λI)^{-1} K_LN (Appendix C.6), off the landmark rows or everywhere.

    K_LL is a noisy estimate: it may be indefinite and nearly singular, and then the formula gives
    entries in the hundreds. So the system is solved by a pseudo-inverse, and entries are clipped
    to [0, 1], where every kernel value lies.
    """
    columns = kernel[:, landmarks.points]
    system = columns[landmarks.points] + ridge * np.eye(len(landmarks.points))
    full: FloatArray = columns @ pinvh(system) @ columns.T
    full = np.clip((full + full.T) / 2, 0.0, 1.0)
    if landmarks.keep_block:
        full[:, landmarks.points] = columns
        full[landmarks.points, :] = columns.T
    return full
