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
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self
from weakref import WeakValueDictionary

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, as_count, rounded
from aqka._util.files import explained
from aqka.backends import Backend
from aqka.errors import InputError, JobError
from aqka.estimators._known import KNOWN
from aqka.estimators._requests import Request, folders, load, remove, save
from aqka.estimators._source import Purchase
from aqka.planning.budget import as_budget
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
        self._pid: int | None = os.getpid()  # of the original's process; None for a copy
        self.lock = threading.RLock()
        _alive[self._name] = self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what to pickle; a lock belongs to its process."""
        state = {name: value for name, value in vars(self).items() if name != "lock"}
        return _revive, (type(self), state)


def _revive(kind: type[Living], state: dict[str, Any]) -> Living:
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

    Every backend and session is made as ``purchase`` says, whose design is settled; without a
    directory in it nothing is kept.
    """

    def __init__(self, purchase: Purchase) -> None:
        super().__init__()
        self._purchase = purchase
        self._directory: Any = purchase.directory
        design = purchase.design
        self.design, self.unit = design.name, design.unit
        self.known: Any = KNOWN[design.name](design)
        self.session: Training | None = None  # of the training kernel, once that is measured
        self.test_shots = 0  # on other pairs or points
        self.test_things = 0  # how many those are
        self._taken: set[str] = set()  # folders whose requests are known
        self._broken_off: Errand | None = None  # of a kernel without a directory

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
        self, rows: FloatArray, cols: FloatArray, limits: Limits, labels: NDArray[Any] | None = None
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
                        # The different ones among the points; -0.0 is 0.0.
                        first = np.sort(np.unique(rounded(rows), axis=0, return_index=True)[1])
                        labels = None if labels is None else labels[first]
                        self._carry_out(Request(rows[first] + 0.0, labels=labels))
                    elif self.known.unknown(rows, cols).any():  # not bought by others meanwhile
                        self._carry_out(self._request(rows, cols, limits))
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
            return np.asarray(self.known.entries(rows, cols))

    def _request(self, rows: FloatArray, cols: FloatArray, limits: Limits) -> Request:
        """Return what is missing, or refuse it if the budget does not cover all of it."""
        things, session, shots = f"{self.unit}s", self.session, limits.shots_each
        if shots is not None:
            shots = as_count(shots, "shots_each")
        elif session is not None:
            shots = max(1, round(session.budget / len(session.table.unit_shots)))
        else:
            raise InputError(
                "shots_each is needed: no training kernel has been measured whose shots these "
                "could follow. Pass shots_each=…, or call fit(X) first."
            )
        request: Request = self.known.missing(rows, cols, shots)
        trained, spent = (0, 0) if session is None else (session.budget, session.shots_spent)
        allowed = trained if limits.test_budget is None else limits.test_budget
        left = as_count(allowed, "test_budget", minimum=0) - self.test_shots
        if request.total > left:
            raise InputError(
                f"test_budget does not cover this request: {request.count} new {things} at "
                f"{shots} shots are {request.total} shots, and {max(left, 0)} are left. "
                f"Spent so far: {spent} shots on the training kernel and {self.test_shots} of "
                f"{allowed} on {self.test_things} other {things}. Raise test_budget, ask for fewer "
                f"{things}, or make the kernel with fewer shots_each."
            )
        return request

    def _carry_out(self, request: Request) -> None:
        """Measure a new request; the caller holds :meth:`_alone`."""
        errand = self._errand(request)
        self.known.check(request, errand.session)
        if request.trains and self._purchase.terms:  # time or money, in a directory
            budget = str(as_budget(self._purchase.budget))
            request = replace(request, budget=budget, buys=errand.session.budget)
        folder = None if self._directory is None else save(self._directory, request, self.design)
        try:
            self._finish(errand, folder)
        except Exception:
            # A simulated request that cannot work, such as of points that the feature map
            # refuses, must not be waited for. One of a device may have paid jobs, and stays.
            if errand.backend.replayable and errand.session.round == 0:
                self._broken_off = None
                if folder is not None:
                    remove(folder)
            raise

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let nobody else spend, and know all that has been spent, while the block runs."""
        if self._directory is None:
            if self._pid != os.getpid():
                raise InputError(
                    "this kernel is a copy in another process than its original, so it cannot "
                    "know what is left of the budget and buys nothing; make the kernel with "
                    "directory=…, which all its copies share."
                )
            if self._broken_off is not None:
                self._finish(self._broken_off, None)
            yield
            return
        with explained(f"directory {str(self._directory)!r} cannot be made", "; name another"):
            self._directory.mkdir(parents=True, exist_ok=True)
        with FileLock(self._directory / LOCK_NAME):
            # What broke off, here or in another process, is finished first.
            for folder in folders(self._directory):
                request = None if folder.name in self._taken else load(folder, self.design)
                if request is not None:
                    self._finish(self._errand(request), folder)
            yield

    def _errand(self, request: Request) -> Errand:
        backend = self._purchase.make(request.rows, request.columns)
        backend.settle_on(self.design)  # what cannot run is refused before it is written down
        self.known.design = self._purchase.design.on(backend.lattice, backend.n_qubits)
        self._purchase = replace(self._purchase, design=self.known.design)
        return Errand(request, request.session(self._purchase, backend), backend)

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
        if request.trains:
            self.session = session
        else:
            self.test_shots += session.shots_spent
            self.test_things += request.count


class Shared(Living):
    """What an estimator and its copies have measured together, newest first."""

    def __init__(self) -> None:
        super().__init__()
        self.stores: list[tuple[Purchase, Store]] = []

    def add(self, purchase: Purchase, store: Store) -> None:
        store._pid = self._pid  # of a copy elsewhere no part may buy
        self.stores.insert(0, (purchase, store))
