"""From a source of data to the points of a run: what circuits take, and how it is stored."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka._util.files import inside
from aqka._util.text import did_you_mean, inert
from aqka.errors import InputError
from aqka.study._formats import as_npz, read_arrays
from aqka.study.tables import FORMATS, DataTable, point_names, read_table

if TYPE_CHECKING:
    from aqka.study.schema import DataSection, SplitSection

MAX_TEXTS = 1000  # of categories that are no feature
ENCODING = ("fill", "centre", "components", "lowest", "highest", "range")  # its numbers
MAX_TRAINING_POINTS = 5000  # an eigendecomposition of more takes longer than a round
GENERATED_POINTS = 200
MAX_KEPT_CELLS = 10**6  # numbers of the user's table that a run keeps: 8 MB


BUILT_IN: dict[str, tuple[str, dict[str, float]]] = {
    "breast-cancer": ("load_breast_cancer", {}),
    "wine": ("load_wine", {}),
    "iris": ("load_iris", {}),
    "digits": ("load_digits", {}),
    "moons": ("make_moons", {"noise": 0.15}),
    "circles": ("make_circles", {"noise": 0.1, "factor": 0.5}),
    "diabetes": ("load_diabetes", {}),
}
"""Data that need no file: functions of ``sklearn.datasets``, which ships or generates them."""


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
        """Return the encoding whose fields are kept as arrays."""
        columns, numbers = map(str, arrays["columns"]), (arrays[name] for name in ENCODING)
        return cls(list(columns), *numbers).with_texts(map(str, arrays["other_texts"]))

    def filled(self, points: FloatArray) -> FloatArray:
        """Return points without gaps."""
        return np.where(np.isnan(points), self.fill, points)

    def reduced(self, points: FloatArray) -> FloatArray:
        """Return points as principal components, before they are scaled."""
        return np.asarray((self.filled(points) - self.centre) @ self.components.T)

    def features(self, points: FloatArray) -> FloatArray:
        """Return points as the circuits take them; what lies outside the range is clipped."""
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
        """Return texts of categories that the table lacked: column, value, number of points."""
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
        found = vars(self) | vars(self.encoding)
        del found["encoding"]
        return as_npz({name: array for name, array in found.items() if array is not None})


def load_points(path: Path) -> Points:
    """Return the points of a run; the ledger knows the digest of the file."""
    found: dict[str, Any] = dict(read_arrays(path))
    try:
        found |= {name: [str(one) for one in found[name]] for name in ("train_ids", "test_ids")}
        found["encoding"] = Encoding.of(found)
        names = [one.name for one in fields(Points)]
        kept = names if "train_columns" in found else names[:-2]  # both are there, or neither
        return Points(*(found[name] for name in kept))
    except KeyError:
        raise InputError(
            f"{path.name} does not hold a run's points; restore it from a copy of the run."
        ) from None


def _load_built_in(name: str) -> DataTable:
    from sklearn import datasets

    function, settings = BUILT_IN[name]
    if function.startswith("make_"):
        X, y = getattr(datasets, function)(GENERATED_POINTS, random_state=0, **settings)
        return DataTable(X, y.astype(np.int64), ["x", "y"])
    bunch = getattr(datasets, function)()
    labels: NDArray[Any] = np.asarray(bunch.target, dtype=np.float64)
    if "target_names" in bunch:
        names = [str(name) for name in bunch.target_names]
        labels = np.array([names[k] for k in bunch.target])
        if all(name.isdigit() for name in names):
            labels = labels.astype(np.int64)
    columns = [str(name) for name in bunch.feature_names]
    return DataTable(np.asarray(bunch.data, dtype=np.float64), labels, columns)


def load_table(section: "DataSection", base: Path) -> DataTable:
    """Return the table of a study; a file must lie inside ``base``."""
    source = section.source
    if Path(source).suffix.lower() in FORMATS:
        return read_table(inside(base, source, "data.source"), section)
    if source not in BUILT_IN:
        raise InputError(
            f"data.source {inert(source)!r} is neither a built-in name nor a file ending in "
            f"{', '.join(FORMATS)}.{did_you_mean(source, list(BUILT_IN))} Built-in: "
            f"{', '.join(BUILT_IN)}."
        )
    if (section.target, section.features, section.id) != (None, None, None):
        raise InputError(
            f"data.target, data.features and data.id are for files; {source} has its own labels."
        )
    table = _load_built_in(source)
    if (table.y.dtype.kind == "f") != (section.task == "regression"):
        kind = "numbers" if table.y.dtype.kind == "f" else "classes"
        wanted = "regression" if kind == "numbers" else "classification"
        raise InputError(
            f"the target of {source} holds {kind}, so data.task must be {wanted!r}, got "
            f"{section.task!r}."
        )
    return table


def encode(
    table: DataTable, split: "SplitSection", ends: list[float], n_features: int, seed: int = 0
) -> Points:
    """Split a table, then reduce and scale it; both are fitted on the training points only."""
    train, test = split_points(table, split, seed)
    train_x, test_x = table.X[train], table.X[test]
    available = train_x.shape[1]
    if available < n_features:
        raise InputError(
            f"the feature map encodes {n_features} features but the data have {available}; lower "
            "feature_map.qubits, or add columns."
        )
    if available > n_features and len(train) < n_features:
        raise InputError(
            f"{len(train)} training points do not have {n_features} principal components; "
            "raise split.train or lower feature_map.qubits."
        )
    encoding = Encoding.fit(train_x, table.columns, n_features, ends)
    ids = point_names(table.ids, len(table.y))
    is_kept = (len(train) + len(test)) * available <= MAX_KEPT_CELLS
    return Points(
        encoding.features(train_x),
        encoding.features(test_x),
        table.y[train],
        table.y[test],
        encoding.with_texts(table.other_texts),
        [ids[k] for k in train],
        [ids[k] for k in test],
        encoding.filled(train_x) if is_kept else None,
        encoding.filled(test_x) if is_kept else None,
    )


def split_points(
    table: DataTable, split: "SplitSection", seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of the training and of the test points; classes keep their shares."""
    from sklearn.model_selection import train_test_split

    check_split_sizes(split, len(table.y), _check_labels(table.y))
    everything = np.arange(len(table.y))
    if split.test == 0 and split.train in (None, len(table.y)):
        train, test = everything, everything[:0]
    else:
        train, test = train_test_split(
            everything,
            train_size=split.train,
            test_size=split.test or None,
            stratify=None if table.y.dtype.kind == "f" else table.y,
            random_state=seed,
        )
    if len(train) > MAX_TRAINING_POINTS:
        raise InputError(
            f"{len(train)} training points have {len(train) * (len(train) - 1) // 2:,} pairs; set "
            f"split.train to at most {MAX_TRAINING_POINTS}."
        )
    return np.sort(train), np.sort(test if split.test else test[:0])


