"""What was measured for a kernel: who pays for a request, and what is known since.

Requests are carried out one after the other, whichever thread or process makes them. With a
directory they are in their folders before the first shot, so that a request which broke off is
finished by the next process, and nothing is bought twice.
"""

import os
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self
from weakref import WeakValueDictionary

from filelock import FileLock
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, as_count
from aqka.backends import Backend
from aqka.backends.factory import BackendFactory
from aqka.errors import InputError, JobError
from aqka.estimators._known import Known, KnownPairs, KnownPoints
from aqka.estimators._requests import (
    MoreRequest,
    Request,
    Settings,
    TrainingRequest,
    folders,
    load,
    remove,
    save,
)
from aqka.runs.driver import drive
from aqka.runs.spend import Spend
from aqka.sessions import Training

LOCK_NAME = "kernel.lock"

_alive: "WeakValueDictionary[str, Living]" = WeakValueDictionary()


class Living:
    """An object whose copies are itself: a copy must not get a fresh budget.

    A pickled copy is the original where that lives. Elsewhere it answers what it knows, and has no
    right to buy.
    """

    def __init__(self) -> None:
        self._name = uuid.uuid4().hex
        self._pid: int | None = os.getpid()
        self.lock = threading.RLock()
        _alive[self._name] = self

    @property
    def may_buy(self) -> bool:
        """Whether it is the original, in the process that made it."""
        return self._pid == os.getpid()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return itself."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what to pickle; a lock belongs to its process."""
        state = {name: value for name, value in vars(self).items() if name != "lock"}
        return _revive, (type(self), state)


def _revive(kind: type[Living], state: dict[str, Any]) -> Living:
    """Return what was pickled."""
    living = _alive.get(state["_name"])
    if living is None:
        living = kind.__new__(kind)
        vars(living).update(state, lock=threading.RLock(), _pid=None)
        _alive[living._name] = living
    return living


class Limits(NamedTuple):
    """What may be spent besides the training shots."""

    test_budget: int | None
    shots_each: int | None


class Errand(NamedTuple):
    """A request with the session that spends its shots and the backend that runs them."""

    request: Request
    session: Any
    backend: Backend


