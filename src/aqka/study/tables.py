"""Tables of points from files that anyone may have written, with errors that name the cell."""

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import MAX_CELLS, MAX_COLUMNS, FloatArray
from aqka._util.text import did_you_mean, inert, is_encodable, read_number
from aqka.errors import InputError
from aqka.study._formats import CsvFile, ParquetFile, read_arrays, too_large

MAX_LABEL = 1000  # characters
MAX_ID = 100
LARGEST = 1e100  # of a feature: squares of it still fit a float
FORMATS = (".csv", ".parquet", ".npz")
BLANK = ("", "NA", "N/A", "?")
REMEDY = "drop those rows or fill the gaps first"
FILL = "; or set data.missing = 'median', which fills gaps in features"
MOST_KEPT = 20  # other columns
MAX_CHARACTERS = 200  # of a cell of theirs

Columns = dict[str, list[str]]


class DataTable(NamedTuple):
    """Points as they are in a file.

    Attributes
    ----------
    X
        Features, one row per point; NaN where a value is missing and that is allowed.
    y
        Labels.
    columns
        Names of the features.
    ids
        What the file calls each point; None where it has no column of names.
    """

    X: FloatArray
    y: NDArray[Any]
    columns: list[str]
    ids: list[str] | None = None

    @property
    def names(self) -> list[str]:
        """Names of the points: those of the file, and rows counted from 1 where it has none."""
        given = self.ids or [""] * len(self.y)
        return [name or f"row {k}" for k, name in enumerate(given, start=1)]


def read_table(
    path: Path,
    target: str | None,
    features: Sequence[str] | None,
    *,
    labelled: bool = True,
    id_column: str | None = None,
    real: bool = False,
    gaps: bool = False,
) -> DataTable:
    """Return the table of a .csv, .parquet or .npz file.

    Points that are not ``labelled`` have empty labels; ``id_column`` holds their names; ``real``
    labels are numbers; with ``gaps``, features may be missing.
    """
    name = inert(path.name)
    if path.suffix.lower() == ".npz":
        X, labels, columns, ids = _from_arrays(path, target, features, labelled, id_column)
    else:
        X, labels, columns, ids = _from_columns(path, target, features, labelled, id_column, gaps)
    _check_table(X, labels, columns, ids, name, labelled, gaps)
    texts = np.array(labels)
    if labelled:
        texts = (_as_values if real else _as_classes)(texts, name)
    return DataTable(X, texts, columns, ids)


Read = tuple[FloatArray, list[str], list[str], list[str] | None]


def open_columns(path: Path) -> CsvFile | ParquetFile:
    """Return the columns of a .csv or .parquet file."""
    return CsvFile(path) if path.suffix.lower() == ".csv" else ParquetFile(path)


def _from_columns(
    path: Path,
    target: str | None,
    features: Sequence[str] | None,
    labelled: bool,
    id_column: str | None,
    gaps: bool,
) -> Read:
    """Return features, labels, names of columns and of points from a file with a header."""
    file, name = open_columns(path), inert(path.name)
    columns = _choose(file.header, target, features, name, labelled, id_column)
    wanted = [*columns, *(extra for extra in (target, id_column) if extra is not None)]
    values, labels, ids = array("d"), [], []
    for places, cells in file.batches(list(dict.fromkeys(wanted))):
        for k, place in enumerate(places):
            values.extend(_number(cells[column][k], column, place, gaps) for column in columns)
            labels.append("" if target is None else _label(cells[target][k], target, place))
            if id_column is not None:
                ids.append(_id(cells[id_column][k]))
    X = np.frombuffer(values, dtype=np.float64).reshape(len(labels), len(columns)).copy()
    return X, labels, columns, ids or None


