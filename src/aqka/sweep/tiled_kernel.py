"""A large exact fidelity kernel, tile by tile into a file: more points than memory would hold."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import as_count
from aqka._util.files import open_atomically
from aqka.backends.statevector import fidelities
from aqka.errors import InputError
from aqka.sweep.cells import run_cells
from aqka.sweep.store import Cell, Result, stable_name

if TYPE_CHECKING:
    from distributed import Client

TILE = 2000
"""Rows and columns of a tile: 32 MB in double precision."""
STATES, TILES = ".states.npy", ".tiles.jsonl"
"""Endings of the files beside the kernel: its states, and the list of finished tiles."""


def tiled_kernel(
    states: NDArray[np.complexfloating[Any, Any]],
    path: str | Path,
    *,
    dtype: Literal["float64", "float32"] = "float64",
    tile: int = TILE,
    workers: int | None = None,
    scheduler: "str | Client | None" = None,
    on_tile: Callable[[int, int], None] | None = None,
) -> NDArray[Any]:
    """Return the kernel |⟨φ_i|φ_j⟩|² of all states, kept in a .npy file that is mapped read-only.

    Parameters
    ----------
    states
        States, one per row, such as ``StatevectorBackend(X, feature_map).states()`` of any
        feature map, or ``aqka.backends.statevector.zz_states(X)``.
    path
        Where the kernel goes: a file ending in ``.npy``. Beside it stand the states and
        the list of finished tiles; with them, calling again after a crash only computes the
        tiles that are missing.
    dtype
        ``"float32"`` halves the file and is exact to about 1e-7.
    tile
        Rows and columns of a tile. A worker holds little more than two tiles.
    workers, scheduler
        As for :func:`aqka.sweep.cells.run_cells`; the workers of a cluster need the same file
        system.
    on_tile
        Called with the number of finished tiles and of all tiles.

    Examples
    --------
    >>> import tempfile
    >>> from aqka.backends.statevector import zz_states
    >>> states = zz_states(np.array([[0.1, 0.2], [1.0, 2.0]]))
    >>> tiled_kernel(states, tempfile.mkdtemp() + "/kernel.npy", workers=1).round(3)
    array([[1.   , 0.028],
           [0.028, 1.   ]])
    """
    target = Path(path).absolute()
    _check(states, target, dtype)
    width = as_count(tile, "tile")
    if target.exists():
        _check_same(target, states, dtype)
    else:
        _start(target, states, dtype)
    starts = range(0, len(states), width)
    cells: list[Cell] = [
        {"path": str(target), "tile": width, "row": row, "column": column}
        for row in starts
        for column in starts
        if column >= row
    ]
    finished = itertools.count(1)

    def count(cell: Cell, result: Result) -> None:
        if on_tile:
            on_tile(next(finished), len(cells))

    store = target.with_suffix(TILES)
    run_cells(write_tile, cells, store, workers=workers, scheduler=scheduler, on_cell=count)
    return np.asarray(np.load(target, mmap_mode="r"))


def _check(states: NDArray[Any], target: Path, dtype: str) -> None:
    """Refuse what is no kernel's file, states or precision."""
    if target.suffix != ".npy":
        raise InputError(f"path must end in .npy, got {str(target)!r}.")
    if states.ndim != 2 or states.dtype.kind != "c" or len(states) == 0:
        raise InputError(
            f"states must be complex, one state per row, got shape {states.shape} and dtype "
            f"{states.dtype}; for data X pass StatevectorBackend(X).states()."
        )
    if dtype not in ("float64", "float32"):
        raise InputError(f"dtype must be 'float64' or 'float32', got {dtype!r}.")


def _start(target: Path, states: NDArray[Any], dtype: str) -> None:
    """Write the states, then a kernel of zeros, which stands for a sweep that has begun."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.with_suffix(TILES).unlink(missing_ok=True)
    np.save(target.with_suffix(STATES), states)
    kind, shape = np.dtype(dtype), (len(states), len(states))
    header = {"descr": kind.str, "fortran_order": False, "shape": shape}
    with open_atomically(target) as stream:
        np.lib.format.write_array_header_1_0(stream, header)
        # Zeros that take no room on the disk until they are overwritten.
        stream.truncate(stream.tell() + kind.itemsize * len(states) ** 2)


def _check_same(target: Path, states: NDArray[Any], dtype: str) -> None:
    """Refuse a file that holds the kernel of other states, or in another precision."""
    source = target.with_suffix(STATES)
    if not source.exists() or not np.array_equal(np.load(source), states):
        raise InputError(f"path {str(target)!r} holds something else; name another file.")
    found = np.load(target, mmap_mode="r")
    if found.shape != (len(states), len(states)) or found.dtype != dtype:
        raise InputError(
            f"path {str(target)!r} holds a kernel of dtype {found.dtype}; name another file, or "
            "pass that dtype."
        )


@stable_name("aqka.tiles:write_tile")
def write_tile(cell: Cell) -> Result:
    """Compute one tile and write it and its mirror image; no two tiles share an entry."""
    target = Path(cell["path"])
    states = np.load(target.with_suffix(STATES), mmap_mode="r")
    rows = slice(cell["row"], min(cell["row"] + cell["tile"], len(states)))
    columns = slice(cell["column"], min(cell["column"] + cell["tile"], len(states)))
    block = fidelities(states[rows], None if rows == columns else states[columns])
    kernel = np.lib.format.open_memmap(target, mode="r+")
    kernel[rows, columns] = block
    kernel[columns, rows] = block.T
    kernel.flush()  # on the disk before the tile counts as done
    return {"mean": float(block.mean())}
