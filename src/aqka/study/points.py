"""The points of a run: what the circuits take, where it came from, and how both are stored."""

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.errors import InputError
from aqka.study._formats import read_arrays

MAX_TEXTS = 1000  # of categories that are no feature
MAX_KEPT_CELLS = 10**6  # numbers of the user's table that a run keeps: 8 MB
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
class Origin:
    """The points as the user knows them, for the report: no circuit sees any of it."""

    train_ids: list[str]  # what the file calls each point
    test_ids: list[str]
    train_columns: FloatArray | None  # before they were reduced and scaled, for models without
    test_columns: FloatArray | None  # shots; None where they are too many to keep

    @classmethod
    def of(
        cls, ids: list[str], X: FloatArray, train: NDArray[np.int64], test: NDArray[np.int64]
    ) -> "Origin":
        """Return the origin of chosen points of a table."""
        names = [ids[k] for k in train], [ids[k] for k in test]
        if (len(train) + len(test)) * X.shape[1] > MAX_KEPT_CELLS:
            return cls(*names, None, None)
        return cls(*names, X[train], X[test])


@dataclass(frozen=True, eq=False)
class Points:
    """Training and test points, encoded as the circuits take them."""

    train: FloatArray  # features, one row per point, within the study's range
    test: FloatArray
    train_labels: NDArray[Any]
    test_labels: NDArray[Any]
    encoding: Encoding  # what made them features, for points that come later
    origin: Origin

    @property
    def majority_accuracy(self) -> float:
        """Test accuracy of always answering the training majority class."""
        classes, counts = np.unique(self.train_labels, return_counts=True)
        return float(np.mean(self.test_labels == classes[np.argmax(counts)]))

    def as_npz(self) -> bytes:
        """Return all of it as the bytes of an npz file."""
        found: dict[str, Any] = {name: getattr(self, name) for name in FEATURES}
        found |= {name: getattr(self.encoding, name) for name in ENCODING}
        found[TEXTS] = np.asarray(self.encoding.other_texts, dtype=np.str_)
        # As text also where there are none, in a run without test points.
        found |= {name: np.asarray(getattr(self.origin, name), dtype=np.str_) for name in NAMES}
        kept = {name: getattr(self.origin, name) for name in COLUMNS}
        found |= {name: values for name, values in kept.items() if values is not None}
        stream = io.BytesIO()
        np.savez_compressed(stream, **found)
        return stream.getvalue()


def load_points(path: Path) -> Points:
    """Return the points of a run; the ledger knows the digest of the file."""
    arrays = read_arrays(path)
    names = {*FEATURES, *ENCODING, *NAMES, TEXTS}
    if set(arrays) not in (names, names | set(COLUMNS)):
        raise InputError(
            f"{path.name} does not hold a run's points; restore it from a copy of the run."
        )
    columns, *numbers = (arrays[name] for name in ENCODING)
    train_ids, test_ids = ([str(one) for one in arrays[name]] for name in NAMES)
    encoding = Encoding([str(name) for name in columns], *numbers)
    encoding = encoding.with_texts(str(text) for text in arrays[TEXTS])
    origin = Origin(train_ids, test_ids, *(arrays.get(name) for name in COLUMNS))
    train, test, train_labels, test_labels = (arrays[name] for name in FEATURES)
    return Points(train, test, train_labels, test_labels, encoding, origin)
