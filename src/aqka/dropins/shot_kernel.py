"""ShotKernel: a kernel function that pays for its entries with shots, out of a budget."""

import os
import shutil
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self
from weakref import WeakValueDictionary

import numpy as np
from filelock import FileLock
from numpy.typing import ArrayLike, NDArray

from aqka._util.arrays import FloatArray, as_count
from aqka.allocators import Allocator, make_allocator
from aqka.backends import Backend
from aqka.backends.circuits import as_rows_and_columns
from aqka.backends.factory import STATEVECTOR, BackendFactory, as_factory
from aqka.dropins._even_pairs import EvenPairs
from aqka.dropins._readings import Readings, pair_keys
from aqka.dropins._requests import (
    PairsRequest,
    Request,
    Settings,
    TrainingRequest,
    encoded,
    folders,
    load,
    save,
)
from aqka.errors import InputError, LedgerError
from aqka.runs.driver import drive
from aqka.sessions.acquisition import Acquisition

Measuring = tuple[Request, Acquisition | EvenPairs, Backend]

_alive: "WeakValueDictionary[str, ShotKernel]" = WeakValueDictionary()


class ShotKernel:
    """Answers requests for kernel entries, and measures what it does not know yet.

    The first request for a kernel of points with themselves is the *training kernel*: ``budget``
    shots, spent by the allocator. Every other pair is measured with ``shots_per_pair`` shots out
    of ``test_budget``. What was measured is never bought again, a point with itself reads 1 at no
    cost, and a request that the budget does not cover is refused before its first shot.

    Copies are itself, so that cloning a classifier gives it no fresh budget. A copy in another
    process shares the budget through ``directory``; without one it answers what it knows and
    buys nothing.

    Parameters
    ----------
    feature_map
        What the backend takes as one: a Qiskit circuit, a PennyLane function of one point; None
        for the ZZ map.
    budget
        Shots of the training kernel, spent exactly.
    test_budget
        Shots for all other pairs together; may be raised later.
    y
        Labels of the training points, in their order. Without any the shots are even.
    backend
        ``"statevector"``, or a :class:`~aqka.BackendFactory` for any other.
    allocator
        A name or an object; None is ``"auto"`` with labels, ``"uniform"`` without.
    shots_per_pair
        Of pairs outside the training kernel; None takes what a training pair had on average.
    directory
        Where every request has its points and its ledger. None keeps nothing.
    seed
        Of every draw.

    Attributes
    ----------
    session_
        The :class:`~aqka.Acquisition` of the training kernel; None before.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(0, 3, size=(6, 2))
    >>> kernel = ShotKernel(budget=600, test_budget=800, y=[0, 1, 0, 1])
    >>> kernel.matrix(X[:4]).shape, kernel.shots_used  # the training kernel
    ((4, 4), 600)
    >>> kernel.matrix(X[4:], X[:4]).shape, kernel.shots_used  # 8 pairs at 100 shots
    ((2, 4), 1400)
    >>> kernel.matrix(X[:4], X[5:])[0, 0] == kernel(X[5], X[0]), kernel.shots_used  # known
    (np.True_, 1400)
    """

    def __init__(
        self,
        feature_map: Any = None,
        *,
        budget: int,
        test_budget: int,
        y: ArrayLike | None = None,
        backend: str | BackendFactory = STATEVECTOR,
        allocator: str | Allocator | None = None,
        shots_per_pair: int | None = None,
        directory: str | Path | None = None,
        seed: int = 0,
    ) -> None:
        self._feature_map = feature_map
        self.test_budget = as_count(test_budget, "test_budget", minimum=0)
        self._labels = None if y is None else encoded(y)
        factory = as_factory(backend)
        if factory is None:
            raise InputError(
                f"backend must be {STATEVECTOR!r} or a BackendFactory, got {backend!r}; for "
                "example BackendFactory(SamplerBackend, sampler=make)."
            )
        self._factory = factory
        if allocator is not None:
            make_allocator(allocator)  # a wrong name is better told now
        self._settings = Settings(
            as_count(budget, "budget"), allocator, as_count(seed, "seed", minimum=0)
        )
        self._shots_per_pair = (
            None if shots_per_pair is None else as_count(shots_per_pair, "shots_per_pair")
        )
        self._directory = None if directory is None else Path(directory).absolute()
        self._pid: int | None = os.getpid()
        self._lock = threading.RLock()
        self._name = uuid.uuid4().hex
        _alive[self._name] = self
        self.session_: Acquisition | None = None
        self._readings = Readings()
        self._taken: set[str] = set()  # folders whose requests are in the readings
        self._open: Measuring | None = None  # without a directory, a request that broke off
        self._test_shots = 0
        self._test_pairs = 0

    @property
    def shots_used(self) -> int:
        """All shots so far, as far as this process knows."""
        training = 0 if self.session_ is None else self.session_.table.total
        if self._open is None:
            return training + self._test_shots
        session = self._open[1]
        broken_off = session.table.shots if isinstance(session, Acquisition) else session.shots
        return training + self._test_shots + int(broken_off.sum())

    def matrix(self, X: ArrayLike, columns: ArrayLike | None = None) -> FloatArray:
        """Return the kernel of X with itself or with other points, as measured.

        Of X with itself it is symmetric with diagonal 1, but with shot noise need not be
        positive semi-definite.
        """
        rows, cols = as_rows_and_columns(X, columns)
        with self._lock:
            if np.isnan(self._entries(rows, cols)).any():
                with self._alone():
                    if np.array_equal(rows, cols) and self._is_new(rows):
                        self._train(rows, self._labels)
                    else:
                        self._buy(rows, cols)
            return self._entries(rows, cols)

    def prepare(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Measure the training kernel of X now; later requests for any part of it are free.

        Call it where the first request is not for the whole training set, as in
        cross-validation, or comes pair by pair.
        """
        rows, _ = as_rows_and_columns(X, None)
        labels = self._labels if y is None else encoded(y)
        with self._alone():
            if not np.isnan(self._entries(rows, rows)).any():
                return self
            if not self._is_new(rows):
                raise InputError(
                    "X: the training kernel, or a part of this one, has been measured already; "
                    "prepare comes first and once. Other points are measured when asked for."
                )
            self._train(rows, labels)
        return self

    def __call__(self, x1: ArrayLike, x2: ArrayLike) -> float:
        """Return the kernel of two points, each one row of numbers."""
        row, col = np.reshape(np.asarray(x1), (1, -1)), np.reshape(np.asarray(x2), (1, -1))
        return float(self.matrix(row, col)[0, 0])

    def _entries(self, rows: FloatArray, cols: FloatArray) -> FloatArray:
        """Return what is known of a kernel, with NaN for the rest."""
        numbers = self._readings.numbers
        return self._readings.of(numbers(rows)[:, None], numbers(cols)[None, :])

    def _is_new(self, rows: FloatArray) -> bool:
        """Return whether this is the training kernel: the first, and of pairs all unknown."""
        numbers = self._readings.numbers(rows)
        same = numbers[:, None] == numbers
        return self.session_ is None and bool(np.isnan(self._entries(rows, rows)[~same]).all())

    def _train(self, rows: FloatArray, labels: NDArray[Any] | None) -> None:
        """Measure the training kernel."""
        if labels is not None and len(labels) != len(rows):
            raise InputError(
                f"y labels {len(labels)} points but the training kernel is of {len(rows)}; for "
                "parts of the training set, as in cross-validation, call prepare(X, y) first."
            )
        self._start(TrainingRequest(rows + 0.0, labels))  # -0.0 is 0.0

    def _buy(self, rows: FloatArray, cols: FloatArray) -> None:
        """Measure what is unknown, evenly, if the budget covers it."""
        row_index, col_index = np.nonzero(np.isnan(self._entries(rows, cols)))
        if not row_index.size:  # another process has measured it meanwhile
            return
        numbers = self._readings.numbers(rows)[row_index], self._readings.numbers(cols)[col_index]
        _, once = np.unique(pair_keys(*numbers), return_index=True)
        used_rows, row_index = np.unique(row_index[once], return_inverse=True)
        used_cols, col_index = np.unique(col_index[once], return_inverse=True)
        shots = self._shots_for_a_pair()
        request = PairsRequest(rows[used_rows], cols[used_cols], row_index, col_index, shots)
        left = as_count(self.test_budget, "test_budget", minimum=0) - self._test_shots
        if request.total > left:
            raise InputError(
                f"test_budget does not cover this request: {once.size} new pairs at {shots} shots "
                f"are {request.total} shots, and {max(left, 0)} are left. Spent so far: "
                f"{self.shots_used - self._test_shots} shots on the training kernel and "
                f"{self._test_shots} of {self.test_budget} on {self._test_pairs} other pairs. "
                "Raise test_budget, ask for fewer pairs, or make the kernel with fewer "
                "shots_per_pair."
            )
        self._start(request)

    def _shots_for_a_pair(self) -> int:
        if self._shots_per_pair is not None:
            return self._shots_per_pair
        if self.session_ is None:
            raise InputError(
                "shots_per_pair is needed: no training kernel has been measured whose shots these "
                "pairs could follow. Pass shots_per_pair=…, or call prepare(X, y) first."
            )
        return max(1, round(self._settings.budget / self.session_.table.n_pairs))

    def _start(self, request: Request) -> None:
        """Carry out a new request, which is in its folder before its first shot."""
        session, backend = request.session(self._settings), self._backend(request)
        folder = None if self._directory is None else save(self._directory, request)
        try:
            self._measure((request, session, backend), folder)
        except Exception:
            # A simulated request that cannot work, such as of points that the feature map
            # refuses, must not be waited for. Of a device it may have paid jobs, and stays.
            if backend.replayable and session.round == 0:
                self._open = None
                if folder is not None:
                    shutil.rmtree(folder)
            raise

    def _backend(self, request: Request) -> Backend:
        return self._factory(
            request.rows, self._feature_map, columns=request.columns, seed=self._settings.seed
        )

    def _measure(self, measuring: Measuring, folder: Path | None) -> None:
        """Run a request to its end and take up what it found."""
        request, session, backend = measuring
        self._open = measuring if folder is None else None
        drive(session, backend, folder)
        self._open = None
        if folder is not None:
            self._taken.add(folder.name)
        if isinstance(session, Acquisition):
            self.session_ = session
        else:
            self._test_shots += int(session.shots.sum())
            self._test_pairs += session.shots.size
        found = request.values(session)  # type: ignore[arg-type]
        columns = request.rows if request.columns is None else request.columns
        rows = self._readings.numbers(request.rows)[found.row_index]
        cols = self._readings.numbers(columns)[found.col_index]
        self._readings.add(rows, cols, found.values)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let nobody else spend, and know all that has been spent, while the block runs."""
        with self._lock:
            if self._directory is None:
                if self._pid != os.getpid():
                    raise InputError(
                        "this kernel is a copy in another process than its original, so it cannot "
                        "know what is left of the budget and buys nothing; make the kernel with "
                        "directory=…, which all its copies share."
                    )
                if self._open is not None:
                    self._measure(self._open, None)
                yield
                return
            try:
                self._directory.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(
                    f"directory {str(self._directory)!r} cannot be made: {error.strerror}; name "
                    "another."
                ) from error
            with FileLock(self._directory / "kernel.lock"):
                self._catch_up()
                yield

    def _catch_up(self) -> None:
        """Take up requests of other processes and earlier runs; one that broke off is finished."""
        assert self._directory is not None
        for folder in folders(self._directory):
            request = None if folder.name in self._taken else load(folder)
            if request is None:
                continue
            if isinstance(request, TrainingRequest):
                self._check_labels(request, folder)
            session = request.session(self._settings)
            self._measure((request, session, self._backend(request)), folder)

    def _check_labels(self, request: TrainingRequest, folder: Path) -> None:
        """Refuse a training kernel that was measured for other labels than y."""
        if self._labels is None:
            return
        if request.labels is None or not np.array_equal(request.labels, self._labels):
            raise LedgerError(
                f"{folder} holds a training kernel of other labels than y; pass the same y, or "
                "name another directory."
            )

    def __copy__(self) -> Self:
        """Return itself: a copy must not get a fresh budget."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return itself: a copy must not get a fresh budget."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what to pickle; where the original lives, a pickled copy is the original."""
        state = {name: value for name, value in vars(self).items() if name != "_lock"}
        return _revived, (type(self), state)


def _revived(kind: type[ShotKernel], state: dict[str, Any]) -> ShotKernel:
    """Return the kernel of a pickled state."""
    living = _alive.get(state["_name"])
    if living is not None:
        return living
    kernel = kind.__new__(kind)
    vars(kernel).update(state, _lock=threading.RLock(), _pid=None)
    _alive[kernel._name] = kernel
    return kernel
