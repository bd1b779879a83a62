"""The contract of a kernel of points, and of the head that is trained on it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.core.settings import uniform_settings
from aqka.errors import InputError
from aqka.estimates.projected import least_shots
from aqka.readouts import labels_of


@dataclass(frozen=True, eq=False)
class PointHead(ABC):
    """A trained classifier or regressor of points.

    Attributes
    ----------
    classes
        The labels of a negative and of a positive f; or of each column.
    regularisation
        The ridge λ, or the C of an SVM, that was used.
    settings
        The Pauli settings that new points must be measured in.
    """

    classes: NDArray[Any]
    regularisation: float
    settings: NDArray[np.int64]

    @abstractmethod
    def decide(self, table: PointTable, seed: int = 0) -> tuple[FloatArray, FloatArray]:
        """Return f of measured points and its standard deviation, a column per class above two.

        The deviation is that of the points' own shots, the head taken as given; ``seed`` is that
        of the counts it is calibrated with.
        """

    @abstractmethod
    def kernel(self) -> FloatArray:
        """Return the kernel of the training points that was learnt from."""

    @property
    def meaning(self) -> str:
        """Which kernel it is, in a sentence."""
        return f"K̂ is the kernel of {type(self).__name__}."

    @property
    def least_shots(self) -> int:
        """Shots that a point needs before anything can be said of it."""
        return 1

    def labels(self, decision: FloatArray) -> NDArray[Any]:
        """Return the classes that values of f stand for."""
        return labels_of(decision, self.classes)


class PointKernel(ABC):
    """How counts of points are read as a kernel."""

    has_unit_diagonal: ClassVar[bool] = True
    """Whether a point with itself is 1, but for a device's noise."""

    @abstractmethod
    def fit(self, table: PointTable, problem: Problem, readout: Any) -> PointHead:
        """Train a head on counts; ``readout`` as for pairs, None for the ridge by leave-one-out."""

    def settings(self, n_qubits: int) -> IntArray | None:
        """Return the fewest Pauli settings that it can be read from; None for the usual ones."""
        return None

    def least_shots(self, settings: IntArray) -> int:
        """Return the shots that a point needs in these settings before it can be read."""
        return 1

    def with_confusion(self, confusion: FloatArray | None) -> "PointKernel":
        """Return the kernel read with these readout errors, unless it has its own."""
        raise InputError(
            f"{type(self).__name__} must write with_confusion to read counts of a device whose "
            "readout was calibrated; or leave calibration_shots out."
        )


@dataclass(frozen=True)
class ReducedStateKernel(PointKernel):
    """A kernel of the reduced states of points, for any number of qubits.

    Attributes
    ----------
    locality
        Qubits of a reduced state, 1 or 2.
    confusion
        Readout errors from a calibration (``aqka.estimates.readout.confusion_matrices``).
    """

    locality: int = 1
    confusion: FloatArray | None = field(default=None, kw_only=True)

    def settings(self, n_qubits: int) -> IntArray | None:
        """Return all X, all Y and all Z for one-qubit states."""
        return uniform_settings(n_qubits) if self.locality == 1 else None

    def least_shots(self, settings: IntArray) -> int:
        """Return two for each operator of a reduced state."""
        return least_shots(settings, self.locality)

    def with_confusion(self, confusion: FloatArray | None) -> Self:
        """Return the kernel read with these readout errors, unless it has its own."""
        return self if self.confusion is not None else replace(self, confusion=confusion)
