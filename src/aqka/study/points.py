"""The points of a run: what the circuits take, where it came from, and how both are stored."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.errors import InputError
from aqka.study._formats import as_npz, read_arrays

MAX_TEXTS = 1000  # of categories that are no feature
ENCODING = ("columns", "fill", "centre", "components", "lowest", "highest", "range")
TEXTS = "other_texts"
NAMES = ("train_ids", "test_ids")
COLUMNS = ("train_columns", "test_columns")
FEATURES = ("train", "test", "train_labels", "test_labels")


@dataclass(frozen=True, eq=False)
class Encoding:
    """Gaps filled, then principal components, then a scaling of each to one range."""

    columns: list[str]  # names, in order
    fill: FloatArray  # in place of a missing value: the median of each column's training points
    centre: FloatArray  # a point x becomes components @ (x - centre)
    components: FloatArray
    lowest: FloatArray  # of the training points after that: what the range's ends stand for
    highest: FloatArray
    range: FloatArray  # that features are scaled to, and clipped to
    # As "column=text", those that the table has besides the features.
    other_texts: list[str] = field(default_factory=list, kw_only=True)

    @classmethod
    def fit(
        cls, train: FloatArray, columns: list[str], n_features: int, range: list[float]
    ) -> "Encoding":
        """Fit medians, components if there are more columns than features, and scaling."""
        width = train.shape[1]
        empty = np.isnan(train).all(axis=0)
        # A column whose training points all lack a value says nothing: any constant will do.
        fill = np.nanmedian(np.where(empty, 0.0, train), axis=0)
        train = np.where(np.isnan(train), fill, train)
        centre, components = np.zeros(width), np.eye(width)
        if width > n_features:
            from sklearn.decomposition import PCA

            fitted = PCA(n_features, svd_solver="full").fit(train)
            centre, components = fitted.mean_, fitted.components_
        reduced = (train - centre) @ components.T
        ends = np.array(range, dtype=np.float64)
        lowest, highest = reduced.min(axis=0), reduced.max(axis=0)
        return cls(columns, fill, centre, components, lowest, highest, ends)

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> "Encoding":
        """Return the encoding that :meth:`arrays` gave."""
        columns, *numbers = (arrays[name] for name in ENCODING)
        return cls(list(map(str, columns)), *numbers).with_texts(map(str, arrays[TEXTS]))

    def arrays(self) -> dict[str, Any]:
        """Return all of it as arrays by name."""
        texts = {TEXTS: np.asarray(self.other_texts, dtype=np.str_)}
        return {name: getattr(self, name) for name in ENCODING} | texts

    def filled(self, points: FloatArray) -> FloatArray:
        """Return points without gaps."""
        return np.where(np.isnan(points), self.fill, points)

    def reduced(self, points: FloatArray) -> FloatArray:
        """Return points as principal components, before they are scaled."""
        return np.asarray((self.filled(points) - self.centre) @ self.components.T)

    def features(self, points: FloatArray) -> FloatArray:
        """Return points as the circuits take them; what lies outside the range is clipped.

        Examples
        --------
        >>> encoding = Encoding.fit(np.array([[0.0], [4.0]]), ["x"], 1, [0.0, 1.0])
        >>> encoding.features(np.array([[1.0], [9.0], [np.nan]])).tolist()
        [[0.25], [1.0], [0.5]]
        """
        low, high = self.range
        width = self.highest - self.lowest
        # A column that never varies reads the lower end.
        scale = (high - low) / np.where(width > 0, width, 1.0)
        scaled = low + (self.reduced(points) - self.lowest) * scale
        return np.asarray(np.clip(scaled, low, high))

    def with_texts(self, other_texts: Iterable[str]) -> "Encoding":
        """Return it with the texts of categories that the table has besides its features."""
        return replace(self, other_texts=sorted(other_texts)[:MAX_TEXTS])

    def unseen(self, other_texts: Mapping[str, int]) -> list[dict[str, Any]]:
        """Return texts of categories that the table did not have: column, value, how many points.

        Examples
        --------
        >>> encoding = Encoding.fit(np.array([[0.0], [1.0]]), ["city=Bonn"], 1, [0.0, 1.0])
        >>> encoding.with_texts(["city=Rome"]).unseen({"city=Rome": 4, "city=Paris": 2})
        [{'column': 'city', 'value': 'Paris', 'points': 2}]
        """
        if len(self.other_texts) == MAX_TEXTS:  # there may be more of them
            return []
        new = {text: n for text, n in other_texts.items() if text not in self.other_texts}
        parts = ((*text.split("=", 1), n) for text, n in new.items())
        return [dict(zip(("column", "value", "points"), part, strict=True)) for part in parts]

    def n_outside(self, points: FloatArray) -> int:
        """Return how many points have a feature outside the training points' range."""
        reduced = self.reduced(points)
        return int(((reduced < self.lowest) | (reduced > self.highest)).any(axis=1).sum())


@dataclass(frozen=True, eq=False)
class Points:
    """Training and test points, encoded as the circuits take them, and as the user knows them."""

    train: FloatArray  # features, one row per point, within the study's range
    test: FloatArray
    train_labels: NDArray[Any]
    test_labels: NDArray[Any]
    encoding: Encoding  # what made them features, for points that come later
    train_ids: list[str]  # what the file calls each point
    test_ids: list[str]
    # Before they were reduced and scaled, for models without shots; None: too many to keep.
    train_columns: FloatArray | None = None
    test_columns: FloatArray | None = None

    @property
    def majority_accuracy(self) -> float:
        """Test accuracy of always answering the training majority class."""
        classes, counts = np.unique(self.train_labels, return_counts=True)
        return float(np.mean(self.test_labels == classes[np.argmax(counts)]))

    def as_npz(self) -> bytes:
        """Return all of it as the bytes of an npz file."""
        found = {name: getattr(self, name) for name in (*FEATURES, *COLUMNS)}
        # As text also where there are none, in a run without test points.
        found |= {name: np.asarray(getattr(self, name), dtype=np.str_) for name in NAMES}
        found |= self.encoding.arrays()
        return as_npz({name: array for name, array in found.items() if array is not None})


def load_points(path: Path) -> Points:
    """Return the points of a run; the ledger knows the digest of the file."""
    arrays = read_arrays(path)
    names = {*FEATURES, *ENCODING, *NAMES, TEXTS}
    if set(arrays) not in (names, names | set(COLUMNS)):
        raise InputError(
            f"{path.name} does not hold a run's points; restore it from a copy of the run."
        )
    found: dict[str, Any] = {name: arrays.get(name) for name in (*FEATURES, *COLUMNS)}
    found |= {name: [str(one) for one in arrays[name]] for name in NAMES}
    return Points(**found, encoding=Encoding.of(arrays))
