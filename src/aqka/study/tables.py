"""Tables of points from files that anyone may have written, with errors that name the cell."""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import MAX_CELLS, MAX_COLUMNS, FloatArray
from aqka._util.text import did_you_mean, inert, is_encodable, read_number
from aqka.errors import InputError
from aqka.study._formats import CsvFile, ParquetFile, read_arrays, too_large

if TYPE_CHECKING:
    from aqka.study.schema import DataSection

MAX_LABEL = 1000  # characters
MAX_ID = 100
LARGEST = 1e100  # of a feature: squares of it still fit a float
FORMATS = (".csv", ".parquet", ".npz")
BLANK = ("", "NA", "N/A", "?")
REMEDY = "drop those rows or fill the gaps first"
STUDY_CELL = (
    "List the numeric columns in data.features, and texts of others as 'column=text'",
    f"{REMEDY}; or set data.missing = 'median', which fills gaps in features",
)
NEW_CELL = "Write a number there, or drop the row: the run was trained on numbers", REMEDY
MOST_KEPT = 20  # other columns
MAX_CHARACTERS = 200  # of a cell of theirs

Columns = dict[str, list[str]]


class DataTable(NamedTuple):
    """Points as they are in a file, one row each; NaN where a value may be missing and is."""

    X: FloatArray
    y: NDArray[Any]
    columns: list[str]  # names of the features
    ids: list[str] | None = None  # what the file calls each point, where it has such a column
    other_texts: Mapping[str, int] = MappingProxyType({})  # "column=text" that is no feature


def point_names(ids: Sequence[str] | None, n_points: int) -> list[str]:
    """Return names of points: those given, and rows counted from 1 where there is none."""
    return [name or f"row {k}" for k, name in enumerate(ids or [""] * n_points, start=1)]


def read_table(path: Path, section: "DataSection", *, labelled: bool = True) -> DataTable:
    """Return the table of a .csv, .parquet or .npz file; points without labels have empty ones."""
    name, gaps = inert(path.name), section.missing == "median"
    if path.suffix.lower() == ".npz":
        if section.features is not None and labelled:
            raise InputError("data.features is for columns; an .npz file's array X is used whole.")
        table = _from_arrays(path, (section.target or "y") if labelled else None, section.id)
    else:
        file = open_columns(path)
        if section.target is None and labelled:
            raise InputError(
                f"data.target is missing: name the column of the labels in {name}, one of "
                f"{inert(', '.join(file.header), 200)}."
            )
        table = _from_columns(file, _choose(file.header, section, name), section)
    _check_table(table, name, labelled, gaps)
    texts: NDArray[Any] = table.y.astype(np.str_)  # now that it is sure to fit
    if labelled:
        texts = (_as_values if section.task == "regression" else _as_classes)(texts, name)
    return table._replace(y=texts)


def open_columns(path: Path) -> CsvFile | ParquetFile:
    """Return the columns of a .csv or .parquet file."""
    return CsvFile(path) if path.suffix.lower() == ".csv" else ParquetFile(path)


def _from_columns(
    file: CsvFile | ParquetFile, columns: list[str], section: "DataSection"
) -> DataTable:
    target, id_column, gaps = section.target, section.id, section.missing == "median"
    # A feature that is no column of the file stands for a text of one.
    split = [(c, None) if c in file.header else c.rsplit("=", 1) for c in columns]
    extra = [column for column in (target, id_column) if column is not None]
    wanted = dict.fromkeys([*(column for column, _ in split), *extra])
    advice = NEW_CELL if target is None else STUDY_CELL
    indicated = {column for column, text in split if text is not None}
    values, labels, ids, texts = array("d"), [], [], Counter[str]()
    for places, cells in file.batches(list(wanted)):
        for k, place in enumerate(places):
            values.extend(_number(cells[c][k], c, place, gaps, advice, t) for c, t in split)
            texts.update(f"{column}={_text(cells[column][k], MAX_LABEL)}" for column in indicated)
            labels.append("" if target is None else _label(cells[target][k], target, place))
            if id_column is not None:
                ids.append(_text(cells[id_column][k], MAX_ID))
    X = np.frombuffer(values, dtype=np.float64).reshape(len(labels), len(columns)).copy()
    blank = (f"{column}={text}" for column in indicated for text in BLANK)
    for known in (*columns, *blank):
        texts.pop(known, None)
    return DataTable(X, np.array(labels, dtype=object), columns, ids or None, texts)


