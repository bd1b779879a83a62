"""The contract of a service that a RuntimeBackend sends its jobs to, and its execution modes."""

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aqka._util.arrays import FloatArray
from aqka._util.optional import require
from aqka.errors import InputError

logger = logging.getLogger(__name__)

EXTRA = "ibm"
"""The extra of the package that brings IBM's client."""


class Pace:
    """Lets so many jobs be created in so many seconds; a job beyond them waits.

    IBM takes five jobs a minute for each token.
    """

    def __init__(
        self,
        jobs: int = 5,
        seconds: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._seconds, self._clock, self._sleep = seconds, clock, sleep
        self._latest: deque[float] = deque(maxlen=jobs)
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Return when a job may be created, and count it."""
        with self._lock:
            if len(self._latest) == self._latest.maxlen:
                left = self._latest[0] + self._seconds - self._clock()
                if left > 0:
                    logger.info("waiting %.0f s: IBM limits how often jobs are created", left)
                    self._sleep(left)
            self._latest.append(self._clock())


class JobService(ABC):
    """Where jobs are sent to and found again: IBM's service, this process, or a stand-in.

    A subclass writes everything but :meth:`forget`. The errors that it raises are those of
    ``qiskit_ibm_runtime``, from which RuntimeBackend tells what may pass from what is lost.
    """

    target: Any  # what circuits are transpiled for
    is_local: bool = False  # jobs live in this process, and are not found by tags
    replayable: bool = False  # the same seed gives the same outcomes, at no cost
    is_paid: bool = True  # jobs may cost money
    pace: Pace | None = None  # how fast jobs may be created

    @abstractmethod
    def open(self, mode: str) -> Any:
        """Open a ``"session"`` or a ``"batch"`` and return it, something with ``close()``."""

    @abstractmethod
    def run(
        self,
        circuit: Any,
        values: FloatArray,
        shots: int,
        *,
        tags: list[str],
        seed: int,
        mode: Any = None,
        seconds: float | None = None,
    ) -> Any:
        """Send a circuit with rows of values as one job, which :meth:`jobs` finds by its tags.

        ``seed`` is for simulators; ``mode`` is what :meth:`open` returned, None for a plain job;
        the job is stopped after ``seconds`` on the QPU, None leaves that to the options.
        """

    @abstractmethod
    def job(self, job_id: str) -> Any:
        """Return a job by its id."""

    @abstractmethod
    def jobs(self, tags: list[str]) -> list[Any]:
        """Return the jobs that carry all these tags, newest first."""

    def forget(self, job_id: str) -> None:
        """Let go of a job whose outcomes were counted; the default keeps it."""
        return


# The modes to try, in this order, for each word that a caller may say.
MODES = {"auto": ("session", "batch"), "session": ("session",), "batch": ("batch",), "job": ()}
PLAIN_JOBS = "job"
OPEN_PLAN = ("1352", "not authorized to run a session")  # IBM's code and words for "no sessions"


@dataclass
class ExecutionMode:
    """The mode in use, one object for all backends that share it."""

    name: str = PLAIN_JOBS  # or "session" or "batch"
    handle: Any = None  # the open session or batch

    def open(self, service: JobService, wanted: tuple[str, ...]) -> None:
        """Open the best mode that the account may use, unless one is open."""
        if self.handle is None:
            self.name, self.handle = open_best(service, wanted)

    def close(self) -> None:
        """Close the session or batch, if one is open; jobs are plain from now on."""
        handle, self.handle, self.name = self.handle, None, PLAIN_JOBS
        if handle is not None:
            handle.close()


def open_best(service: JobService, wanted: tuple[str, ...]) -> tuple[str, Any]:
    """Open the first of ``wanted`` that the account may use, else plain jobs.

    A single mode that the account's plan does not have is refused. Only that refusal leads on to
    the next mode; any other error, such as a wrong token, is raised.
    """
    for mode in wanted:
        try:
            return mode, service.open(mode)
        except require("qiskit_ibm_runtime.exceptions", EXTRA).IBMError as error:
            if not any(sign in str(error) for sign in OPEN_PLAN):
                raise
            if len(wanted) == 1:
                raise InputError(
                    f"mode {mode!r} is not in the account's plan, as the service says; take mode "
                    "'auto', which uses what the plan has, or 'job'. Nothing was sent."
                ) from None
            logger.info("the account's plan has no %s; trying the next execution mode", mode)
    return PLAIN_JOBS, None