def _from_arrays(
    path: Path,
    target: str | None,
    features: Sequence[str] | None,
    labelled: bool,
    id_column: str | None,
) -> Read:
    """Return the same from an npz file with a 2-D array ``X`` and 1-D arrays beside it."""
    if features is not None and labelled:
        raise InputError("data.features is for columns; an .npz file's array X is used whole.")
    arrays = read_arrays(path)
    name, label = inert(path.name), target or "y"
    for wanted in ("X", *([label] if labelled else []), *([id_column] if id_column else [])):
        if wanted not in arrays:
            raise InputError(
                f"{name} has no array {inert(wanted)!r}.{did_you_mean(wanted, arrays)} "
                f"It has: {inert(', '.join(arrays), 200)}."
            )
    X = arrays["X"]
    if X.ndim != 2 or X.shape[1] == 0 or X.dtype.kind not in "buif":
        raise InputError(
            f"{name}: X must be a 2-D array of real numbers, a row for each point and at least "
            f"one column, got shape {X.shape} of {X.dtype}."
        )
    if X.shape[1] > MAX_COLUMNS:
        raise too_large(name)
    columns = [f"X[{k}]" for k in range(X.shape[1])]
    ids = None
    if id_column is not None:
        ids = [_id(one) for one in _beside(arrays, id_column, "name", len(X), name)]
    labels = [""] * len(X)
    if labelled:
        given = _beside(arrays, label, "label", len(X), name)
        labels = [_label(one, label, f"{name}, row {k}") for k, one in enumerate(given, 1)]
    return X.astype(np.float64), labels, columns, ids


def _beside(
    arrays: dict[str, NDArray[Any]], column: str, what: str, n_points: int, name: str
) -> NDArray[Any]:
    values = arrays[column]
    if values.shape != (n_points,) or values.dtype.kind not in "buifU":
        raise InputError(
            f"{name}: {inert(column)} must be 1-D with one {what} for each of the {n_points} rows "
            f"of X, got shape {values.shape} of {values.dtype}."
        )
    return values


def other_columns(path: Path, used: Sequence[str], first: Sequence[str], n_rows: int) -> Columns:
    """Return the columns of a file besides those that are used, as text.

    Parameters
    ----------
    path
        A file that was read before; an .npz file's columns are its one-dimensional arrays. A
        column that cannot be read as text is left out.
    used
        Columns that are known already.
    first
        Columns that must be among the at most 20 that are kept, where the file has them.
    n_rows
        Points of the file; a column of another length is left out.
    """
    found: Columns = {}
    try:
        if path.suffix.lower() == ".npz":
            arrays = {name: one for name, one in read_arrays(path).items() if one.ndim == 1}
            names = _kept(list(arrays), [*used, "X"], first)
            found = {name: [_text(cell) for cell in arrays[name].tolist()] for name in names}
        else:
            file = open_columns(path)
            found = {name: [] for name in _kept(file.header, used, first)}
            for _, cells in file.batches(list(found)):
                for name, column in found.items():
                    column += map(_text, cells[name])
    except InputError:
        return {}
    return {name: cells for name, cells in found.items() if len(cells) == n_rows}


def _kept(header: list[str], used: Sequence[str], first: Sequence[str]) -> list[str]:
    others = [name for name in header if name not in used]
    kept = sorted(others, key=lambda name: name not in first)[:MOST_KEPT]
    return [name for name in others if name in kept]


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()[:MAX_CHARACTERS]


def _id(value: Any) -> str:
    """Return what a point is called; empty where the cell is."""
    return "" if value is None else str(value).strip()[:MAX_ID]


def _choose(
    header: list[str],
    target: str | None,
    features: Sequence[str] | None,
    name: str,
    labelled: bool,
    id_column: str | None,
) -> list[str]:
    """Return the columns of the features; refuse columns that the file does not have."""
    if len(header) > MAX_COLUMNS:
        raise too_large(name)
    if len(set(header)) < len(header):
        twice = Counter(header).most_common(1)[0][0]
        raise InputError(f"{name} has the column {inert(twice)!r} twice; give each its own name.")
    if target is None and labelled:
        raise InputError(
            f"data.target is missing: name the column of the labels in {name}, one of "
            f"{inert(', '.join(header), 200)}."
        )
    named = [column for column in (target, id_column) if column is not None]
    for column in (*named, *(features or ())):
        if column not in header:
            raise InputError(
                f"{name} has no column {inert(column)!r}.{did_you_mean(column, header)} It has: "
                f"{inert(', '.join(header), 200)}."
            )
    if features is not None and target in features:
        raise InputError(f"data.features holds the target {inert(target)!r}; take it out.")
    chosen = list(features or [column for column in header if column not in named])
    if not chosen or len(set(chosen)) < len(chosen):
        raise InputError(f"{name}: data.features must name at least one column, each once.")
    return chosen


