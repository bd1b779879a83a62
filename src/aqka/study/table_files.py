"""Reads CSV, npz and Parquet files from anyone: bounded, without pickle, with clear errors."""

import csv
import io
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import MAX_CELLS, MAX_COLUMNS, MAX_FILE_BYTES, MAX_ROWS, FloatArray
from aqka._util.files import read_text
from aqka._util.text import did_you_mean, inert, is_encodable, read_number
from aqka.errors import InputError
from aqka.study.npz_files import read_arrays
from aqka.study.parquet_files import column_batches, read_header
from aqka.study.table_size import too_large

MAX_LABEL = 1000  # characters
MAX_ID = 100
LARGEST = 1e100  # of a feature: squares of it still fit a float
FORMATS = (".csv", ".parquet", ".npz")
REMEDY = "drop those rows or fill the gaps first"


class DataTable(NamedTuple):
    """Points as they are in a file.

    Attributes
    ----------
    X
        Features, one row per point.
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


def read_csv(
    path: Path,
    target: str | None,
    features: Sequence[str] | None,
    *,
    labelled: bool = True,
    id_column: str | None = None,
    real: bool = False,
) -> DataTable:
    """Return the table of a CSV file with a header, separated by comma, semicolon or tab.

    Points that are not ``labelled`` have empty labels; ``id_column`` holds their names; ``real``
    labels are numbers.
    """
    text = read_text(path, MAX_FILE_BYTES, "data file")
    name = inert(path.name)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=csv_delimiter(text, name))
    values, labels, ids = array("d"), [], []
    try:
        header = [cell.strip() for cell in next(reader)]
        chosen, label = _choose(header, target, features, name, labelled, id_column)
        named = None if id_column is None else header.index(id_column)
        for row in filter(None, reader):  # without blank lines
            where = f"{name}, line {reader.line_num}"
            if len(row) != len(header):
                raise InputError(
                    f"{where} has {len(row)} cells but the header has {len(header)}; every line "
                    "needs one per column."
                )
            values.extend(_number(row[k], header[k], where) for k in chosen)
            labels.append("" if label is None else _label(row[label], header[label], where))
            if named is not None:
                ids.append(_id(row[named]))
            if len(labels) > MAX_ROWS or len(values) > MAX_CELLS:
                raise too_large(name)
    except csv.Error as error:
        raise InputError(
            f"{name}, line {reader.line_num} is not readable CSV: {error}. Is a quote left open?"
        ) from None
    X = np.frombuffer(values, dtype=np.float64).reshape(len(labels), len(chosen)).copy()
    return _as_table(X, labels, [header[k] for k in chosen], name, labelled, ids or None, real)


def csv_delimiter(text: str, name: str) -> str:
    """Return the character of the header that separates columns; refuse what is no CSV file."""
    if "\0" in text:
        raise InputError(f"{name} holds NUL bytes, so it is not a CSV file; save it as UTF-8 text.")
    header = text.partition("\n")[0]
    if not header.strip():
        raise InputError(f"{name} is empty or has no header; the first line names the columns.")
    return max(",;\t", key=header.count)


def read_parquet(
    path: Path,
    target: str | None,
    features: Sequence[str] | None,
    *,
    labelled: bool = True,
    id_column: str | None = None,
    real: bool = False,
) -> DataTable:
    """Return the table of a Parquet file."""
    header, name = read_header(path), inert(path.name)
    chosen, label = _choose(header, target, features, name, labelled, id_column)
    names = [header[k] for k in chosen]
    parts: list[FloatArray] = [np.zeros((0, len(names)))]
    labels: list[str] = []
    ids: list[str] = []
    extra = [header[label]] if label is not None else []
    if id_column is not None and id_column not in (*names, *extra):
        extra.append(id_column)
    for batch in column_batches(path, [*names, *extra]):
        first = len(labels) + 1
        part = [_numbers(batch[column], column, name, first) for column in names]
        parts.append(np.column_stack(part))
        if label is None:
            labels += [""] * len(parts[-1])
        else:
            labels += _labels(batch[header[label]], header[label], name, first)
        if id_column is not None:
            ids += [_id(value) for value in batch[id_column]]
    return _as_table(np.concatenate(parts), labels, names, name, labelled, ids or None, real)


def read_npz(
    path: Path,
    target: str | None,
    features: Sequence[str] | None,
    *,
    labelled: bool = True,
    id_column: str | None = None,
    real: bool = False,
) -> DataTable:
    """Return the table of an npz file with a 2-D array ``X`` and the labels."""
    if features is not None and labelled:
        raise InputError("data.features is for columns; of an .npz the array X is used whole.")
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
    ids = None if id_column is None else _id_array(arrays[id_column], id_column, len(X), name)
    if not labelled:
        return _as_table(X.astype(np.float64), [""] * len(X), columns, name, labelled, ids)
    y = arrays[label]
    if y.shape != (len(X),) or y.dtype.kind not in "buifU":
        raise InputError(
            f"{name}: {inert(label)} must be 1-D with one label for each of the {len(X)} rows of "
            f"X, got shape {y.shape} of {y.dtype}."
        )
    labels = _labels(y, label, name)
    return _as_table(X.astype(np.float64), labels, columns, name, labelled, ids, real)


def _id_array(values: NDArray[Any], column: str, n_points: int, name: str) -> list[str]:
    if values.shape != (n_points,) or values.dtype.kind not in "buifU":
        raise InputError(
            f"{name}: {inert(column)} must be 1-D with one name for each of the {n_points} rows "
            f"of X, got shape {values.shape} of {values.dtype}."
        )
    return [_id(value) for value in values]


def _id(value: Any) -> str:
    """Return what a point is called; empty where the cell is."""
    return "" if value is None else str(value).strip()[:MAX_ID]


def _choose(
    header: list[str],
    target: str | None,
    features: Sequence[str] | None,
    name: str,
    labelled: bool,
    id_column: str | None = None,
) -> tuple[list[int], int | None]:
    """Return the positions of the features and of the label, if there is to be one."""
    if len(header) > MAX_COLUMNS:
        raise too_large(name)
    position = {column: k for k, column in enumerate(header)}
    if len(position) < len(header):
        twice = Counter(header).most_common(1)[0][0]
        raise InputError(f"{name} has the column {inert(twice)!r} twice; give each its own name.")
    if target is None and labelled:
        raise InputError(
            f"data.target is missing: name the column of the labels in {name}, one of "
            f"{inert(', '.join(header), 200)}."
        )
    named = [column for column in (target, id_column) if column is not None]
    for column in (*named, *(features or ())):
        if column not in position:
            raise InputError(
                f"{name} has no column {inert(column)!r}.{did_you_mean(column, header)} It has: "
                f"{inert(', '.join(header), 200)}."
            )
    if features is not None and target in features:
        raise InputError(f"data.features holds the target {inert(target)!r}; take it out.")
    chosen = features or [column for column in header if column not in named]
    if not chosen or len(set(chosen)) < len(chosen):
        raise InputError(f"{name}: data.features must name at least one column, each once.")
    label = None if target is None else position[target]
    return [position[column] for column in chosen], label


def _number(value: Any, column: str, where: str) -> float:
    """Return a cell as a number, or say which cell is none."""
    blank = value is None or (isinstance(value, str) and value.strip() in ("", "NA", "N/A", "?"))
    try:
        number = math.nan if blank else _as_float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{where}: column {inert(column)!r} holds {inert(value)!r}, not a number. List the "
            "numeric columns in data.features, or encode this one as numbers."
        ) from None
    if not math.isfinite(number):
        raise InputError(
            f"{where}: column {inert(column)!r} is empty, NaN or infinite; {REMEDY}."
        ) from None
    return number


def _as_float(value: Any) -> float:
    if not isinstance(value, str):
        return float(value)
    number = read_number(value)
    if number is None:
        raise ValueError(value)
    return number


def _numbers(values: Iterable[Any], column: str, name: str, first: int) -> FloatArray:
    """Return cells of a column as numbers, the first of them that of row ``first``."""
    rows = enumerate(values, first)
    numbers = [_number(value, column, f"{name}, row {row}") for row, value in rows]
    return np.array(numbers, dtype=np.float64)


def _labels(values: Iterable[Any], column: str, name: str, first: int = 1) -> list[str]:
    """Return cells of a column as labels, the first of them that of row ``first``."""
    rows = enumerate(values, first)
    return [_label(value, column, f"{name}, row {row}") for row, value in rows]


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


def _as_table(
    X: FloatArray,
    labels: list[str],
    columns: list[str],
    name: str,
    labelled: bool,
    ids: list[str] | None = None,
    real: bool = False,
) -> DataTable:
    fewest = 4 if labelled else 1
    if len(labels) < fewest:
        raise InputError(f"{name} has {len(labels)} points; it needs at least {fewest}.")
    usable = np.abs(X) <= LARGEST  # False of NaN
    if not usable.all():
        row, column = map(int, np.argwhere(~usable)[0])
        raise InputError(
            f"{name}: {inert(columns[column])} is NaN or beyond {LARGEST:g} in row {row + 1}; "
            f"{REMEDY}."
        )
    # An array of texts gives every label the room of the longest.
    longest = max(map(len, [*labels, *(ids or ())]))
    if X.size > MAX_CELLS or len(labels) * longest > MAX_CELLS:
        raise too_large(name)
    texts = np.array(labels)
    if not labelled:
        return DataTable(X, texts, columns, ids)
    return DataTable(X, (_as_values if real else _as_classes)(texts, name), columns, ids)


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
