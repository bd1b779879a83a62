"""Bernoulli resampling of a given kernel matrix."""

from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, as_kernel, digest
from aqka.backends.simulated import ExactBackend


class MatrixBackend(ExactBackend):
    """Draws shots from a kernel matrix you already have.

    Parameters
    ----------
    kernel
        Square and symmetric for training; with ``rectangular``, any test-by-train block.
    rectangular
        Whether rows and columns are different points.
    seed
        The hits depend on it, on the tag and on the plan, and on nothing else.

    Examples
    --------
    >>> from aqka.core import ShotPlan
    >>> backend = MatrixBackend([[1.0, 0.25], [0.25, 1.0]], seed=1)
    >>> ticket = backend.submit(ShotPlan([0], [1], [1000]), tag="first")
    >>> backend.collect(ticket)
    array([249])
    """

    def __init__(self, kernel: ArrayLike, *, rectangular: bool = False, seed: int = 0) -> None:
        super().__init__(seed)
        self._kernel = as_kernel(kernel, "kernel", square=not rectangular)

    def kernel(self) -> FloatArray:
        """Return the kernel that was given."""
        return self._kernel

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the kernel."""
        rows, cols = self._kernel.shape
        return rows, cols

    def _identity(self) -> list[str]:
        return [f"kernel={digest(self._kernel)}"]
