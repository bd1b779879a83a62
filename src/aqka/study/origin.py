"""Where the points of a run come from: their names in the user's file, and their own columns."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.errors import InputError

MAX_KEPT_CELLS = 10**6  # numbers of the user's table that a run keeps: 8 MB
NAMES = ("train_ids", "test_ids")
COLUMNS = ("train_columns", "test_columns")
ARRAYS = (*NAMES, *COLUMNS)
"""What an origin is stored as; a large table leaves its columns out."""


@dataclass(frozen=True, eq=False)
class Origin:
    """The points as the user knows them, for the report: no circuit sees any of it.

    Attributes
    ----------
    train_ids, test_ids
        What the file calls each point, as text.
    train_columns, test_columns
        The columns before they were reduced and scaled, for models without shots; None where
        they are too many to keep.
    """

    train_ids: list[str]
    test_ids: list[str]
    train_columns: FloatArray | None
    test_columns: FloatArray | None

    @classmethod
    def of(
        cls, ids: list[str], X: FloatArray, train: NDArray[np.int64], test: NDArray[np.int64]
    ) -> "Origin":
        """Return the origin of chosen points of a table."""
        names = [ids[k] for k in train], [ids[k] for k in test]
        if (len(train) + len(test)) * X.shape[1] > MAX_KEPT_CELLS:
            return cls(*names, None, None)
        return cls(*names, X[train], X[test])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all of it as arrays, for an npz file."""
        found = {name: getattr(self, name) for name in ARRAYS}
        # As text also where there are none, of a run without test points.
        kinds: dict[str, Any] = dict.fromkeys(NAMES, np.str_)
        return {
            name: np.asarray(value, dtype=kinds.get(name))
            for name, value in found.items()
            if value is not None
        }

    @classmethod
    def of_arrays(
        cls, arrays: dict[str, NDArray[Any]], sizes: tuple[int, int], width: int
    ) -> "Origin":
        """Return a stored origin, checked: the file may be anyone's."""
        refusal = InputError(
            "data.npz does not hold the names of a run's points; restore it from a copy of the run."
        )
        if not set(NAMES) <= set(arrays) or (COLUMNS[0] in arrays) != (COLUMNS[1] in arrays):
            raise refusal
        for name, size in zip(NAMES, sizes, strict=True):
            if arrays[name].shape != (size,) or arrays[name].dtype.kind != "U":
                raise refusal
        for name, size in zip(COLUMNS, sizes, strict=True):
            values = arrays.get(name)
            if values is not None and not _is_table(values, (size, width)):
                raise refusal
        train_ids, test_ids = ([str(one) for one in arrays[name]] for name in NAMES)
        return cls(train_ids, test_ids, arrays.get(COLUMNS[0]), arrays.get(COLUMNS[1]))


def _is_table(values: NDArray[Any], shape: tuple[int, int]) -> bool:
    if values.shape != shape or values.dtype != np.float64:
        return False
    return bool(np.isfinite(values).all())
