"""What is known about the kernel where points are measured: their states, and so all entries."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray
from aqka.core.points import PointTable
from aqka.dropins._known import Known
from aqka.dropins._point_requests import PointsRequest, PointsTraining
from aqka.dropins._point_states import PointStates, new_states
from aqka.dropins._requests import Request
from aqka.errors import InputError
from aqka.sessions.gaussian_points import ProjectedPoints
from aqka.sessions.point_contract import PointKernel
from aqka.sessions.point_kernels import as_point_kernel, default_point_kernel, make_point_kernel


class KnownPoints(Known):
    """States of points; the entry of any two of them costs no further shot."""

    thing = "point"

    def __init__(self, kernel: str | PointKernel | None = None) -> None:
        super().__init__()
        self._kernel = kernel
        self._is_unit = kernel is None or as_point_kernel(kernel).has_unit_diagonal
        self._places: dict[int, int] = {}  # of a point's number, where its state stands
        self._states: PointStates | None = None
        self._n_qubits: int | None = None

    def entries(self, rows: FloatArray, cols: FloatArray) -> FloatArray:
        """Return a kernel, with NaN for what is unknown."""
        left, right = self.numbers(rows), self.numbers(cols)
        same = left[:, None] == right
        found = np.where(same & self._is_unit, 1.0, np.nan)
        known = [np.flatnonzero(self._are_known(numbers)) for numbers in (left, right)]
        if self._states is not None and known[0].size and known[1].size:
            places = [self._of(numbers[k]) for numbers, k in zip((left, right), known, strict=True)]
            found[np.ix_(*known)] = self._states.kernel(*places)
            found[same & self._is_unit] = 1.0
        # A product of matrices need not be symmetric to the last bit.
        return (found + found.T) / 2 if np.array_equal(left, right) else found

    def is_new(self, points: FloatArray) -> bool:
        """Return whether no point has been measured."""
        return not self._are_known(self.numbers(points)).any()

    def training(self, points: FloatArray, labels: NDArray[Any] | None) -> PointsTraining:
        """Return the request for the training points."""
        return PointsTraining(points, labels)

    def missing(self, rows: FloatArray, cols: FloatArray, shots: int) -> PointsRequest:
        """Return the request for the unknown points of unknown entries, each once."""
        unknown = np.isnan(self.entries(rows, cols))
        points = np.vstack([rows[unknown.any(axis=1)], cols[unknown.any(axis=0)]])
        numbers, first = np.unique(self.numbers(points), return_index=True)
        first = np.sort(first[~self._are_known(numbers)])
        return PointsRequest(points[first] + 0.0, shots)  # -0.0 is 0.0

    def check(self, request: Request, session: Any) -> None:
        """Refuse what could not be read, or not with the known points, before it is measured."""
        table = session.table
        if self._n_qubits not in (None, table.n_qubits):
            raise InputError(
                f"X must have as many features as the points that are known: theirs are states of "
                f"{self._n_qubits} qubits, got {table.n_qubits}; make another kernel for these."
            )
        kernel = self._kernel_of(table)
        needs_width = isinstance(kernel, ProjectedPoints) and kernel.gamma is None
        if self._states is None and needs_width and not isinstance(request, PointsTraining):
            raise InputError(
                f"points of {table.n_qubits} qubits have a projected kernel, whose width is taken "
                "from the training points: ask for their kernel first, or call prepare(X, y)."
            )
        shots, least = session.budget // len(request.rows), kernel.least_shots(table.settings)
        if shots < least:
            raise InputError(
                f"shots_per_point must be at least {least} for points of {table.n_qubits} qubits, "
                f"so that each qubit is measured twice in X, Y and Z, got {shots}."
            )

    def _kernel_of(self, table: PointTable) -> PointKernel:
        if self._kernel is None:
            return default_point_kernel(table.settings)
        return make_point_kernel(self._kernel, table.n_qubits)

    def take(self, request: Request, session: Any) -> None:
        """Fit the states of a request's points, but for those whose shots were lost."""
        table = session.table
        self._n_qubits = table.n_qubits
        if self._states is None:
            self._states = new_states(self._kernel_of(table))
        seen = self._states.readable(table)
        if not seen.size:
            return
        first, part = len(self._states), table.subset(seen)
        if isinstance(request, PointsTraining):
            outputs = None if request.labels is None else request.problem().outputs[seen]
            self._states.add_training(part, outputs)
        else:
            self._states.add(part)
        numbers = self.numbers(request.rows)[seen].tolist()
        self._places.update({number: first + k for k, number in enumerate(numbers)})

    def _are_known(self, numbers: IntArray) -> NDArray[np.bool_]:
        return np.array([number in self._places for number in numbers.tolist()], dtype=np.bool_)

    def _of(self, numbers: IntArray) -> IntArray:
        return np.array([self._places[number] for number in numbers.tolist()], dtype=np.int64)
