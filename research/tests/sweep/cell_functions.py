"""Functions of cells that worker processes of the tests import."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import eigh

Cell = dict[str, Any]


def cells(count: int, **settings: object) -> list[Cell]:
    """So many cells that differ by their seed."""
    return [{"seed": seed, **settings} for seed in range(count)]


def spectrum(cell: Cell) -> Cell:
    """Linear algebra whose last bits show how many threads or which order computed it."""
    rng = np.random.default_rng(cell["seed"])
    matrix = rng.normal(size=(120, 120))
    values, vectors = eigh(matrix + matrix.T)
    product = vectors @ matrix
    return {
        "seed": cell["seed"],
        "values": values[:5],
        "sum": product.sum(),
        "nan": float("nan"),
        "inf": np.inf,
    }


def slow_spectrum(cell: Cell) -> Cell:
    """The same after a pause, so that a test can strike in between."""
    time.sleep(cell["pause"])
    return spectrum(cell)


def gated_spectrum(cell: Cell) -> Cell:
    """The same, but from the fifth cell on not before the file ``gate`` is gone."""
    while cell["seed"] >= 4 and Path(cell["gate"]).exists():
        time.sleep(0.01)
    return spectrum(cell)


def counted(cell: Cell) -> Cell:
    """Leave a trace of every call in a directory."""
    traces = Path(cell["traces"])
    (traces / f"{cell['seed']}-{os.getpid()}-{time.monotonic_ns()}").touch()
    time.sleep(cell.get("pause", 0))
    return {"square": cell["seed"] ** 2}


def dies_once(cell: Cell) -> Cell:
    """Kill the own process the first time the fatal cell is measured."""
    mark = Path(cell["mark"])
    if cell["seed"] == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return spectrum(cell)


def always_dies(cell: Cell) -> Cell:
    """Kill the own process on the fatal cell, always."""
    if cell["seed"] == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"seed": cell["seed"]}


def fails(cell: Cell) -> Cell:
    """Raise on one cell."""
    return {"inverse": 1 / (cell["seed"] - 3)}


def threads(cell: Cell) -> Cell:
    """Report how many BLAS threads a worker may use."""
    from threadpoolctl import threadpool_info

    return {"threads": [library["num_threads"] for library in threadpool_info()]}
