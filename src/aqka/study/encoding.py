"""From columns of a table to the features a circuit takes: fitted once, stored with a run."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.errors import InputError

ARRAYS = ("columns", "centre", "components", "lowest", "highest", "range")
"""What an encoding is stored as."""


@dataclass(frozen=True, eq=False)
class Encoding:
    """Principal components, then a scaling of each to one range.

    Attributes
    ----------
    columns
        Names of the columns, in order.
    centre, components
        A point x becomes ``components @ (x - centre)``; where nothing is reduced, x itself.
    lowest, highest
        Of the training points after that: what the range's ends stand for.
    range
        The interval that features are scaled to, and clipped to.
    """

    columns: list[str]
    centre: FloatArray
    components: FloatArray
    lowest: FloatArray
    highest: FloatArray
    range: FloatArray

    @classmethod
    def fit(
        cls, train: FloatArray, columns: list[str], n_features: int, range: list[float]
    ) -> "Encoding":
        """Fit components, if there are more columns than features, and scaling."""
        width = train.shape[1]
        centre, components = np.zeros(width), np.eye(width)
        if width > n_features:
            from sklearn.decomposition import PCA

            fitted = PCA(n_features, svd_solver="full").fit(train)
            centre, components = fitted.mean_, fitted.components_
        reduced = (train - centre) @ components.T
        ends = np.array(range, dtype=np.float64)
        return cls(columns, centre, components, reduced.min(axis=0), reduced.max(axis=0), ends)

    def features(self, points: FloatArray) -> FloatArray:
        """Return points as the circuits take them; what lies outside the range is clipped.

        Examples
        --------
        >>> encoding = Encoding.fit(np.array([[0.0], [4.0]]), ["x"], 1, [0.0, 1.0])
        >>> encoding.features(np.array([[1.0], [9.0]])).tolist()
        [[0.25], [1.0]]
        """
        reduced = (points - self.centre) @ self.components.T
        low, high = self.range
        width = self.highest - self.lowest
        # A column that never varies reads the lower end.
        scale = (high - low) / np.where(width > 0, width, 1.0)
        return np.asarray(np.clip(low + (reduced - self.lowest) * scale, low, high))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all of it as arrays, for an npz file."""
        return {name: np.asarray(getattr(self, name)) for name in ARRAYS}

    @classmethod
    def of_arrays(cls, arrays: dict[str, NDArray[Any]], n_features: int) -> "Encoding":
        """Return a stored encoding, checked: the file may be anyone's."""
        refusal = InputError(
            "data.npz does not hold a run's points and their encoding; restore it from a copy of "
            "the run."
        )
        if not set(ARRAYS) <= set(arrays):
            raise refusal
        columns, *numbers = (arrays[name] for name in ARRAYS)
        width = columns.size
        shapes = [(width,), (n_features, width), (n_features,), (n_features,), (2,)]
        if columns.shape != (width,) or columns.dtype.kind != "U":
            raise refusal
        for values, shape in zip(numbers, shapes, strict=True):
            if values.shape != shape or values.dtype != np.float64 or not np.isfinite(values).all():
                raise refusal
        return cls([str(name) for name in columns], *numbers)
