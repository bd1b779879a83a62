"""One eigendecomposition of a kernel estimate that serves projection, solves and scores."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from aqka._util.arrays import FloatArray

EIGENVALUE_FLOOR = 1e-6  # the paper's Table 1


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues (raised to the floor) and eigenvectors of a projected kernel.

    ``eigh`` dominates the cost of a round, so everything a round needs from K + λI is taken
    from this one decomposition.

    Attributes
    ----------
    values, vectors
        Eigenvalues, rising and raised to the floor, and their eigenvectors as columns.
    measured
        The eigenvalues as they were before.
    """

    values: FloatArray
    vectors: FloatArray
    measured: FloatArray

    @classmethod
    def of(cls, kernel: FloatArray) -> "Spectrum":
        """Decompose and project: eigenvalues below 1e-6 are raised to it.

        Symmetry is assumed; only one triangle is read. The divide-and-conquer driver is the
        fastest one when all eigenvectors are wanted.
        """
        values, vectors = eigh(kernel, driver="evd", check_finite=False)
        return cls(np.maximum(values, EIGENVALUE_FLOOR), vectors, values)

    def kernel(self) -> FloatArray:
        """Return the projected, positive definite kernel."""
        return np.asarray((self.vectors * self.values) @ self.vectors.T)

    def solve(self, b: FloatArray, ridge: float) -> FloatArray:
        """Return (K + λI)^{-1} b, for one column b or several."""
        return np.asarray(self.vectors @ ((self.vectors.T @ b).T / (self.values + ridge)).T)

    def inverse(self, ridge: float) -> FloatArray:
        """Return A = (K + λI)^{-1}."""
        return np.asarray((self.vectors / (self.values + ridge)) @ self.vectors.T)

    def leverage(self, ridge: float) -> FloatArray:
        """Return the ridge leverage scores [K (K + λI)^{-1}]_ii (Eq. 52, first line)."""
        return np.asarray(self.vectors**2 @ (self.values / (self.values + ridge)))


def project_psd(kernel: FloatArray) -> FloatArray:
    """Return the positive semi-definite projection with the paper's eigenvalue floor.

    Examples
    --------
    >>> import numpy as np
    >>> project_psd(np.array([[1.0, 2.0], [2.0, 1.0]])).round(5)
    array([[1.5, 1.5],
           [1.5, 1.5]])
    """
    return Spectrum.of(kernel).kernel()
