"""Kernel matrices with the signatures of PennyLane's ``qml.kernels``.

PennyLane's own functions take a :class:`~aqka.QuantumKernel` too, but ask pair by pair, so that
each new pair is a job of its own. These ask for the whole matrix at once.
"""

from typing import Any

from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray
from aqka.errors import InputError
from aqka.estimators import QuantumKernel


def square_kernel_matrix(
    X: ArrayLike, kernel: QuantumKernel, assume_normalized_kernel: bool = False
) -> FloatArray:
    """Return the kernel of X with itself, as measured.

    The first one is the training kernel, for which ``kernel`` has its budget. Its diagonal is 1
    and costs nothing, whatever ``assume_normalized_kernel`` says. PennyLane's
    ``threshold_matrix`` and its like make it positive semi-definite.

    Parameters
    ----------
    X : array of shape (points, features)
        The points.
    kernel : QuantumKernel
        What measures the entries.
    assume_normalized_kernel : bool, default=False
        As in PennyLane; it changes nothing.

    Examples
    --------
    >>> import pennylane as qml
    >>> def embedding(x):
    ...     qml.AngleEmbedding(x, wires=range(2))
    >>> kernel = QuantumKernel(embedding, budget=300, test_budget=0)
    >>> X = [[0.1, 0.2], [0.4, 0.9], [1.0, 0.3]]
    >>> square_kernel_matrix(X, kernel).diagonal(), kernel.shots_used_
    (array([1., 1., 1.]), 300)
    """
    return _as_kernel(kernel).matrix(X)


def kernel_matrix(X1: ArrayLike, X2: ArrayLike, kernel: QuantumKernel) -> FloatArray:
    """Return the kernel of X1 with X2, as measured.

    Parameters
    ----------
    X1, X2 : array of shape (points, features)
        The points of rows and columns.
    kernel : QuantumKernel
        What measures the entries.

    Examples
    --------
    >>> kernel = QuantumKernel(budget=300, test_budget=200, shots_each=100, design="pairs")
    >>> kernel_matrix([[0.1, 0.2], [0.4, 0.9]], [[1.0, 0.3]], kernel).shape, kernel.shots_used_
    ((2, 1), 200)
    """
    return _as_kernel(kernel).matrix(X1, X2)


def _as_kernel(kernel: Any) -> QuantumKernel:
    if not isinstance(kernel, QuantumKernel):
        raise InputError(
            f"kernel must be a QuantumKernel, got {type(kernel).__name__}; for a plain function of "
            "two points use pennylane.kernels."
        )
    return kernel
