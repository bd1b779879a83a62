"""One eigendecomposition of a kernel for projection, solves and scores; the Nyström formula."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, pinvh

from aqka._util.arrays import FloatArray
from aqka.core.plans import Landmarks

EIGENVALUE_FLOOR = 1e-6  # the paper's Table 1


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues (raised to the floor) and eigenvectors of a projected kernel.

    ``eigh`` dominates the cost of a round, so everything a round needs from K + λI is taken
    from this one decomposition.
    """

    values: FloatArray  # rising, raised to the floor
    vectors: FloatArray  # one per column
    measured: FloatArray  # the eigenvalues as they were before
    root: FloatArray | None = None  # of the points' weights

    @classmethod
    def of(cls, kernel: FloatArray, weights: FloatArray | None = None) -> "Spectrum":
        """Decompose and project: eigenvalues below 1e-6 are raised to it.

        Symmetry is assumed. The divide-and-conquer driver is fastest for all eigenvectors. With
        weights w of the points it is SKS that is decomposed, S = diag √w, and solutions and
        residuals are those of weighted least squares.
        """
        root = None if weights is None else np.sqrt(weights)
        scaled = kernel if root is None else kernel * root * root[:, None]
        values, vectors = eigh(scaled, driver="evd", check_finite=False)
        return cls(np.maximum(values, EIGENVALUE_FLOOR), vectors, values, root)

    def kernel(self) -> FloatArray:
        """Return the projected, positive definite kernel."""
        kernel = np.asarray((self.vectors * self.values) @ self.vectors.T)
        return kernel if self.root is None else kernel / self.root / self.root[:, None]

    def solve(self, b: FloatArray, ridge: float) -> FloatArray:
        """Return (K + λI)^{-1} b, or S(SKS + λI)^{-1}Sb, for one column b or several."""
        turned = (self.vectors.T @ _times(self.root, b)).T / (self.values + ridge)
        return _times(self.root, self.vectors @ turned.T)

    def loo_residuals(self, y: FloatArray, ridges: FloatArray) -> FloatArray:
        """Return the leave-one-out residuals α_i / A_ii, one column per ridge (Appendix C.17).

        With weights they are multiplied by √w, so that their squares are weighted.
        """
        shrunk = 1.0 / (self.values[:, None] + ridges)
        alpha = self.vectors @ ((self.vectors.T @ _times(self.root, y))[:, None] * shrunk)
        return np.asarray(alpha / (self.vectors**2 @ shrunk))

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.vectors)

    def inverse(self, ridge: float) -> FloatArray:
        """Return A = (K + λI)^{-1}."""
        return np.asarray((self.vectors / (self.values + ridge)) @ self.vectors.T)

    def leverage(self, ridge: float) -> FloatArray:
        """Return the ridge leverage scores [K (K + λI)^{-1}]_ii (Eq. 52, first line)."""
        return np.asarray(self.vectors**2 @ (self.values / (self.values + ridge)))


def _times(root: FloatArray | None, b: FloatArray) -> FloatArray:
    """Return each row multiplied by its root; no root is 1."""
    return b if root is None else np.asarray((root * b.T).T)


def left_out(
    spectrum: "Spectrum | FeatureSpectrum", outputs: FloatArray, ridge: float
) -> FloatArray:
    """Return f of every point by a ridge that has not seen it, outputs as columns."""
    residuals = np.hstack([spectrum.loo_residuals(y, np.array([ridge])) for y in outputs.T])
    return outputs - (residuals if spectrum.root is None else residuals / spectrum.root[:, None])


def project_psd(kernel: FloatArray) -> FloatArray:
    """Return the positive semi-definite projection with the paper's eigenvalue floor.

    >>> project_psd(np.array([[1.0, 2.0], [2.0, 1.0]])).round(5)
    array([[1.5, 1.5],
           [1.5, 1.5]])
    """
    return Spectrum.of(kernel).kernel()


@dataclass(frozen=True, eq=False)
class FeatureSpectrum:
    """One eigendecomposition ΦᵀΦ = V diag(s) Vᵀ, where there are fewer features than points.

    With K = ΦΦᵀ everything about K + λI follows from ΦᵀΦ, so neither memory nor time grows faster
    than the number of points.
    """

    values: FloatArray  # s, the kernel's eigenvalues; its others are 0
    vectors: FloatArray  # V, one per column
    rotated: FloatArray  # ΦV, one row per point; with weights SΦV
    root: FloatArray | None = None  # of the points' weights

    @classmethod
    def of(cls, features: FloatArray, weights: FloatArray | None = None) -> "FeatureSpectrum":
        """Decompose the features, one row per point."""
        root = None if weights is None else np.sqrt(weights)
        features = _times(root, features)
        values, vectors = eigh(features.T @ features, driver="evd", check_finite=False)
        return cls(np.maximum(values, 0.0), vectors, features @ vectors, root)

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.rotated)

    @property
    def measured(self) -> FloatArray:
        """The kernel's eigenvalues, which are never negative here."""
        return self.values

    def weights(self, y: FloatArray, ridge: float) -> FloatArray:
        """Return w with f(x) = φ(x)·w = Σ_j k(x, x_j) α_j, for one column y or several."""
        shrunk = ((self.rotated.T @ _times(self.root, y)).T / (self.values + ridge)).T
        return np.asarray(self.vectors @ shrunk)

    def kernel(self) -> FloatArray:
        """Return K = ΦΦᵀ, which everything else here does without."""
        kernel = np.asarray(self.rotated @ self.rotated.T)
        return kernel if self.root is None else kernel / self.root / self.root[:, None]

    def solve(self, y: FloatArray, ridge: float) -> FloatArray:
        """Return α = (K + λI)^{-1} y = (y - Φw)/λ, for one column or several."""
        fitted = self.rotated @ (self.vectors.T @ self.weights(y, ridge))
        return _times(self.root, (_times(self.root, y) - fitted) / ridge)

    def loo_residuals(self, y: FloatArray, ridges: FloatArray) -> FloatArray:
        """Return (y - Hy)_i / (1 - H_ii), H = Φ(ΦᵀΦ + λI)^{-1}Φᵀ, one column per ridge."""
        y = _times(self.root, y)
        shrunk = 1.0 / (self.values[:, None] + ridges)
        fitted = self.rotated @ ((self.rotated.T @ y)[:, None] * shrunk)
        hat = self.rotated**2 @ shrunk
        return np.asarray((y[:, None] - fitted) / (1.0 - hat))


def reconstruct(kernel: FloatArray, landmarks: Landmarks, ridge: float) -> FloatArray:
    """Return K_NL (K_LL + λI)^{-1} K_LN (Appendix C.6), off the landmark rows or everywhere.

    K_LL is a noisy estimate, maybe indefinite and nearly singular: hence the pseudo-inverse, and
    entries clipped to [0, 1], where every kernel value lies.
    """
    columns = kernel[:, landmarks.points]
    system = columns[landmarks.points] + ridge * np.eye(len(landmarks.points))
    full: FloatArray = columns @ pinvh(system) @ columns.T
    full = np.clip((full + full.T) / 2, 0.0, 1.0)
    if landmarks.keep_block:
        full[:, landmarks.points] = columns
        full[landmarks.points, :] = columns.T
    return full
