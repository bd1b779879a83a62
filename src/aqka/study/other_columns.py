"""Columns of a file that no circuit sees: names of points, and labels to score predictions by."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from aqka._util.arrays import MAX_CELLS, MAX_FILE_BYTES
from aqka._util.files import read_text
from aqka.errors import InputError
from aqka.study.npz_files import read_arrays
from aqka.study.parquet_files import column_batches, read_header
from aqka.study.table_files import csv_delimiter

MOST_KEPT = 20  # columns
MAX_CHARACTERS = 200  # of a cell that is kept

Columns = dict[str, list[str]]


def other_columns(path: Path, used: Sequence[str], first: Sequence[str], n_rows: int) -> Columns:
    """Return the columns of a file besides those that are used, as text.

    Parameters
    ----------
    path
        A .csv, .parquet or .npz file that was read before; of an .npz, its one-dimensional
        arrays. A column that cannot be read as text is left out.
    used
        Columns that are known already.
    first
        Columns that must be among the at most 20 that are kept, where the file has them.
    n_rows
        Points of the file: a column of another length is none of theirs.
    """
    reader = {".csv": _of_csv, ".parquet": _of_parquet, ".npz": _of_npz}[path.suffix.lower()]
    try:
        found = reader(path, used, first)
    except InputError:
        return {}
    return {name: cells for name, cells in found.items() if len(cells) == n_rows}


def _chosen(header: Iterable[str], used: Sequence[str], first: Sequence[str]) -> list[str]:
    others = [name for name in header if name not in used]
    kept = sorted(others, key=lambda name: name not in first)[:MOST_KEPT]
    return [name for name in others if name in kept]


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()[:MAX_CHARACTERS]


def _of_csv(path: Path, used: Sequence[str], first: Sequence[str]) -> Columns:
    text = read_text(path, MAX_FILE_BYTES, "data file")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=csv_delimiter(text, path.name))
    header = [cell.strip() for cell in next(reader)]
    places = {name: header.index(name) for name in _chosen(header, used, first)}
    rows = [row for row in reader if row]  # without blank lines
    if len(rows) * len(places) > MAX_CELLS:
        return {}
    return {name: [_text(row[k]) for row in rows] for name, k in places.items()}


def _of_parquet(path: Path, used: Sequence[str], first: Sequence[str]) -> Columns:
    names = _chosen(read_header(path), used, first)
    found: Columns = {name: [] for name in names}
    for batch in column_batches(path, names) if names else ():
        for name in names:
            found[name] += [_text(cell) for cell in batch[name]]
    return found


def _of_npz(path: Path, used: Sequence[str], first: Sequence[str]) -> Columns:
    arrays = read_arrays(path)
    flat = {name: values for name, values in arrays.items() if values.ndim == 1}
    names = _chosen(flat, [*used, "X"], first)
    return {name: [_text(cell) for cell in flat[name].tolist()] for name in names}
