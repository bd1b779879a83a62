"""What is known about the kernel, by pair of points."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray
from aqka.dropins._known import Known
from aqka.dropins._pair_requests import PairsRequest, PairsTraining
from aqka.dropins._requests import Request

SHIFT = 31  # a pair of point numbers is one int64


class KnownPairs(Known):
    """Kernel values of pairs, each bought for itself.

    Examples
    --------
    >>> known = KnownPairs()
    >>> a, b, c = known.numbers(np.array([[0.1], [0.2], [0.3]]))
    >>> known.add(np.array([a]), np.array([b]), np.array([0.7]))
    >>> known.of(np.array([b, b, a]), np.array([a, b, c]))
    array([0.7, 1. , nan])
    """

    thing = "pair"

    def __init__(self) -> None:
        super().__init__()
        self._keys: IntArray = np.zeros(0, dtype=np.int64)
        self._values: FloatArray = np.zeros(0)

    def add(self, rows: IntArray, cols: IntArray, values: FloatArray) -> None:
        """Take up the values of pairs that were not known."""
        keys = np.concatenate([self._keys, pair_keys(rows, cols)])
        order = np.argsort(keys)
        self._keys = keys[order]
        self._values = np.concatenate([self._values, values])[order]

    def of(self, rows: IntArray, cols: IntArray) -> FloatArray:
        """Return the values of pairs, whose numbers may broadcast; NaN where unknown."""
        keys = pair_keys(rows, cols)
        values = np.where(np.broadcast_to(rows, keys.shape) == cols, 1.0, np.nan)
        if self._keys.size:
            place = np.minimum(np.searchsorted(self._keys, keys), self._keys.size - 1)
            values = np.where(self._keys[place] == keys, self._values[place], values)
        return values

    def entries(self, rows: FloatArray, cols: FloatArray) -> FloatArray:
        """Return a kernel, with NaN for what is unknown."""
        return self.of(self.numbers(rows)[:, None], self.numbers(cols)[None, :])

    def is_new(self, points: FloatArray) -> bool:
        """Return whether all pairs of some points are unknown."""
        numbers = self.numbers(points)
        other = numbers[:, None] != numbers
        return bool(np.isnan(self.entries(points, points)[other]).all())

    def training(self, points: FloatArray, labels: NDArray[Any] | None) -> PairsTraining:
        """Return the request for the training kernel."""
        return PairsTraining(points, labels)

    def missing(self, rows: FloatArray, cols: FloatArray, shots: int) -> PairsRequest:
        """Return the request for unknown pairs, each once."""
        row_index, col_index = np.nonzero(np.isnan(self.entries(rows, cols)))
        keys = pair_keys(self.numbers(rows)[row_index], self.numbers(cols)[col_index])
        _, once = np.unique(keys, return_index=True)
        used_rows, row_index = np.unique(row_index[once], return_inverse=True)
        used_cols, col_index = np.unique(col_index[once], return_inverse=True)
        return PairsRequest(rows[used_rows], cols[used_cols], row_index, col_index, shots)

    def take(self, request: Request, session: Any) -> None:
        """Take up the values of a request's pairs."""
        assert isinstance(request, PairsTraining | PairsRequest)
        found = request.values(session)
        columns = request.rows if request.columns is None else request.columns
        rows = self.numbers(request.rows)[found.row_index]
        cols = self.numbers(columns)[found.col_index]
        self.add(rows, cols, found.values)


def pair_keys(rows: IntArray, cols: IntArray) -> IntArray:
    """Return one number per pair, the same in either order."""
    return np.asarray((np.minimum(rows, cols) << SHIFT) | np.maximum(rows, cols))
