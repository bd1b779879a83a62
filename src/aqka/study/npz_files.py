"""Reads the arrays of an npz file from anyone: sizes first, never pickle."""

import math
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import MAX_CELLS, MAX_FILE_BYTES, MAX_ROWS, MAX_UNPACKED_BYTES
from aqka._util.files import check_file
from aqka._util.text import inert
from aqka.errors import InputError
from aqka.study.table_size import too_large

MAX_MEMBERS = 64
HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class _TooLargeError(Exception):
    """An array declares more than any table may have."""


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz; sizes are checked before data are read, pickle is refused."""
    check_file(path, MAX_FILE_BYTES, "npz file")
    name = inert(path.name)
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            unpacked = sum(member.file_size for member in members)
            if len(members) > MAX_MEMBERS or unpacked > MAX_UNPACKED_BYTES:
                raise _TooLargeError
            found = {}
            for member in members:
                with archive.open(member) as stream:
                    found[member.filename.removesuffix(".npy")] = _array(stream, member.file_size)
            return found
    except _TooLargeError:
        raise too_large(name) from None
    except Exception as error:  # zipfile, its codecs and numpy raise many kinds
        raise InputError(
            f"{name} is not a readable npz file: {inert(error, 100)}. Write it with numpy.savez; "
            "arrays of objects are never loaded."
        ) from None


def _array(stream: IO[bytes], size: int) -> NDArray[Any]:
    """Read one array after checking that its header declares what the archive holds."""
    shape, fortran, dtype = HEADER_READERS[np.lib.format.read_magic(stream)](stream)
    if dtype.hasobject:
        raise ValueError("an array holds Python objects")
    count = math.prod(shape)
    # An array without a single number can still have a billion rows, which others would count.
    if max(shape, default=0) > MAX_ROWS or count * max(8, dtype.itemsize) > 8 * MAX_CELLS:
        raise _TooLargeError
    if min(shape, default=0) < 0 or stream.tell() + count * dtype.itemsize != size:
        raise ValueError("an array's header does not match its length")
    flat = np.frombuffer(stream.read(), dtype=dtype, count=count)
    _check_characters(flat)
    return flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)


def _check_characters(texts: NDArray[Any]) -> None:
    """Refuse texts with numbers that stand for no character, which numpy cannot even show."""
    if texts.dtype.kind == "U" and texts.size and texts.dtype.itemsize:
        codes = texts.view(texts.dtype.byteorder.replace("=", "") + "u4")
        if codes.max() > 0x10FFFF:
            raise ValueError(f"a text holds the code {int(codes.max()):#x}, which is no character")
