"""Where an estimator's kernel comes from: a backend for each data set, or what there is already."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka.backends import Backend, StatevectorBackend
from aqka.core.pairs import PairTable
from aqka.errors import InputError
from aqka.sessions.acquisition import Acquisition

PRECOMPUTED = "precomputed"
STATEVECTOR = "statevector"


class BackendFactory:
    """Makes a backend for each data set an estimator meets, with options that stay the same.

    Copies of it are itself: cloning an estimator copies no device and opens no second session.

    Parameters
    ----------
    backend_class
        A backend that takes ``X``, ``feature_map``, ``columns`` and ``seed``.
    **options
        Whatever else it takes, such as a device or a noise model.

    Examples
    --------
    >>> factory = BackendFactory(StatevectorBackend)
    >>> factory([[0.1], [0.2]], None, columns=None, seed=0).shape
    (2, 2)
    """

    def __init__(self, backend_class: Any, **options: Any) -> None:
        if not callable(backend_class):
            raise InputError(
                f"backend_class must be a backend's class, got {type(backend_class).__name__}."
            )
        taken = sorted({"X", "columns", "seed"} & set(options))
        if taken:
            raise InputError(f"options must not hold {', '.join(taken)}: the estimator sets them.")
        self.backend_class = backend_class
        self.options = options

    def __call__(self, X: Any, feature_map: Any, *, columns: Any, seed: int) -> Backend:
        """Make the backend of a kernel of X with itself, or of X by ``columns``."""
        given = {"feature_map": feature_map} | self.options
        made: Backend = self.backend_class(X=X, columns=columns, seed=seed, **given)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> "BackendFactory":
        """Return itself: a device or session must not be copied."""
        return self

    def __repr__(self) -> str:
        """Return the call that makes it, without the options' contents."""
        names = "".join(f", {name}=…" for name in self.options)
        return f"BackendFactory({getattr(self.backend_class, '__name__', '?')}{names})"


Measured = PairTable | Acquisition | str | Path


def as_factory(backend: Any) -> BackendFactory | None:
    """Return the factory that an estimator's ``backend`` names; None if it is not one."""
    if isinstance(backend, BackendFactory):
        return backend
    if isinstance(backend, str) and backend == STATEVECTOR:
        return BackendFactory(StatevectorBackend)
    return None


def as_measured(backend: Any) -> PairTable:
    """Return the counts of a finished run: its table, session or directory."""
    if isinstance(backend, PairTable):
        return backend
    if isinstance(backend, Acquisition):
        return backend.table
    if isinstance(backend, str | Path) and Path(backend).exists():
        from aqka.runs.driver import LEDGER_NAME
        from aqka.runs.export import table_of

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