def _check_labels(labels: NDArray[Any]) -> int:
    """Refuse labels that cannot be split; return how many points each side needs."""
    if labels.dtype.kind == "f":
        if np.ptp(labels) == 0:
            raise InputError(
                f"the target holds {labels[0]:g} for every point; there is nothing to learn."
            )
        return 2
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < 2:
        raise InputError(
            f"the target has a single class, {inert(classes[0])}; a classifier needs two."
        )
    if counts.min() < 2:
        raise InputError(
            f"class {inert(classes[np.argmin(counts)])!r} has a single point; a split needs two of "
            f"each. There are {len(classes)} classes: is data.target the right column?"
        )
    return len(classes)


def check_split_sizes(split: "SplitSection", n_points: int, n_classes: int) -> None:
    """Refuse sizes that a table of so many points cannot have, each class on both sides."""
    test, train, asked = split.test, split.train, f"split.test is {split.test}"
    # Fractions are rounded as scikit-learn does.
    n_test = test if isinstance(test, int) else math.ceil(test * n_points)
    n_train = n_points - n_test
    if train is not None:
        n_train = train if isinstance(train, int) else math.floor(train * n_points)
        asked = f"split.train is {train}, split.test {test}"
    if n_train + n_test > n_points or n_train < 1:
        raise InputError(
            f"the data have {n_points} points, but {asked}: {n_train} points for training and "
            f"{n_test} for testing make {n_train + n_test}, and no point can be both. Lower "
            "one of them, or leave split.train out to train on all but the test points."
        )
    # With test = 0 all points are for training, or some are left out for good.
    others = ("test", n_test) if n_test else ("train", (n_points - n_train) or n_classes)
    for name, size in (("train", n_train), others):
        if size < n_classes:
            raise InputError(
                f"split.{name} leaves {size} points for {n_classes} classes; each class needs at "
                f"least one, so give {n_classes} or more. The data have {n_points} points."
            )
