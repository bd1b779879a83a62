"""Reads the columns of CSV, Parquet and npz files from anyone: bounded, and never by pickle."""

import csv
import io
import math
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import MAX_CELLS, MAX_COLUMNS, MAX_FILE_BYTES, MAX_ROWS, MAX_UNPACKED_BYTES
from aqka._util.files import check_file, read_text
from aqka._util.optional import require
from aqka._util.text import inert
from aqka.errors import InputError

BATCH_ROWS = 2**14
BYTES_PER_CHARACTER = 4  # at most, in UTF-8
MAX_MEMBERS = 64
HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def too_large(name: str) -> InputError:
    """Return the refusal of a file that is too large to be read."""
    return InputError(
        f"{name} is too large: at most {MAX_ROWS:,} rows, {MAX_COLUMNS:,} columns, "
        f"{MAX_CELLS:,} cells and {MAX_FILE_BYTES // 2**20} MiB. A quantum kernel has a pair for "
        "every two points; take a sample of some hundred."
    )


Batch = tuple[list[str], dict[str, list[Any]]]
"""Some rows of a file: where each stands in it, and their cells by column."""


class CsvFile:
    """The columns of a CSV file with a header, separated by comma, semicolon or tab."""

    def __init__(self, path: Path) -> None:
        self._text = read_text(path, MAX_FILE_BYTES, "data file")
        self._name = inert(path.name)
        if "\0" in self._text:
            raise InputError(
                f"{self._name} holds NUL bytes, so it is not a CSV file; save it as UTF-8 text."
            )
        first = self._text.partition("\n")[0]
        if not first.strip():
            raise InputError(
                f"{self._name} is empty or has no header; the first line names the columns."
            )
        self._delimiter = max(",;\t", key=first.count)
        self.header = [cell.strip() for cell in next(self._rows())[0]]

    def _rows(self) -> Iterator[tuple[list[str], int]]:
        """Yield rows with their lines, the header first and without blank lines."""
        reader = csv.reader(io.StringIO(self._text, newline=""), delimiter=self._delimiter)
        try:
            for row in filter(None, reader):
                yield row, reader.line_num
        except csv.Error as error:
            raise InputError(
                f"{self._name}, line {reader.line_num} is not readable CSV: {error}. Is a quote "
                "left open?"
            ) from None

    def batches(self, wanted: Sequence[str]) -> Iterator[Batch]:
        """Yield the ``wanted`` columns, a row at a time."""
        position = {column: k for k, column in enumerate(self.header)}
        rows = self._rows()
        next(rows)
        for count, (row, line) in enumerate(rows, start=1):
            place = f"{self._name}, line {line}"
            if len(row) != len(self.header):
                raise InputError(
                    f"{place} has {len(row)} cells but the header has {len(self.header)}; every "
                    "line needs one per column."
                )
            if count > MAX_ROWS or count * len(wanted) > MAX_CELLS:
                raise too_large(self._name)
            yield [place], {name: [row[position[name]]] for name in wanted}


class ParquetFile:
    """The columns of a Parquet file."""

    def __init__(self, path: Path) -> None:
        self._path, self._name = path, inert(path.name)
        with _clear_errors(path) as parquet, parquet.ParquetFile(path, memory_map=False) as file:
            about = file.metadata
            groups = [about.row_group(k) for k in range(about.num_row_groups)]
            declared = sum(group.total_byte_size for group in groups)
            self._rows = int(max(about.num_rows, sum(group.num_rows for group in groups)))
            too_wide = about.num_columns > MAX_COLUMNS
            if self._rows > MAX_ROWS or too_wide or declared > MAX_UNPACKED_BYTES:
                raise too_large(self._name)  # before anything is unpacked
            self._schema = file.schema_arrow
            self.header = [str(column) for column in self._schema.names]

    def batches(self, wanted: Sequence[str]) -> Iterator[Batch]:
        """Yield the ``wanted`` columns, some rows at a time."""
        if not wanted:
            return
        name, rows = self._name, self._rows
        if rows * len(wanted) > MAX_CELLS:
            raise too_large(name)
        with _clear_errors(self._path) as parquet:
            types = {column: self._schema.field(column).type for column in wanted}
            texts = [column for column, kind in types.items() if _is_text(kind, column, rows, name)]
            # A text that stands once in the file for a million rows also stands once in memory.
            with parquet.ParquetFile(self._path, memory_map=False, read_dictionary=texts) as file:
                first = 1
                for batch in file.iter_batches(BATCH_ROWS, columns=wanted, use_threads=False):
                    cells = {
                        column: _cells(batch.column(k), rows, name)
                        for k, column in enumerate(batch.schema.names)
                    }
                    places = [f"{name}, row {first + k}" for k in range(len(batch))]
                    first += len(batch)
                    yield places, cells