def _number(value: Any, column: str, where: str, gaps: bool) -> float:
    """Return a cell as a number, NaN where it is missing and may be; or name the bad cell."""
    blank = value is None or (isinstance(value, str) and value.strip() in BLANK)
    try:
        number = math.nan if blank else _as_float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{where}: column {inert(column)!r} holds {inert(value)!r}, not a number. List the "
            "numeric columns in data.features, or encode this one as numbers."
        ) from None
    if not math.isfinite(number) and not (gaps and math.isnan(number)):
        raise InputError(
            f"{where}: column {inert(column)!r} is empty, NaN or infinite; {REMEDY}{FILL}."
        )
    return number


def _as_float(value: Any) -> float:
    if not isinstance(value, str):
        return float(value)
    number = read_number(value)
    if number is None:
        raise ValueError(value)
    return number


def _label(value: Any, column: str, where: str) -> str:
    """Return a label as text: what kind of labels these are is seen from all of them."""
    text = "" if value is None else str(value).strip()
    if text.lower() in ("", "nan"):
        raise InputError(f"{where}: the target {inert(column)!r} is missing; {REMEDY}.")
    if len(text) > MAX_LABEL:
        raise InputError(f"{where}: a label has {len(text)} characters; the most is {MAX_LABEL}.")
    if not is_encodable(text):
        raise InputError(
            f"{where}: the label {inert(text)!r} holds half of a character, which no file can "
            "keep; write the labels anew as Unicode text, or replace this one."
        )
    return text


def _check_table(
    X: FloatArray,
    labels: list[str],
    columns: list[str],
    ids: list[str] | None,
    name: str,
    labelled: bool,
    gaps: bool,
) -> None:
    """Refuse too few points, numbers beyond reason, and texts that take too much room."""
    fewest = 4 if labelled else 1
    if len(labels) < fewest:
        raise InputError(f"{name} has {len(labels)} points; it needs at least {fewest}.")
    usable = (np.abs(X) <= LARGEST) | (np.isnan(X) if gaps else False)
    if not usable.all():
        row, column = map(int, np.argwhere(~usable)[0])
        raise InputError(
            f"{name}: {inert(columns[column])} is NaN or beyond {LARGEST:g} in row {row + 1}; "
            f"{REMEDY}."
        )
    if gaps and np.isnan(X).all(axis=0).any():
        empty = columns[int(np.argmax(np.isnan(X).all(axis=0)))]
        raise InputError(f"{name}: column {inert(empty)!r} has no value at all; leave it out.")
    # An array of texts gives every label the room of the longest.
    longest = max(map(len, [*labels, *(ids or ())]))
    if X.size > MAX_CELLS or len(labels) * longest > MAX_CELLS:
        raise too_large(name)


def _as_values(labels: NDArray[Any], name: str) -> FloatArray:
    """Return targets as numbers, or say which is none."""
    read = [read_number(str(label)) for label in labels]
    for row, number in enumerate(read, start=1):
        if number is None or not abs(number) <= LARGEST:
            raise InputError(
                f"{name}, row {row}: the target holds {inert(labels[row - 1])!r}, not a number up "
                f"to {LARGEST:g}; data.task = 'regression' needs numbers."
            )
    return np.array(read, dtype=np.float64)


def _as_classes(labels: NDArray[Any], name: str) -> NDArray[Any]:
    """Return whole numbers as int, other labels as text; refuse real targets."""
    classes, where = np.unique(labels, return_inverse=True)
    read = [read_number(str(label)) for label in classes]
    if None in read:
        return labels
    numbers = np.array(read, dtype=np.float64)[where]
    if not np.all(np.abs(numbers) < 2**53) or not np.all(numbers == np.rint(numbers)):
        raise InputError(
            f"{name}: the target holds real numbers, {classes.size} different ones; set "
            "data.task = 'regression' to learn them, or make them classes first, for example "
            "above and below a threshold."
        )
    return numbers.astype(np.int64)
