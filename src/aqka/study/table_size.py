"""The words for a table that is too large to be read."""

from aqka._util.arrays import MAX_CELLS, MAX_COLUMNS, MAX_FILE_BYTES, MAX_ROWS
from aqka.errors import InputError


def too_large(name: str) -> InputError:
    """Return the refusal of a file by its name."""
    return InputError(
        f"{name} is too large: at most {MAX_ROWS:,} rows, {MAX_COLUMNS:,} columns, "
        f"{MAX_CELLS:,} cells and {MAX_FILE_BYTES // 2**20} MiB. A quantum kernel has a pair for "
        "every two points; take a sample of some hundred."
    )
