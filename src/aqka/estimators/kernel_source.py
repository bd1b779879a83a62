"""Where an estimator's kernel comes from: a backend for each data set, or what there is already."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka.backends.factory import STATEVECTOR
from aqka.core.pairs import PairTable
from aqka.errors import InputError
from aqka.sessions.acquisition import Acquisition

PRECOMPUTED = "precomputed"


Measured = PairTable | Acquisition | str | Path


def as_measured(backend: Any) -> PairTable:
    """Return the counts of a finished run: its table, session or directory."""
    if isinstance(backend, PairTable):
        return backend
    if isinstance(backend, Acquisition):
        return backend.table
    if isinstance(backend, str | Path) and Path(backend).exists():
        from aqka.runs.export import table_of
        from aqka.runs.ledger import LEDGER_NAME

        path = Path(backend)
        return table_of(path / LEDGER_NAME if path.is_dir() else path).table
    raise InputError(
        f"backend must be {STATEVECTOR!r}, {PRECOMPUTED!r}, a BackendFactory, or a finished run "
        f"(its directory, session or PairTable); got {backend!r}."
    )


def as_points(X: NDArray[Any], n_points: int) -> NDArray[np.int64]:
    """Return a column of point numbers, which is what X is where a finished run is the kernel."""
    points = np.asarray(X)
    if points.ndim != 2 or points.shape[1] != 1 or np.any(points != np.rint(points)):
        raise InputError(
            "X must be one column of point numbers where backend is a finished run, such as "
            f"numpy.arange({n_points}).reshape(-1, 1); got shape {points.shape}."
        )
    if points.size and (points.min() < 0 or points.max() >= n_points):
        raise InputError(
            f"X must name points 0 to {n_points - 1} of the run, got {points.min()} to "
            f"{points.max()}."
        )
    return points[:, 0].astype(np.int64)
