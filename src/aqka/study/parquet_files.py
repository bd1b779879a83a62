"""Reads columns of a Parquet file from anyone, some rows at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aqka._util.arrays import MAX_CELLS, MAX_COLUMNS, MAX_FILE_BYTES, MAX_ROWS, MAX_UNPACKED_BYTES
from aqka._util.files import check_file
from aqka._util.text import inert
from aqka.errors import InputError
from aqka.study.table_size import too_large

BATCH_ROWS = 2**14
BYTES_PER_CHARACTER = 4  # at most, in UTF-8


def read_header(path: Path) -> list[str]:
    """Return the names of the columns."""
    with _clear_errors(path) as parquet, parquet.ParquetFile(path, memory_map=False) as file:
        _declared_rows(file.metadata, inert(path.name))
        return [str(column) for column in file.schema_arrow.names]


def column_batches(path: Path, wanted: list[str]) -> Iterator[dict[str, list[Any]]]:
    """Yield the ``wanted`` columns as lists, some rows at a time."""
    name = inert(path.name)
    with _clear_errors(path) as parquet:
        with parquet.ParquetFile(path, memory_map=False) as file:
            rows = _declared_rows(file.metadata, name)
            types = {column: file.schema_arrow.field(column).type for column in wanted}
        if rows * len(wanted) > MAX_CELLS:
            raise too_large(name)
        texts = [column for column, kind in types.items() if _is_text(kind, column, rows, name)]
        # A text that stands once in the file for a million rows also stands once in memory.
        with parquet.ParquetFile(path, memory_map=False, read_dictionary=texts) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=wanted, use_threads=False):
                yield {
                    column: _cells(batch.column(k), rows, name)
                    for k, column in enumerate(batch.schema.names)
                }


@contextmanager
def _clear_errors(path: Path) -> Iterator[Any]:
    """Give pyarrow's reader, and turn what it says of a bad file into one clear error."""
    parquet = _parquet_reader()
    check_file(path, MAX_FILE_BYTES, "data file")
    try:
        yield parquet
    except InputError:
        raise
    except Exception as error:  # pyarrow raises many kinds, and the file may be anyone's
        name = inert(path.name)
        raise InputError(f"{name} is not a readable Parquet file: {inert(error, 100)}.") from None


def _parquet_reader() -> Any:
    """Return pyarrow's reader, or say how to get it."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise InputError(
            "a .parquet file needs pyarrow: pip install 'aqka[parquet]', or save it as CSV."
        ) from error
    return parquet


def _declared_rows(about: Any, name: str) -> int:
    """Return the rows of a file; refuse one that says it unpacks to too much, before it does."""
    groups = [about.row_group(k) for k in range(about.num_row_groups)]
    declared = sum(group.total_byte_size for group in groups)
    rows = max(about.num_rows, sum(group.num_rows for group in groups))
    if rows > MAX_ROWS or about.num_columns > MAX_COLUMNS or declared > MAX_UNPACKED_BYTES:
        raise too_large(name)
    return int(rows)


def _is_text(kind: Any, column: str, rows: int, name: str) -> bool:
    """Return whether cells of a type are texts of any length; refuse those that are no cells."""
    from pyarrow import types

    if types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind):
        return True
    if types.is_dictionary(kind) and _is_text(kind.value_type, column, rows, name):
        return True
    plain = (
        *(types.is_integer, types.is_floating, types.is_boolean, types.is_decimal),
        *(types.is_temporal, types.is_null, types.is_fixed_size_binary, types.is_dictionary),
    )
    if not any(is_one(kind) for is_one in plain):
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
