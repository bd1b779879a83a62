"""States of very many points, fitted on all cores or a cluster, with files instead of memory."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.points import PointTable
from aqka.estimates.states import FittedStates, fit_states
from aqka.sweep.cells import run_cells
from aqka.sweep.store import Cell, Result, stable_name

if TYPE_CHECKING:
    from distributed import Client

POINTS_PER_CELL = 2000
"""About four seconds of work at four qubits in 32 settings."""
COLUMNS = ("settings", "shots", "cells", "outcomes", "counts")
VECTORS, LIKELIHOOD, CONVERGED = "vectors.npy", "log_likelihood.npy", "converged.npy"


def fit_states_on_all_cores(
    table: PointTable,
    directory: str | Path,
    rank: int = 1,
    confusion: FloatArray | None = None,
    *,
    workers: int | None = None,
    scheduler: "str | Client | None" = None,
) -> FittedStates:
    """Return the states of all points, as :func:`~aqka.estimates.states.fit_states` finds them.

    Parameters
    ----------
    table
        The counts. Every point must have some.
    directory
        Where counts and states are kept while they are fitted. Calling again after a crash with
        the same counts only fits the points that are missing; with other counts it begins anew.
    rank, confusion
        As for :func:`~aqka.estimates.states.fit_states`.
    workers, scheduler
        As for :func:`aqka.sweep.cells.run_cells`; the workers of a cluster need the same file
        system.
    """
    folder = Path(directory).absolute()
    name = _digest(table, rank, confusion)
    if not (folder / f"{name}.begun").exists():
        _begin(folder, name, table, rank)
    errors = None if confusion is None else np.asarray(confusion, dtype=np.float64).tolist()
    same = {"directory": str(folder), "table": name, "rank": rank, "confusion": errors}
    cells: list[Cell] = [
        {**same, "first": first, "end": min(first + POINTS_PER_CELL, table.n_points)}
        for first in range(0, table.n_points, POINTS_PER_CELL)
    ]
    run_cells(fit_cell, cells, folder / "fits.jsonl", workers=workers, scheduler=scheduler)
    # Read, not mapped: the next fit in the directory must not change these states.
    vectors, likelihood, converged = (
        np.load(folder / file) for file in (VECTORS, LIKELIHOOD, CONVERGED)
    )
    return FittedStates(vectors, likelihood, converged, confusion)


def _digest(table: PointTable, rank: int, confusion: FloatArray | None) -> str:
    """Return what tells one table and fit from another."""
    content = hashlib.sha256(f"{rank} {table.n_points}".encode())
    for column in COLUMNS:
        content.update(np.ascontiguousarray(getattr(table, column)).data)
    if confusion is not None:
        content.update(np.ascontiguousarray(confusion, dtype=np.float64).data)
    return content.hexdigest()[:16]


def _begin(folder: Path, name: str, table: PointTable, rank: int) -> None:
    """Write the counts and empty results, and last the file that says that both are there."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in [*folder.glob("*.begun"), folder / "fits.jsonl"]:
        old.unlink(missing_ok=True)
    for column in COLUMNS:
        np.save(folder / f"{column}.npy", getattr(table, column))
    shape = (rank, table.n_points, 2**table.n_qubits)
    for file, dtype, size in (
        (VECTORS, np.complex128, shape),
        (LIKELIHOOD, np.float64, shape[1:2]),
        (CONVERGED, np.bool_, shape[1:2]),
    ):
        np.lib.format.open_memmap(folder / file, mode="w+", dtype=dtype, shape=size)
    (folder / f"{name}.begun").touch()


@stable_name("aqka.state_fits:fit_cell")
def fit_cell(cell: Cell) -> Result:
    """Fit the states of some points and write them; no two cells share a point."""
    folder, points = Path(cell["directory"]), np.arange(cell["first"], cell["end"])
    columns = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in COLUMNS}
    table = PointTable(len(columns["shots"]), columns["settings"])
    for name in COLUMNS[1:]:
        setattr(table, name, columns[name])
    errors = None if cell["confusion"] is None else np.array(cell["confusion"])
    fitted = fit_states(table.subset(points), int(cell["rank"]), confusion=errors)
    for file, values in (
        (VECTORS, fitted.vectors),
        (LIKELIHOOD, fitted.log_likelihood),
        (CONVERGED, fitted.converged),
    ):
        target = np.lib.format.open_memmap(folder / file, mode="r+")
        if values.ndim == 3:
            target[:, points] = values
        else:
            target[points] = values
        target.flush()  # on the disk before the cell counts as done
    return {"converged": int(fitted.converged.sum())}
