"""The geometric difference between kernels: can a quantum one see what a plain one cannot?

Huang et al., "Power of data in quantum machine learning" (Nature Communications 12, 2631, 2021).
Numbers of equations are those of its preprint, arXiv:2011.01938.
"""

import math
from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray

RIDGES = tuple(float(10.0**power) for power in range(-8, 1))
LARGEST_TRAINING_ERROR = 0.05  # that of a kernel compared with itself at λ = 0.01
WIDTHS = (0.1, 0.3, 1.0, 3.0, 10.0)  # of RBF kernels, in units of one over the columns


@dataclass(frozen=True)
class GeometricDifference:
    """The difference to the plain kernel that comes nearest.

    Attributes
    ----------
    value
        g; no more than about 1 where the plain kernel sees all that the quantum one does.
    largest
        √N: differences near it leave room for an advantage, far smaller ones leave none.
    nearest
        The plain kernel with the smallest difference.
    ridge
        λ that the difference was taken at; None where no plain kernel comes near at all.
    """

    value: float
    largest: float
    nearest: str
    ridge: float | None


@dataclass(frozen=True, eq=False)
class KernelPair:
    """A quantum kernel in the eigenbasis of a plain one, both scaled to the trace N."""

    values: FloatArray
    quantum: FloatArray

    @classmethod
    def of(cls, plain: FloatArray, quantum: FloatArray) -> "KernelPair":
        """Decompose the plain kernel, and turn the quantum one into its basis."""
        n_points = len(plain)
        values, vectors = np.linalg.eigh(plain * (n_points / np.trace(plain)))
        scaled = quantum * (n_points / np.trace(quantum))
        return cls(np.maximum(values, 0.0), vectors.T @ scaled @ vectors)

    def difference(self, ridge: float) -> float:
        """Return g_gen = sqrt(‖√K_Q √K_C (K_C + λI)^{-2} √K_C √K_Q‖), the spectral norm.

        With λ = 0 this is their Eq. 5, g(K_C‖K_Q) = sqrt(‖√K_Q K_C^{-1} √K_Q‖); with a ridge it is
        their Eq. F9.

        Examples
        --------
        >>> pair = KernelPair.of(np.eye(4), np.ones((4, 4)))
        >>> round(pair.difference(ridge=0.0), 6)
        2.0
        """
        return self._norm(np.sqrt(self.values) / (self.values + ridge))

    def training_error(self, ridge: float) -> float:
        """Return g_tra = λ sqrt(‖√K_Q (K_C + λI)^{-2} √K_Q‖): what stays unlearned.

        Of targets that the quantum kernel fits with norm √N; a plain kernel of low rank leaves
        much, however small its g_gen is.
        """
        return self._norm(ridge / (self.values + ridge))

    def _norm(self, weights: FloatArray) -> float:
        # ‖√Q V D² Vᵀ √Q‖ is the largest eigenvalue of D Vᵀ Q V D.
        largest = np.linalg.eigvalsh(weights[:, None] * self.quantum * weights)[-1]
        return math.sqrt(max(float(largest), 0.0))


def nearest_plain_kernel(X: FloatArray, quantum: FloatArray) -> GeometricDifference:
    """Return the smallest difference to a linear or an RBF kernel of the standardised columns.

    Each is taken with the largest ridge of a grid at which it leaves hardly anything unlearned
    (g_tra at most 0.05, our choice); one without such a ridge is infinitely far.
    """
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    squares = np.sum(Z**2, axis=1)
    distances = np.maximum(squares[:, None] + squares - 2 * Z @ Z.T, 0.0)
    kernels = {"linear": Z @ Z.T + 1.0}  # with a constant, as a linear model has
    for width in WIDTHS:
        kernels[f"RBF, γ = {width:g}/columns"] = np.exp(-width / X.shape[1] * distances)
    found = []
    for name, kernel in kernels.items():
        pair = KernelPair.of(kernel, quantum)
        ridge = _largest_ridge(pair)
        value = math.inf if ridge is None else pair.difference(ridge)
        found.append(GeometricDifference(value, math.sqrt(len(X)), name, ridge))
    return min(found, key=lambda each: each.value)


def _largest_ridge(pair: KernelPair) -> float | None:
    for ridge in reversed(RIDGES):
        if pair.training_error(ridge) <= LARGEST_TRAINING_ERROR:
            return ridge
    return None
