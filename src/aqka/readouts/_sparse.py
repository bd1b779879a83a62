"""Ridge coefficients with an l1 penalty, for many ridges at once."""

import math

import numpy as np

from aqka._util.arrays import FloatArray

STEPS = 60  # enough to rank candidates; each starts near its solution


def sparse_coefficients(
    kernel: FloatArray,
    largest: float,
    y: FloatArray,
    ridges: FloatArray,
    penalty: float,
    start: FloatArray,
) -> FloatArray:
    """Minimise ½ αᵀ(K + λI)α - yᵀα + penalty·‖α‖₁, one column per ridge λ.

    Accelerated proximal gradient (FISTA: Beck and Teboulle 2009, SIAM J. Imaging Sci. 2, 183).

    Parameters
    ----------
    kernel, largest
        A positive definite K and its largest eigenvalue, which sets the step.
    y, ridges, penalty
        Targets, the values of λ, and the weight of the l1 norm.
    start
        Where to start, one column per ridge.
    """
    # BLAS takes sixteen columns at a time: with empty ones beside them it is a third faster.
    n_ridges, width = len(ridges), -(-len(ridges) // 16) * 16
    targets, alpha = np.zeros((len(y), width)), np.zeros((len(y), width))
    targets[:, :n_ridges] = y[:, None]
    alpha[:, :n_ridges] = start
    ridge = np.ones(width)
    ridge[:n_ridges] = ridges
    step = 1.0 / (largest + ridge)
    threshold = step * penalty
    ahead, momentum = alpha, 1.0
    for _ in range(STEPS):
        gradient = kernel @ ahead
        gradient += ahead * ridge
        gradient -= targets
        gradient *= step
        moved = ahead - gradient
        new = moved - np.minimum(np.maximum(moved, -threshold), threshold)
        if not (new.any() or alpha.any() or ahead.any()):
            break  # under a large penalty all is 0 soon, and stays so
        next_momentum = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / next_momentum * (new - alpha)
        alpha, momentum = new, next_momentum
    return np.asarray(alpha[:, :n_ridges])