def _from_arrays(path: Path, label: str | None, id_column: str | None) -> DataTable:
    """Return the same from an npz file with a 2-D array ``X`` and 1-D arrays beside it."""
    arrays, name = read_arrays(path), inert(path.name)
    for wanted in filter(None, ("X", label, id_column)):
        if wanted not in arrays:
            raise no_column(name, wanted, arrays, "array")
    X = arrays["X"]
    if X.ndim != 2 or X.shape[1] == 0 or X.dtype.kind not in "buif":
        raise InputError(
            f"{name}: X must be a 2-D array of real numbers, a row for each point and at least "
            f"one column, got shape {X.shape} of {X.dtype}."
        )
    if X.shape[1] > MAX_COLUMNS:
        raise too_large(name)

    def beside(column: str, what: str) -> NDArray[Any]:
        values = arrays[column]
        if values.shape != (len(X),) or values.dtype.kind not in "buifU":
            raise InputError(
                f"{name}: {inert(column)} must be 1-D with one {what} for each of the {len(X)} "
                f"rows of X, got shape {values.shape} of {values.dtype}."
            )
        return values

    ids, labels = None, [""] * len(X)
    if id_column is not None:
        ids = [_text(one, MAX_ID) for one in beside(id_column, "name")]
    if label is not None:
        given = enumerate(beside(label, "label"), 1)
        labels = [_label(one, label, f"{name}, row {k}") for k, one in given]
    columns = [f"X[{k}]" for k in range(X.shape[1])]
    return DataTable(X.astype(np.float64), np.array(labels, dtype=object), columns, ids)


def other_columns(path: Path, used: Sequence[str], first: Sequence[str], n_rows: int) -> Columns:
    """Return the columns of a file besides those that are used, as text.

    At most 20 are kept, those named ``first`` before others. A column that cannot be read as text,
    or has not ``n_rows`` of them, is left out; an .npz file's columns are its 1-D arrays.
    """
    is_npz = path.suffix.lower() == ".npz"
    found: Columns = {}
    try:
        file = None if is_npz else open_columns(path)
        arrays = read_arrays(path) if file is None else {}
        header = [name for name, one in arrays.items() if one.ndim == 1 and name != "X"]
        others = [name for name in (header if file is None else file.header) if name not in used]
        kept = sorted(others, key=lambda name: name not in first)[:MOST_KEPT]
        found = {name: [] for name in others if name in kept}
        for cells in [arrays] if file is None else (one for _, one in file.batches(list(found))):
            for name, column in found.items():
                column += map(_text, cells[name])
    except InputError:
        return {}
    return {name: cells for name, cells in found.items() if len(cells) == n_rows}


def _text(cell: Any, most: int | None = MAX_CHARACTERS) -> str:
    """Return a cell as text; empty where the cell is."""
    return "" if cell is None else str(cell).strip()[:most]


def no_column(name: str, column: str, known: Iterable[str], kind: str = "column") -> InputError:
    """Return the refusal of a column that a file does not have."""
    return InputError(
        f"{name} has no {kind} {inert(column)!r}.{did_you_mean(column, known)} It has: "
        f"{inert(', '.join(known), 200)}."
    )


def _choose(header: list[str], section: "DataSection", name: str) -> list[str]:
    """Return the columns of the features; refuse columns that the file does not have."""
    target, features = section.target, section.features
    if len(header) > MAX_COLUMNS:
        raise too_large(name)
    if len(set(header)) < len(header):
        twice = Counter(header).most_common(1)[0][0]
        raise InputError(f"{name} has the column {inert(twice)!r} twice; give each its own name.")
    named = [column for column in (target, section.id) if column is not None]
    for column in (*named, *(features or ())):
        source, sign, _ = column.rpartition("=")
        is_text = bool(sign) and column not in named
        if column not in header and not (is_text and source in header):
            raise no_column(name, source if is_text else column, header)
    if features is not None and target in features:
        raise InputError(f"data.features holds the target {inert(target)!r}; take it out.")
    chosen = list(features or [column for column in header if column not in named])
    if not chosen or len(set(chosen)) < len(chosen):
        raise InputError(f"{name}: data.features must name at least one column, each once.")
    return chosen


def _number(
    value: Any, column: str, where: str, gaps: bool, advice: tuple[str, str], text: str | None
) -> float:
    """Return a cell as a number, NaN where it is missing and may be; or name the bad cell.

    The ``advice`` is for a cell that is no number, and for an empty one. With a ``text``, 1 where
    the cell holds it and 0 elsewhere.
    """
    given = value.strip() if isinstance(value, str) else value
    number: float | None = math.nan
    if given is not None and given not in BLANK:
        if text is not None:
            return float(str(given) == text)
        try:
            number = read_number(given) if isinstance(given, str) else float(given)
        except (TypeError, ValueError, OverflowError):
            number = None
    if number is None:
        raise InputError(
            f"{where}: column {inert(column)!r} holds {inert(value)!r}, not a number. {advice[0]}."
        )
    if not math.isfinite(number) and not (gaps and math.isnan(number)):
        raise InputError(
            f"{where}: column {inert(column)!r} is empty, NaN or infinite; {advice[1]}."
        )
    return number


def _label(value: Any, column: str, where: str) -> str:
    """Return a label as text: what kind of labels these are is seen from all of them."""
    text = _text(value, None)
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


def _check_table(table: DataTable, name: str, labelled: bool, gaps: bool) -> None:
    """Refuse too few points, numbers beyond reason, and texts that take too much room."""
    X, labels, columns, ids, _ = table
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