class Store(Living):
    """Carries out requests, one at a time, and keeps what they found.

    Parameters
    ----------
    factory, feature_map, settings
        What every backend and session is made with.
    directory
        Where requests have their folders; None keeps nothing.

    Attributes
    ----------
    known
        All that is known of the kernel.
    session
        The finished session of the training kernel; None before.
    test_shots, test_things
        Shots on other pairs or points, and how many those are.
    """

    def __init__(
        self, factory: BackendFactory, feature_map: Any, settings: Settings, directory: Path | None
    ) -> None:
        super().__init__()
        design = settings.design
        self._factory, self._feature_map = factory, feature_map
        self._settings, self._directory = settings, directory
        self.known: Known = (KnownPairs if design.counts_entries else KnownPoints)(design)
        self.session: Training | None = None
        self.test_shots = 0
        self.test_things = 0
        self._taken: set[str] = set()  # folders whose requests are known
        self._broken_off: Errand | None = None  # of a kernel without a directory

    @property
    def design(self) -> str:
        """What shots are spent on: pairs or points."""
        return self._settings.design.name

    @property
    def unit(self) -> str:
        """A pair or a point."""
        return self._settings.design.unit

    @property
    def shots_used(self) -> int:
        """All shots so far, as far as this process knows."""
        sessions = (self.session, None if self._broken_off is None else self._broken_off.session)
        return self.test_shots + sum(int(s.shots_spent) for s in sessions if s is not None)

    def is_about_others(self, rows: FloatArray) -> bool:
        """Return whether a training kernel was measured, and nothing of these points."""
        with self.lock:
            trained = self.session is not None and self._directory is None
            return trained and self.known.is_new(rows)

    def measure(
        self,
        rows: FloatArray,
        cols: FloatArray,
        limits: Limits,
        labels: NDArray[Any] | None = None,
    ) -> None:
        """Make sure that all entries of rows by columns are known.

        The first request for points with themselves, as long as nothing is known of them, is the
        training kernel, for which the ``labels`` are.
        """
        with self.lock:
            if self.known.unknown(rows, cols).any():
                with self._alone():
                    itself = rows is cols or (rows.shape == cols.shape and (rows == cols).all())
                    if self.session is None and itself and self.known.is_new(rows):
                        # -0.0 is 0.0
                        self._carry_out(TrainingRequest(rows + 0.0, labels))
                    else:
                        self._buy_missing(rows, cols, limits)
            if self.known.unknown(rows, cols).any():
                lost = self.known.missing(rows, cols, shots=1).count
                raise JobError(
                    f"the shots of {lost} {self.unit}s were run, but their hits are lost; ask "
                    "again, and they are bought anew out of test_budget."
                )

    def matrix(self, rows: FloatArray, cols: FloatArray, limits: Limits) -> FloatArray:
        """Return the kernel, measured where it was not known."""
        with self.lock:
            self.measure(rows, cols, limits)
            return self.known.entries(rows, cols)

    def _buy_missing(self, rows: FloatArray, cols: FloatArray, limits: Limits) -> None:
        """Measure what is unknown, evenly, if the budget covers it."""
        if not self.known.unknown(rows, cols).any():  # another process measured it meanwhile
            return
        request = self.known.missing(rows, cols, self._shots_each(limits))
        self._check_budget(request, limits)
        self._carry_out(request)

    def _check_budget(self, request: MoreRequest, limits: Limits) -> None:
        """Refuse a request before its first shot if the budget does not cover all of it."""
        things, session = f"{self.unit}s", self.session
        allowed = limits.test_budget
        if allowed is None:
            allowed = 0 if session is None else session.budget
        left = as_count(allowed, "test_budget", minimum=0) - self.test_shots
        if request.total > left:
            raise InputError(
                f"test_budget does not cover this request: {request.count} new {things} at "
                f"{request.shots} shots are {request.total} shots, and {max(left, 0)} are left. "
                f"Spent so far: {0 if session is None else session.shots_spent} shots on the "
                f"training kernel and {self.test_shots} of {allowed} on {self.test_things} other "
                f"{things}. Raise test_budget, ask for fewer {things}, or make the kernel with "
                f"fewer shots_each."
            )

    def _shots_each(self, limits: Limits) -> int:
        if limits.shots_each is not None:
            return as_count(limits.shots_each, "shots_each")
        if self.session is None:
            raise InputError(
                "shots_each is needed: no training kernel has been measured whose shots these "
                "could follow. Pass shots_each=…, or call fit(X) first."
            )
        return max(1, round(self.session.budget / len(self.session.table.unit_shots)))

    def _carry_out(self, request: Request) -> None:
        """Measure a new request; the caller holds :meth:`_alone`."""
        errand = self._errand(request)
        self.known.check(request, errand.session)
        folder = None if self._directory is None else save(self._directory, request, self.design)
        try:
            self._finish(errand, folder)
        except Exception:
            # A simulated request that cannot work, such as of points that the feature map
            # refuses, must not be waited for. Of a device it may have paid jobs, and stays.
            if errand.backend.replayable and errand.session.round == 0:
                self._broken_off = None
                if folder is not None:
                    remove(folder)
            raise

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let nobody else spend, and know all that has been spent, while the block runs."""
        if self._directory is None:
            self._check_process()
            if self._broken_off is not None:
                self._finish(self._broken_off, None)
            yield
            return
        with FileLock(_make_directory(self._directory) / LOCK_NAME):
            self._catch_up(self._directory)
            yield

    def _errand(self, request: Request) -> Errand:
        backend = self._factory(
            request.rows,
            self._feature_map,
            columns=request.columns,
            seed=self._settings.seed,
            design=self.design,
        )
        design = self._settings.design.on(backend.lattice, backend.n_qubits)
        self._settings, self.known.design = self._settings._replace(design=design), design
        return Errand(request, request.session(self._settings, backend), backend)

    def _finish(self, errand: Errand, folder: Path | None) -> None:
        """Run a request to its end and take up what it found."""
        request, session, backend = errand
        self._broken_off = errand if folder is None else None
        drive(session, backend, Spend(folder))
        # Fitting states can be interrupted: until all is known, the request is not finished.
        self.known.take(request, session)
        self._broken_off = None
        if folder is not None:
            self._taken.add(folder.name)
        if isinstance(request, MoreRequest):
            self.test_shots += session.shots_spent
            self.test_things += request.count
        else:
            self.session = session

    def _catch_up(self, directory: Path) -> None:
        """Take up requests of other processes and earlier runs; one that broke off is finished."""
        for folder in folders(directory):
            request = None if folder.name in self._taken else load(folder, self.design)
            if request is not None:
                self._finish(self._errand(request), folder)

    def _check_process(self) -> None:
        """Refuse to buy for a copy in another process, which no directory joins to the original."""
        if not self.may_buy:
            raise InputError(
                "this kernel is a copy in another process than its original, so it cannot "
                "know what is left of the budget and buys nothing; make the kernel with "
                "directory=…, which all its copies share."
            )


class Shared(Living):
    """What an estimator and its copies have measured together, newest first."""

    def __init__(self) -> None:
        super().__init__()
        self.stores: list[tuple[dict[str, Any], Store]] = []

    def add(self, settings: dict[str, Any], store: Store) -> None:
        """Keep what is measured with some settings."""
        store._pid = self._pid  # of a copy elsewhere no part may buy
        self.stores.insert(0, (settings, store))


def _make_directory(directory: Path) -> Path:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"directory {str(directory)!r} cannot be made: {error.strerror}; name another."
        ) from error
    return directory
