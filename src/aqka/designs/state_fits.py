"""States of very many points, fitted on all cores or a cluster, with files instead of memory."""

import hashlib
import multiprocessing
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.points import PointTable
from aqka.estimates.readout import as_confusion
from aqka.estimates.states import FittedStates, batch_size, check_measured, fit_states
from aqka.maths.product_bases import ComplexArray
from aqka.sweep.cells import run_cells
from aqka.sweep.store import Cell, Result, stable_name

if TYPE_CHECKING:
    from distributed import Client

CELL_AMPLITUDES = 2**20
"""2,048 points of four qubits in 32 settings, about a second of work."""
MANY_AMPLITUDES = 16 * CELL_AMPLITUDES
"""32,768 such points, 1,365 of eight qubits; below, processes start longer than they save."""
COLUMNS = ("settings", "shots", "cells", "outcomes", "counts")
VECTORS, LIKELIHOOD, CONVERGED = "vectors.npy", "log_likelihood.npy", "converged.npy"
START = "start.npy"


@dataclass(frozen=True)
class StateFits:
    """Where states are fitted: a few points here, very many on all cores or a cluster.

    Called as ``aqka.estimates.states.fit_states`` is, and finds the same states bit for bit.

    Attributes
    ----------
    workers, scheduler
        As for :func:`aqka.sweep.cells.run_cells`. With a scheduler all states are fitted on its
        cluster; of a client the address is better, since a head can then be pickled.
    directory
        For counts and states while they are fitted: a folder that the workers of a cluster see
        under the same name. A temporary one by default.
    """

    workers: int | None = None
    scheduler: "str | Client | None" = None
    directory: str | Path | None = None

    def __call__(
        self,
        table: PointTable,
        rank: int = 1,
        start: FittedStates | None = None,
        confusion: FloatArray | None = None,
    ) -> FittedStates:
        """Return the states of all points."""
        if self.scheduler is None and not _worth_processes(table, rank):
            return fit_states(table, rank, start, confusion)
        if self.directory is not None:
            Path(self.directory).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="aqka-states-", dir=self.directory) as folder:
            return fit_states_on_all_cores(
                *(table, folder, rank, start, confusion),
                workers=self.workers,
                scheduler=self.scheduler,
            )


def _worth_processes(table: PointTable, rank: int) -> bool:
    """Return whether there is work for several processes, and this is not one of them itself."""
    amplitudes = rank * table.n_points * table.n_settings * 2**table.n_qubits
    return amplitudes >= MANY_AMPLITUDES and multiprocessing.parent_process() is None


def fit_states_on_all_cores(
    table: PointTable,
    directory: str | Path,
    rank: int = 1,
    start: FittedStates | None = None,
    confusion: FloatArray | None = None,
    *,
    workers: int | None = None,
    scheduler: "str | Client | None" = None,
) -> FittedStates:
    """Return the states of all points, bit for bit as ``aqka.estimates.states.fit_states`` does.

    Parameters
    ----------
    table
        The counts. Every point must have some.
    directory
        Where counts and states are kept while they are fitted. Calling again after a crash with
        the same counts only fits the points that are missing; with other counts it begins anew.
    rank, start, confusion
        As for ``aqka.estimates.states.fit_states``.
    workers, scheduler
        As for :func:`aqka.sweep.cells.run_cells`; the workers of a cluster need the same file
        system.
    """
    check_measured(table)
    folder = Path(directory).absolute()
    given = None if start is None else start.vectors
    if confusion is not None:
        confusion = as_confusion(confusion, table.n_qubits)
    name = _digest(table, rank, given, confusion)
    if not (folder / f"{name}.begun").exists():
        _begin(folder, name, table, rank, given)
    errors = None if confusion is None else confusion.tolist()
    same = {"directory": str(folder), "table": name, "rank": rank, "confusion": errors}
    if given is not None:
        same["started"] = True
    size = _points_per_cell(table, rank)
    cells: list[Cell] = [
        {**same, "first": first, "end": min(first + size, table.n_points)}
        for first in range(0, table.n_points, size)
    ]
    run_cells(fit_cell, cells, folder / "fits.jsonl", workers=workers, scheduler=scheduler)
    # Read, not mapped: the next fit in the directory must not change these states.
    vectors, likelihood, converged = (
        np.load(folder / file) for file in (VECTORS, LIKELIHOOD, CONVERGED)
    )
    return FittedStates(vectors, likelihood, converged, confusion)


def _points_per_cell(table: PointTable, rank: int) -> int:
    """Return the points of a cell: whole batches of the fit, so that no batch is cut in two."""
    batch, amplitudes = batch_size(table, rank), rank * table.n_settings * 2**table.n_qubits
    return batch * max(1, int(CELL_AMPLITUDES // (batch * amplitudes)))


def _digest(
    table: PointTable, rank: int, start: ComplexArray | None, confusion: FloatArray | None
) -> str:
    """Return what tells one table and fit from another."""
    content = hashlib.sha256(f"{rank} {table.n_points}".encode())
    for column in COLUMNS:
        content.update(np.ascontiguousarray(getattr(table, column)).data)
    for more in (start, confusion):
        content.update(b"none" if more is None else np.ascontiguousarray(more).data)
    return content.hexdigest()[:16]


def _begin(
    folder: Path, name: str, table: PointTable, rank: int, start: ComplexArray | None
) -> None:
    """Write the counts and empty results, and last the file that says that both are there."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in [*folder.glob("*.begun"), folder / "fits.jsonl"]:
        old.unlink(missing_ok=True)
    for column in COLUMNS:
        np.save(folder / f"{column}.npy", getattr(table, column))
    if start is not None:
        np.save(folder / START, start)
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
    start = None
    if "started" in cell:
        start = FittedStates.given(np.load(folder / START, mmap_mode="r")[:, points])
    fitted = fit_states(table.subset(points), int(cell["rank"]), start, errors)
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
