"""Runs many independent cells on all cores or on a cluster, and survives being stopped.

A cell is a dict of settings; a function turns it into a dict of numbers. Nothing else goes in or
comes out, so the results are the same bits whatever the number of workers, and a stopped sweep
goes on where it was.
"""

import importlib
import json
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqka._util.arrays import as_count
from aqka.errors import InputError
from aqka_research.sweep.store import Cell, Result, Store, cell_key, entries, to_json, versions
from aqka_research.sweep.workers import CellOutcome, in_this_process, on_cluster, on_local_cores

if TYPE_CHECKING:
    from distributed import Client

OnCell = Callable[[Cell, Result], None]
RunCells = Callable[[Callable[[Cell], Result], Sequence[Cell]], list[Result]]
"""What :func:`run_cells` is once it is known where and how."""


def run_cells(
    function: Callable[[Cell], Result],
    cells: Sequence[Cell],
    store: str | Path | None = None,
    *,
    workers: int | None = None,
    scheduler: "str | Client | None" = None,
    on_cell: OnCell | None = None,
) -> list[Result]:
    """Return the result of every cell, in the order of the cells.

    Parameters
    ----------
    function
        An importable function of a module. All its randomness must come from the cell.
    cells
        Settings, made of numbers, texts, lists and dicts; a random cell holds its ``seed``.
        Equal cells are computed once.
    store
        A JSON-lines file to keep results in. Finished cells found there are not run again, so
        calling again after a crash, a kill or Ctrl-C goes on where it stopped. Results of other
        versions of aqka, numpy, scipy or Python are computed again.
    workers
        Processes to use, each with one BLAS thread; None takes all cores, 1 this process.
    scheduler
        A Dask scheduler's address such as ``"tcp://node:8786"``, or a ``distributed.Client``
        (for example one of dask-jobqueue); its workers need the same versions.
    on_cell
        Called with every cell and its result as they become known, stored ones first.

    Notes
    -----
    A script whose own function is run needs ``if __name__ == "__main__":`` around the call, as
    every program that starts processes. A worker that dies is replaced and its cells are run
    again; a cell that three workers die on stops the sweep.

    Examples
    --------
    The plainest function returns its cell:

    >>> run_cells(dict, [{"seed": 2}, {"seed": 1}], workers=1)
    [{'seed': 2}, {'seed': 1}]
    """
    name = _importable_name(function)
    keys = [cell_key(name, cell) for cell in cells]
    results: dict[str, Result] = {}
    waiting: dict[str, Cell] = {}

    def keep(key: str, cell: Cell, result: Result) -> None:
        if key not in results and on_cell:
            on_cell(cell, result)
        results[key] = result

    with nullcontext() if store is None else Store(Path(store)) as kept:
        for key, cell in zip(keys, cells, strict=True):
            found = kept.find(key) if kept else None
            if found is None:
                waiting[key] = cell
            else:
                keep(key, cell, found)
        # Closed at once if anything goes wrong, so that no worker outlives the error.
        with closing(_outcomes(function, waiting, workers, scheduler)) as outcomes:
            for key, outcome in outcomes:
                result = _as_read_back(outcome)
                if kept:
                    seconds = (outcome.seconds, outcome.cpu_seconds)
                    kept.add(key, name, waiting[key], result, seconds)
                keep(key, waiting[key], result)
    return [results[key] for key in keys]


def _as_read_back(outcome: CellOutcome) -> Result:
    """Return a fresh result through JSON, so that it is the same object as one read back."""
    if outcome.versions != versions():
        raise InputError(
            f"a worker has {outcome.versions} but this process {versions()}; "
            "install the same versions on both."
        )
    result: Result = json.loads(to_json(outcome.result))
    return result


def finished_cells(
    function: Callable[[Cell], Result], cells: Sequence[Cell], store: str | Path
) -> list[Cell]:
    """Return the cells whose results the store has."""
    name = _importable_name(function)
    kept = {entry["key"] for entry in entries(Path(store))}
    return [cell for cell in cells if cell_key(name, cell) in kept]


def cell_seconds(
    function: Callable[[Cell], Result], cells: Sequence[Cell], store: str | Path
) -> list[float]:
    """Return the processor time of each cell, as the store says.

    Times stand beside the results and not in them, for no two runs have the same.
    """
    name = _importable_name(function)
    seconds = {entry["key"]: float(entry["cpu_seconds"]) for entry in entries(Path(store))}
    return [seconds[cell_key(name, cell)] for cell in cells]


def _outcomes(
    function: Callable[[Cell], Result],
    waiting: dict[str, Cell],
    workers: int | None,
    scheduler: "str | Client | None",
) -> Generator[tuple[str, CellOutcome]]:
    if scheduler is not None and workers is not None:
        raise InputError("workers is for this machine; with a scheduler, the cluster decides.")
    if scheduler is not None and waiting:
        return on_cluster(function, waiting, scheduler)
    count = _cores() if workers is None else as_count(workers, "workers")
    count = min(count, len(waiting))
    if count <= 1:
        return in_this_process(function, waiting)
    return on_local_cores(function, waiting, count)


def _cores() -> int:
    """Return the cores this process may use; not every system can tell them from all cores."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _importable_name(function: Callable[..., Any]) -> str:
    """Return the name of a function that another process can import: its stable name if it has
    one (:func:`~aqka_research.sweep.store.stable_name`), else ``module:name``."""
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", "")
    found = getattr(importlib.import_module(module), name, None) if module else None
    if found is not function:
        raise InputError(
            f"function must be defined at the top level of a module, got {function!r}; "
            "a worker process imports it by name."
        )
    return str(getattr(function, "stable_name", f"{module}:{name}"))
