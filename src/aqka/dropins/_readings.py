"""What is known about the kernel, by pair of points."""

import numpy as np

from aqka._util.arrays import FloatArray, IntArray

SHIFT = 31  # a pair of point numbers is one int64


class Readings:
    """Kernel values of pairs of points, which are known by their coordinates.

    A pair is the same in either order, and a point with itself reads 1.

    Examples
    --------
    >>> readings = Readings()
    >>> a, b, c = readings.numbers(np.array([[0.1], [0.2], [0.3]]))
    >>> readings.add(np.array([a]), np.array([b]), np.array([0.7]))
    >>> readings.of(np.array([b, b, a]), np.array([a, b, c]))
    array([0.7, 1. , nan])
    """

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._keys: IntArray = np.zeros(0, dtype=np.int64)
        self._values: FloatArray = np.zeros(0)

    def numbers(self, points: FloatArray) -> IntArray:
        """Return a number for each row, the same for equal rows."""
        rows = np.ascontiguousarray(points + 0.0)  # -0.0 and 0.0 are one number, but two bytes
        names = self._numbers
        return np.array([names.setdefault(row.tobytes(), len(names)) for row in rows])

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


def pair_keys(rows: IntArray, cols: IntArray) -> IntArray:
    """Return one number per pair, the same in either order."""
    return np.asarray((np.minimum(rows, cols) << SHIFT) | np.maximum(rows, cols))
