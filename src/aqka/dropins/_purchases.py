"""What a shot kernel has bought: who pays for a request, and what is known since.

Requests of one kernel are carried out one after the other, whichever thread or process asks. With
a directory they are in their folders before the first shot, so that a request which broke off is
finished by the next process, and nothing is bought twice.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from aqka.backends import Backend
from aqka.backends.factory import BackendFactory
from aqka.dropins._known import Known
from aqka.dropins._requests import (
    MoreRequest,
    Request,
    Settings,
    TrainingRequest,
    folders,
    load,
    remove,
    save,
)
from aqka.errors import InputError, LedgerError
from aqka.runs.driver import drive
from aqka.runs.spend import Spend

LOCK_NAME = "kernel.lock"


class Errand(NamedTuple):
    """A request with the session that spends its shots and the backend that runs them."""

    request: Request
    session: Any
    backend: Backend


class Purchases:
    """Carries out requests, one at a time, and keeps what they found.

    Parameters
    ----------
    known
        Where to keep what is found.
    factory, feature_map, settings
        What every backend and session is made with.
    labels
        The labels that a training kernel found in the directory must have; None: any.
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
    lock
        Held by whoever looks at more than one of these.
    """

    def __init__(
        self,
        known: Known,
        factory: BackendFactory,
        feature_map: Any,
        settings: Settings,
        labels: NDArray[Any] | None,
        directory: Path | None,
    ) -> None:
        self._factory = factory
        self._feature_map = feature_map
        self._settings = settings
        self._labels = labels
        self._directory = directory
        self._pid: int | None = os.getpid()
        self.lock = threading.RLock()
        self.known = known
        self.session: Any = None
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
    def training_shots(self) -> int:
        """Shots on the training kernel."""
        return 0 if self.session is None else int(self.session.shots_spent)

    @property
    def shots_used(self) -> int:
        """All shots so far, as far as this process knows."""
        finished = self.training_shots + self.test_shots
        if self._broken_off is None:
            return finished
        return finished + int(self._broken_off.session.shots_spent)

    def carry_out(self, request: Request) -> None:
        """Measure a new request; the caller holds :meth:`alone`."""
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
    def alone(self) -> Iterator[None]:
        """Let nobody else spend, and know all that has been spent, while the block runs."""
        with self.lock:
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
            if request is None:
                continue
            if isinstance(request, TrainingRequest):
                self._check_labels(request, folder)
            self._finish(self._errand(request), folder)

    def _check_process(self) -> None:
        """Refuse to buy for a copy in another process, which no directory joins to the original."""
        if self._pid != os.getpid():
            raise InputError(
                "this kernel is a copy in another process than its original, so it cannot "
                "know what is left of the budget and buys nothing; make the kernel with "
                "directory=…, which all its copies share."
            )

    def _check_labels(self, request: TrainingRequest, folder: Path) -> None:
        """Refuse a training kernel that was measured for other labels than y."""
        if self._labels is None:
            return
        if request.labels is None or not np.array_equal(request.labels, self._labels):
            raise LedgerError(
                f"{folder} holds a training kernel of other labels than y; pass the same y, or "
                "name another directory."
            )

    def __getstate__(self) -> dict[str, Any]:
        """Return what to pickle: a lock belongs to its process, and so does the right to buy."""
        return {name: value for name, value in vars(self).items() if name != "lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take up a pickled state."""
        vars(self).update(state, lock=threading.RLock(), _pid=None)


def _make_directory(directory: Path) -> Path:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"directory {str(directory)!r} cannot be made: {error.strerror}; name another."
        ) from error
    return directory
