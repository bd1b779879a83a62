"""What is known of a measured kernel, and what has to be bought for the rest."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from aqka._util.arrays import BoolArray, FloatArray, IntArray, rounded
from aqka.core.points import PointTable
from aqka.designs import PointEstimate, Projected
from aqka.errors import InputError
from aqka.estimates.reduced_states import ReducedStates
from aqka.estimators._requests import Request

SHIFT = 31  # a pair of point numbers is one int64


class Known(ABC):
    """The entries of a kernel that are known; one class for each design.

    Points are known by their coordinates. Entries are symmetric; a point with itself reads 1.
    """

    def __init__(self, design: Any) -> None:
        self.design = design
        self._numbers: dict[bytes, int] = {}

    def numbers(self, points: FloatArray) -> IntArray:
        """Return a number for each row, the same for equal rows, but for their last bits."""
        rows = np.ascontiguousarray(rounded(points))
        names = self._numbers
        return np.array([names.setdefault(row.tobytes(), len(names)) for row in rows])

    @abstractmethod
    def entries(self, rows: FloatArray, cols: FloatArray) -> FloatArray:
        """Return a kernel, with NaN for what is unknown."""

    def unknown(self, rows: FloatArray, cols: FloatArray) -> BoolArray:
        return np.isnan(self.entries(rows, cols))

    @abstractmethod
    def is_new(self, points: FloatArray) -> bool:
        """Return whether nothing of the kernel of some points has been measured."""

    @abstractmethod
    def missing(self, rows: FloatArray, cols: FloatArray, shots: int) -> Request:
        """Return the request for what is unknown, each with the same shots."""

    def check(self, request: Request, session: Any) -> None:  # noqa: B027
        """Refuse what could not be read once it is measured, before it is."""

    @abstractmethod
    def take(self, request: Request, session: Any) -> None:
        """Take up what the finished session of a request has measured."""


class KnownPairs(Known):
    """Kernel values of pairs, each bought for itself."""

    def __init__(self, design: Any) -> None:
        super().__init__(design)
        if design.reading == "tolerant":
            raise InputError(
                "reading 'tolerant' chooses its w once all training pairs are measured, and a "
                "kernel of single requests never is; take an estimator or acquire(), or "
                "design='pairs'."
            )
        self._keys: IntArray = np.zeros(0, dtype=np.int64)  # of the pairs, rising
        self._values: FloatArray = np.zeros(0)

    def entries(self, rows: FloatArray, cols: FloatArray) -> FloatArray:
        left, right = self.numbers(rows)[:, None], self.numbers(cols)
        values = np.where(left == right, 1.0, np.nan)
        if self._keys.size:
            keys = pair_keys(left, right)
            place = np.minimum(np.searchsorted(self._keys, keys), self._keys.size - 1)
            values = np.where(self._keys[place] == keys, self._values[place], values)
        return values

    def is_new(self, points: FloatArray) -> bool:
        numbers = self.numbers(points)
        other = numbers[:, None] != numbers
        return bool(self.unknown(points, points)[other].all())

    def missing(self, rows: FloatArray, cols: FloatArray, shots: int) -> Request:
        row_index, col_index = np.nonzero(self.unknown(rows, cols))
        keys = pair_keys(self.numbers(rows)[row_index], self.numbers(cols)[col_index])
        _, once = np.unique(keys, return_index=True)
        used_rows, row_index = np.unique(row_index[once], return_inverse=True)
        used_cols, col_index = np.unique(col_index[once], return_inverse=True)
        return Request(rows[used_rows], shots, None, cols[used_cols], row_index, col_index)

    def take(self, request: Request, session: Any) -> None:
        """Take up the values of a request's pairs: hits / shots (Eq. 4) of those with shots.

        In a training kernel a pair without shots is read as the problem reads it.
        """
        rows = self.numbers(request.rows)
        if request.columns is None:
            cols, kernel = rows, session.estimate().kernel
            i, j = np.triu_indices(len(kernel), k=1)
        else:
            cols, kernel = self.numbers(request.columns), session.table.estimate(np.nan)
            i, j = np.nonzero(session.table.seen)  # some may have lost theirs
        keys = np.concatenate([self._keys, pair_keys(rows[i], cols[j])])
        order = np.argsort(keys)
        self._keys = keys[order]
        self._values = np.concatenate([self._values, kernel[i, j]])[order]


def pair_keys(rows: IntArray, cols: IntArray) -> IntArray:
    """Return one number per pair, the same in either order."""
    return np.asarray((np.minimum(rows, cols) << SHIFT) | np.maximum(rows, cols))


class KnownPoints(Known):
    """States of points; the entry of any two of them costs no further shot.

    An entry must be the same in every request. So all that could change with the points that come
    later, the rank of the states and the width of a projected kernel, is decided once, by the
    training points.
    """

    def __init__(self, design: Any) -> None:
        super().__init__(design)
        self._places: dict[int, int] = {}  # of a point's number, where its state stands
        self._estimate: PointEstimate | None = None
        self._n_qubits: int | None = None

    def places(self, points: FloatArray) -> IntArray:
        """Return where the states of points stand; -1 for those that are unknown."""
        return np.array([self._places.get(k, -1) for k in self.numbers(points).tolist()])

    def entries(self, rows: FloatArray, cols: FloatArray) -> FloatArray:
        left, right = self.numbers(rows), self.numbers(cols)
        same, found = left[:, None] == right, np.full((len(left), len(right)), np.nan)
        at, to = self.places(rows), self.places(cols)
        if self._estimate is not None:
            found[np.ix_(at >= 0, to >= 0)] = self._estimate.block(at[at >= 0], to[to >= 0])
        if self._estimate is None or self._estimate.kernel_of_points.has_unit_diagonal:
            found[same] = 1.0
        # A product of matrices need not be symmetric to the last bit.
        return (found + found.T) / 2 if np.array_equal(left, right) else found

    def reduced(self, points: FloatArray) -> ReducedStates:
        estimate: Any = self._estimate
        states: ReducedStates = estimate.states.subset(self.places(points))
        return states

    def is_new(self, points: FloatArray) -> bool:
        return bool(np.all(self.places(points) < 0))

    def missing(self, rows: FloatArray, cols: FloatArray, shots: int) -> Request:
        unknown = self.unknown(rows, cols)
        points = np.vstack([rows[unknown.any(axis=1)], cols[unknown.any(axis=0)]])
        points = points[self.places(points) < 0]
        first = np.sort(np.unique(self.numbers(points), return_index=True)[1])
        return Request(points[first] + 0.0, shots)  # -0.0 is 0.0

    def check(self, request: Request, session: Any) -> None:
        table: PointTable = session.table
        if self._n_qubits not in (None, table.n_qubits):
            raise InputError(
                f"X must have as many features as the points that are known: theirs are states of "
                f"{self._n_qubits} qubits, got {table.n_qubits}; make another kernel for these."
            )
        kernel = self.design.kernel_for(table)
        needs_width = isinstance(kernel, Projected) and kernel.gamma is None
        if self._n_qubits is None and needs_width and not request.trains:
            raise InputError(
                f"points of {table.n_qubits} qubits have a projected kernel, whose width is taken "
                "from the training points: ask for their kernel first, or call fit(X)."
            )
        shots, least = session.budget // len(request.rows), kernel.least_shots(table.settings)
        if shots < least:
            raise InputError(
                f"shots_each must be at least {least} for points of {table.n_qubits} qubits, "
                f"so that each qubit is measured twice in X, Y and Z, got {shots}."
            )

    def take(self, request: Request, session: Any) -> None:
        """Fit the states of a request's points, but for those whose shots were lost."""
        table: PointTable = session.table
        self._n_qubits = table.n_qubits
        seen = self.design.kernel_for(table).readable(table)
        if not seen.size:
            return
        part, first = table.subset(seen), 0
        if self._estimate is None:
            confusion = session.confusion if request.trains else None
            self._estimate = self.design.read(part, None, None, confusion)
        else:
            first = self._estimate.n_read
            self._estimate = self._estimate.extended(part)
        numbers = self.numbers(request.rows)[seen].tolist()
        self._places.update({number: first + k for k, number in enumerate(numbers)})


KNOWN: dict[str, type[Known]] = {"pairs": KnownPairs, "points": KnownPoints}  # by their design
