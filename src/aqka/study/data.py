"""From a source of data to the points that circuits encode."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.files import inside
from aqka._util.text import did_you_mean, inert
from aqka.errors import InputError
from aqka.study.points import Encoding, Points
from aqka.study.schema import DataSection, FeatureMapSection, SplitSection
from aqka.study.tables import FORMATS, DataTable, point_names, read_table

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


def load_table(section: DataSection, base: Path) -> DataTable:
    """Return the table of a study; a file must lie inside ``base``."""
    source, real = section.source, section.task == "regression"
    if Path(source).suffix.lower() in FORMATS:
        path = inside(base, source, "data.source")
        return read_table(
            path,
            section.target,
            section.features,
            id_column=section.id,
            real=real,
            gaps=section.missing == "median",
        )
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
    if (table.y.dtype.kind == "f") != real:
        kind = "numbers" if table.y.dtype.kind == "f" else "classes"
        wanted = "regression" if kind == "numbers" else "classification"
        raise InputError(
            f"the target of {source} holds {kind}, so data.task must be {wanted!r}, got "
            f"{section.task!r}."
        )
    return table


def encode(
    table: DataTable,
    split: SplitSection,
    section: FeatureMapSection,
    n_features: int,
    seed: int = 0,
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
    encoding = Encoding.fit(train_x, table.columns, n_features, section.range)
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
    table: DataTable, split: SplitSection, seed: int = 0
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


def check_split_sizes(split: SplitSection, n_points: int, n_classes: int) -> None:
    """Refuse numbers of training and test points that a table of so many points cannot have.

    Every class needs a point on both sides.
    """
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
            f"{n_test} for testing are {n_train + n_test} of them, and no point can be both. Lower "
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