@contextmanager
def _clear_errors(path: Path) -> Iterator[Any]:
    """Give pyarrow's reader, and turn what it says of a bad file into one clear error."""
    require("pyarrow", "parquet")
    parquet = require("pyarrow.parquet", "parquet")
    check_file(path, MAX_FILE_BYTES, "data file")
    try:
        yield parquet
    except InputError:
        raise
    except Exception as error:  # pyarrow raises many kinds, and the file may be anyone's
        name = inert(path.name)
        raise InputError(f"{name} is not a readable Parquet file: {inert(error, 100)}.") from None


def _is_text(kind: Any, column: str, rows: int, name: str) -> bool:
    """Return whether cells of a type are texts of any length; refuse those that are no cells."""
    from pyarrow import types

    if types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind):
        return True
    if types.is_dictionary(kind) and _is_text(kind.value_type, column, rows, name):
        return True
    plain = "integer floating boolean decimal temporal null fixed_size_binary dictionary"
    if not any(getattr(types, f"is_{name}")(kind) for name in plain.split()):
        raise InputError(
            f"{name}: column {inert(column)!r} holds {inert(kind)}, not a number or a text a row. "
            "List the columns to use in data.features, or save this one as plain cells."
        )
    if types.is_fixed_size_binary(kind) and rows * kind.byte_width > MAX_UNPACKED_BYTES:
        raise too_large(name)
    return False


def _cells(column: Any, rows: int, name: str) -> list[Any]:
    """Return a column of a batch, once it is sure that its texts would fit for all rows."""
    from pyarrow import compute, types

    if types.is_dictionary(column.type):
        longest = compute.max(compute.binary_length(column.dictionary)).as_py() or 0
        if rows * longest > BYTES_PER_CHARACTER * MAX_CELLS:
            raise too_large(name)
        column = column.dictionary_decode()
    cells: list[Any] = column.to_pylist()
    return cells


def as_npz(arrays: dict[str, Any]) -> bytes:
    """Return arrays as the bytes of an npz file; lists are texts, also where they are empty."""
    stream = io.BytesIO()
    texts = {k: np.array(v, dtype=np.str_) for k, v in arrays.items() if isinstance(v, list)}
    np.savez_compressed(stream, **(arrays | texts))
    return stream.getvalue()


def read_arrays(path: Path, what: str = "npz file") -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz; sizes are checked before data are read, pickle is refused."""
    check_file(path, MAX_FILE_BYTES, what)
    name = inert(path.name)
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            unpacked = sum(member.file_size for member in members)
            if len(members) > MAX_MEMBERS or unpacked > MAX_UNPACKED_BYTES:
                raise too_large(name)
            found = {}
            for member in members:
                with archive.open(member) as stream:
                    array = _array(stream, member.file_size, name)
                found[member.filename.removesuffix(".npy")] = array
            return found
    except InputError:
        raise
    except Exception as error:  # zipfile, its codecs and numpy raise many kinds
        writer = "numpy.savez" if what == "npz file" else "aqka export-model"
        raise InputError(
            f"{name} is not a readable {what}: {inert(error, 100)}. Write it with {writer}; "
            "arrays of objects are never loaded."
        ) from None


def _array(stream: IO[bytes], size: int, name: str) -> NDArray[Any]:
    """Read one array after checking that its header declares what the archive holds."""
    shape, fortran, dtype = HEADER_READERS[np.lib.format.read_magic(stream)](stream)
    if dtype.hasobject:
        raise ValueError("an array holds Python objects")
    count = math.prod(shape)
    # An array without a single number can still have a billion rows, which others would count.
    if max(shape, default=0) > MAX_ROWS or count * max(8, dtype.itemsize) > 8 * MAX_CELLS:
        raise too_large(name)
    if min(shape, default=0) < 0 or stream.tell() + count * dtype.itemsize != size:
        raise ValueError("an array's header does not match its length")
    flat = np.frombuffer(stream.read(), dtype=dtype, count=count)
    if flat.dtype.kind == "U" and flat.size and flat.dtype.itemsize:
        codes = flat.view(flat.dtype.byteorder.replace("=", "") + "u4")
        if codes.max() > 0x10FFFF:  # numpy cannot even show such a text
            raise ValueError(f"a text holds the code {int(codes.max()):#x}, which is no character")
    return flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)
