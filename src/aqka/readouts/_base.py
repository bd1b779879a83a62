"""The contract of a readout, and the head that it fits."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aqka._util.arrays import FloatArray, as_array
from aqka.core.pairs import PairTable
from aqka.core.plans import Landmarks
from aqka.core.problem import Problem
from aqka.errors import InputError
from aqka.estimates.pairs import estimate_kernel
from aqka.maths.spectrum import Spectrum


@dataclass(frozen=True, eq=False)
class FittedHead:
    """A trained classifier or regressor f(x) = Σ α_i K(x, x_i) + b.

    Attributes
    ----------
    alpha
        Coefficients; with more than two classes one column per class.
    intercept
        b, one number per output.
    kernel
        The kernel it was trained on: completed and projected.
    regularisation
        The ridge λ, or the C of an SVM, that was used.
    classes
        The labels of a negative and of a positive f; or of each column.
    spectrum
        What the readout decomposed the kernel into, before it was projected; who needs it again
        is spared the longest step. None where there is none.
    """

    alpha: FloatArray
    intercept: FloatArray
    kernel: FloatArray
    regularisation: float
    classes: NDArray[Any]
    spectrum: Spectrum | None = field(default=None, repr=False)

    def decision_function(self, test_kernel: ArrayLike) -> FloatArray:
        """Return f for each row of a test-by-train kernel block, a column per class above two."""
        block = as_array(test_kernel, "test_kernel")
        if block.dtype.kind not in "buif" or not np.all(np.isfinite(block)):
            raise InputError("test_kernel must hold finite real numbers.")
        if block.ndim != 2 or block.shape[1] != len(self.alpha):
            raise InputError(
                f"test_kernel must have one row per test point and {len(self.alpha)} columns, "
                f"one per training point; got shape {block.shape}."
            )
        return np.asarray(block @ self.alpha + self.intercept)

    def predict(self, test_kernel: ArrayLike) -> NDArray[Any]:
        """Return the class of each row of a test-by-train kernel block, as labelled in y.

        Of a head for real targets, the classes are their signs.
        """
        return self.labels(self.decision_function(test_kernel))

    def labels(self, decision: FloatArray) -> NDArray[Any]:
        """Return the classes that values of f stand for."""
        return labels_of(decision, self.classes)


@dataclass(frozen=True, eq=False)
class FeatureHead:
    """f(x) = φ(x)·w, of features whose inner products are the kernel.

    Attributes
    ----------
    weights
        w, one column per output.
    regularisation
        The ridge λ that was used.
    """

    weights: FloatArray
    regularisation: float


def labels_of(decision: FloatArray, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the class of each decision value: by its sign, or by the largest of its columns.

    The one rule from decision values to labels.

    Examples
    --------
    >>> labels_of(np.array([-0.2, 0.0, 3.0]), np.array(["no", "yes"])).tolist()
    ['no', 'yes', 'yes']
    """
    winner = decision >= 0 if decision.ndim == 1 else decision.argmax(axis=1)
    return np.asarray(classes[winner.astype(np.intp)])


class Readout(ABC):
    """Turns what was measured into a fitted head."""

    def fit(
        self, table: PairTable, problem: Problem, landmarks: Landmarks | None = None
    ) -> FittedHead:
        """Estimate the kernel and train the head on it."""
        return self.fit_kernel(estimate_kernel(table, problem, landmarks), problem)

    @abstractmethod
    def fit_kernel(self, kernel: FloatArray, problem: Problem) -> FittedHead:
        """Train the head on a symmetric kernel estimate."""

    def fit_noisy(
        self, kernel: FloatArray, variances: Callable[[], FloatArray], problem: Problem
    ) -> FittedHead:
        """Train the head on a kernel that was not counted pair by pair, of points for example.

        ``variances`` gives those of the entries; it is a long computation, so that only readouts
        that make use of the noise call it.
        """
        return self.fit_kernel(kernel, problem)

    def fit_features(
        self, features: FloatArray, mean_variance: Callable[[], float], problem: Problem
    ) -> FeatureHead | None:
        """Train the head on features of fewer columns than points, so that K is never formed.

        None, the default, says that the readout cannot do without the kernel. ``mean_variance`` is
        that of a kernel entry, for readouts that make use of the noise.
        """
        return None
