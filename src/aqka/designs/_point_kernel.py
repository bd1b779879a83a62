"""The contract of a kernel of points, and of what is read of it."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from aqka._util.arrays import ComplexArray, FloatArray, IntArray, digest
from aqka.backends.base import Backend
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.errors import InputError
from aqka.learners import Estimate


class PointEstimate(Estimate):
    """The kernel from counts of points; more points can be read in the same way.

    Attributes
    ----------
    kernel_of_points
        Which kernel it is.
    table
        The counts of the training points.
    n_read
        Points that have been read, the training points first.
    """

    kernel_of_points: "PointKernel"
    table: PointTable
    n_read: int

    @property
    def identity(self) -> str:
        """A digest of the counts, and the kernel."""
        table, kernel = self.table, self.kernel_of_points
        columns = (table.settings, table.shots, table.cells, table.outcomes, table.counts)
        confusion = "none" if kernel.confusion is None else digest(kernel.confusion)
        return f"points {' '.join(map(digest, columns))} {kernel.describe()} {confusion}"

    def among(self, table: PointTable) -> FloatArray:
        """Return the kernel of measured points with themselves; it takes no further shot."""
        new = np.arange(self.n_read, self.n_read + table.n_points)
        return self.extended(table).block(new, new)

    @abstractmethod
    def extended(self, table: PointTable) -> Self:
        """Return an estimate that has read more points, as the training points were."""

    @abstractmethod
    def block(self, rows: IntArray, cols: IntArray) -> FloatArray:
        """Return the kernel of some of the points that have been read with others of them."""


class PointKernel(ABC):
    """How counts of points are read as a kernel."""

    confusion: FloatArray | None
    """Readout errors from a calibration (``aqka.estimates.readout``); None corrects nothing."""
    has_unit_diagonal: bool = True
    """Whether a point with itself is 1, but for a device's noise."""

    @abstractmethod
    def read(self, table: PointTable, design: Any, problem: Problem | None) -> PointEstimate:
        """Return what the counts say; without a problem, what needs labels is left out."""

    @abstractmethod
    def check(self, n_qubits: int) -> None:
        """Refuse points of a number of qubits that cannot be read."""

    def check_settings(self, settings: IntArray) -> None:
        """Refuse settings that it cannot be read from."""
        self.check(settings.shape[1])

    def check_backend(self, backend: Backend) -> None:
        """Refuse a backend that does not draw all qubits of an outcome together."""
        if backend.joint_pairs is not None:
            raise InputError(
                f"{type(backend).__name__} draws distant qubits independently, which only a "
                "projected kernel can be read from; take the kernel 'projected'."
            )

    @abstractmethod
    def readable(self, table: PointTable) -> IntArray:
        """Return the points of a table that have shots enough; some may have lost theirs."""

    @abstractmethod
    def describe(self) -> str:
        """Return kernel and settings as a text."""

    def settings(self, n_qubits: int) -> IntArray | None:
        """Return the fewest Pauli settings that it can be read from; None for the usual ones."""
        return None

    def least_shots(self, settings: IntArray) -> int:
        """Return the shots that a point needs in these settings before it can be read."""
        return 1


def as_outputs(columns: FloatArray) -> FloatArray:
    """Return a single column as one dimension."""
    return columns[:, 0] if columns.shape[1] == 1 else columns


def exact_states(backend: Backend) -> ComplexArray:
    """Return the exact states of a simulator's points, one per row."""
    states: ComplexArray | None = backend.states()
    if states is None:
        raise InputError(
            f"budget is needed: {type(backend).__name__} has no exact states; predict(X, "
            "budget=…), or new_points=… when the estimator is made."
        )
    return states
