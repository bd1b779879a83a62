"""Kernel ridge regression solved with features, where there are fewer of them than points.

With K = ΦΦᵀ everything that is asked of K + λI follows from ΦᵀΦ, so neither memory nor time grows
faster than the number of points.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from aqka._util.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class FeatureSpectrum:
    """One eigendecomposition ΦᵀΦ = V diag(s) Vᵀ that serves every ridge.

    Attributes
    ----------
    values
        The eigenvalues s, which are the kernel's; the kernel's others are 0.
    vectors
        The eigenvectors V, one per column.
    rotated
        ΦV, one row per point.

    Examples
    --------
    >>> spectrum = FeatureSpectrum.of(np.array([[1.0], [2.0]]))
    >>> spectrum.weights(np.array([1.0, 2.0]), ridge=5.0)  # Σ φy / (Σ φ² + λ)
    array([0.5])
    """

    values: FloatArray
    vectors: FloatArray
    rotated: FloatArray

    @classmethod
    def of(cls, features: FloatArray) -> "FeatureSpectrum":
        """Decompose the features, one row per point."""
        values, vectors = eigh(features.T @ features, driver="evd", check_finite=False)
        return cls(np.maximum(values, 0.0), vectors, features @ vectors)

    def weights(self, y: FloatArray, ridge: float) -> FloatArray:
        """Return w with f(x) = φ(x)·w, which is Σ_j k(x, x_j) α_j with α = (K + λI)^{-1} y.

        ``y`` is one column or several.
        """
        shrunk = ((self.rotated.T @ y).T / (self.values + ridge)).T
        return np.asarray(self.vectors @ shrunk)

    def solve(self, y: FloatArray, ridge: float) -> FloatArray:
        """Return α = (K + λI)^{-1} y = (y - Φw)/λ, for one column or several."""
        return np.asarray((y - self.rotated @ (self.vectors.T @ self.weights(y, ridge))) / ridge)

    def loo_residuals(self, y: FloatArray, ridges: FloatArray) -> FloatArray:
        """Return the exact leave-one-out residuals of one output, one column per ridge.

        They are (y - Hy)_i / (1 - H_ii) with the hat matrix H = Φ(ΦᵀΦ + λI)^{-1}Φᵀ.
        """
        shrunk = 1.0 / (self.values[:, None] + ridges)
        fitted = self.rotated @ ((self.rotated.T @ y)[:, None] * shrunk)
        hat = self.rotated**2 @ shrunk
        return np.asarray((y[:, None] - fitted) / (1.0 - hat))
