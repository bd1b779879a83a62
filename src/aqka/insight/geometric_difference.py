"""The geometric difference between kernels: can a quantum one see what a plain one cannot?"""

import math
from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray

RIDGE = 0.01
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
    """

    value: float
    largest: float
    nearest: str


def geometric_difference(plain: FloatArray, quantum: FloatArray, ridge: float = RIDGE) -> float:
    """Return g(K_C‖K_Q) = sqrt(‖√K_Q √K_C (K_C + λI)^{-2} √K_C √K_Q‖), the spectral norm.

    Both kernels are first scaled to the trace N. With λ = 0 this is sqrt(‖√K_Q K_C^{-1} √K_Q‖),
    Eq. 5 of Huang et al., "Power of data in quantum machine learning" (Nature Communications 12,
    2631, 2021); the regularised form is that of its supplement. λ = 0.01 is ours: eigenvalues
    of a plain kernel below a hundredth of an average point's count as not seen.

    Examples
    --------
    >>> float(round(geometric_difference(np.eye(4), np.ones((4, 4)), ridge=0.0), 6))
    2.0
    """
    n_points = len(plain)
    quantum_root = _root(quantum * (n_points / np.trace(quantum)))
    values, vectors = np.linalg.eigh(plain * (n_points / np.trace(plain)))
    values = np.maximum(values, 0.0)
    shrunk = values / np.maximum(values + ridge, np.finfo(float).tiny) ** 2
    middle = (vectors * shrunk) @ vectors.T
    return math.sqrt(float(np.linalg.norm(quantum_root @ middle @ quantum_root, 2)))


def nearest_plain_kernel(X: FloatArray, quantum: FloatArray) -> GeometricDifference:
    """Return the smallest difference to a linear or an RBF kernel of the standardised columns."""
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    squares = np.sum(Z**2, axis=1)
    distances = np.maximum(squares[:, None] + squares - 2 * Z @ Z.T, 0.0)
    kernels = {"linear": Z @ Z.T + 1.0}  # with a constant, as a linear model has
    for width in WIDTHS:
        kernels[f"RBF, γ = {width:g}/columns"] = np.exp(-width / X.shape[1] * distances)
    found = {name: geometric_difference(kernel, quantum) for name, kernel in kernels.items()}
    nearest = min(found, key=lambda name: found[name])
    return GeometricDifference(found[nearest], math.sqrt(len(X)), nearest)


def _root(kernel: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(kernel)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
