"""The contract of a service that jobs are sent to, and IBM's errors."""

import logging
import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from aqka._util.arrays import FloatArray
from aqka._util.optional import require
from aqka._util.text import without_secrets
from aqka.backends.base import JobState
from aqka.errors import InputError, JobError, TransientError

logger = logging.getLogger(__name__)

EXTRA = "ibm"  # the extra of the package that brings IBM's client


@dataclass(frozen=True, eq=False)
class JobRequest:
    """A circuit with rows of values, to be run as one job."""

    circuit: Any
    values: FloatArray
    shots: int  # of every row
    tags: list[str]  # that :meth:`JobService.jobs` finds it by
    seed: int  # for simulators
    seconds: float | None = None  # on the QPU, after which it is stopped; None: as the options say


# The modes to try, in this order, for each word that a caller may say.
MODES = {"auto": ("session", "batch"), "session": ("session",), "batch": ("batch",), "job": ()}
PLAIN_JOBS = "job"
OPEN_PLAN = ("1352", "not authorized to run a session")  # IBM's code and words for "no sessions"


class JobService(ABC):
    """Where jobs are sent to and found again: IBM's service, this process, or a stand-in.

    A subclass writes all that is abstract. The errors that it raises are those of
    ``qiskit_ibm_runtime``, from which RuntimeBackend tells what may pass from what is lost.
    """

    target: Any  # what circuits are transpiled for
    is_local: bool = False  # jobs live in this process, and are not found by tags
    replayable: bool = False  # the same seed gives the same outcomes, at no cost
    is_paid: bool = True  # jobs may cost money
    mode: str = PLAIN_JOBS  # or "session" or "batch", while one is open
    handle: Any = None  # the open session or batch, in which jobs are run

    def open(self, mode: str) -> Any:
        """Open a ``"session"`` or a ``"batch"`` and return it, something with ``close()``."""
        raise InputError(f"mode {mode!r} is for IBM's service; a local backend has none.")

    @abstractmethod
    def run(self, request: JobRequest) -> Any:
        """Send a job and return it."""

    @abstractmethod
    def job(self, job_id: str) -> Any:
        """Return a job by its id."""

    @abstractmethod
    def jobs(self, tags: list[str]) -> list[Any]:
        """Return the jobs that carry all these tags, newest first."""

    def forget(self, job_id: str) -> None:
        """Let go of a job whose outcomes were counted; the default keeps it."""
        return

    def open_first(self, wanted: tuple[str, ...]) -> None:
        """Open the first of ``wanted`` that the account may use, unless one is open.

        A single mode that the account's plan does not have is refused. Only that refusal leads on
        to the next mode and to plain jobs; any other error, such as a wrong token, is raised.
        """
        for mode in wanted if self.handle is None else ():
            try:
                self.mode, self.handle = mode, self.open(mode)
                return
            except require("qiskit_ibm_runtime.exceptions", EXTRA).IBMError as error:
                if not any(sign in str(error) for sign in OPEN_PLAN):
                    raise
                if len(wanted) == 1:
                    raise InputError(
                        f"mode {mode!r} is not in the account's plan, as the service says; take "
                        "mode 'auto', which uses what the plan has, or 'job'. Nothing was sent."
                    ) from None
                logger.info("the account's plan has no %s; trying the next execution mode", mode)

    def close(self) -> None:
        """Close the session or batch, if one is open; jobs are plain from now on."""
        handle, self.handle, self.mode = self.handle, None, PLAIN_JOBS
        if handle is not None:
            handle.close()


LOST = ("CANCELLED", "ERROR")
WAITING = ("INITIALIZING", "QUEUED")
GONE = (404, 410)
# What the client raises where a stored result is none that it can decode.
UNDECODABLE = (ValueError, KeyError, TypeError, IndexError, AttributeError, EOFError, zlib.error)


@contextmanager
def tell_passing_errors(service: JobService, *, collecting: bool = False) -> Iterator[None]:
    """Tell errors that may pass, such as the network's, from those that will not.

    While ``collecting`` a refusal may pass as well, a right to read that was withdrawn for
    example: only what is gone is lost. In this process nothing passes.
    """
    if service.is_local:
        yield
        return
    exceptions = require("qiskit_ibm_runtime.exceptions", EXTRA)
    final = (
        exceptions.IBMNotAuthorizedError,
        exceptions.IBMInputValueError,
        exceptions.IBMAccountError,
    )
    try:
        yield
    except final:
        raise
    except (OSError, exceptions.IBMError) as error:
        said = without_secrets(getattr(error, "message", error))
        code = getattr(error, "status_code", 0)  # of the service's reply, where there was one
        refused = 400 <= code < 500 and code not in (408, 429)
        if code in GONE if collecting else refused:
            raise JobError(f"IBM refused: {said}") from error
        raise TransientError(f"IBM could not be reached: {said}") from error


def find_job(service: JobService, job_id: str) -> Any:
    """Return a job by its id, or raise a JobError that says why it cannot be found."""
    if service.is_local:
        return service.job(job_id)
    exceptions = require("qiskit_ibm_runtime.exceptions", EXTRA)
    try:
        return service.job(job_id)
    except exceptions.RuntimeJobNotFound as error:
        raise JobError(
            f"job {job_id} is unknown to the service: it expired, or belongs to another "
            "account or instance. Open the service with the instance it was sent from; if it "
            "expired, its shots are lost and the plan has to be submitted again."
        ) from error


def wait_for_result(job: Any, *, local: bool = False) -> Any:
    """Return a job's result, or raise a JobError that says why there is none."""
    job_id = job.job_id()
    remedy = "Nothing was run again: submit the plan again when the cause is fixed."
    if local:
        try:
            return job.result()
        except require("qiskit.exceptions", "qiskit").QiskitError as error:
            raise JobError(f"job {job_id} gave no result: {error}. {remedy}") from error
    exceptions = require("qiskit_ibm_runtime.exceptions", EXTRA)
    try:
        return job.result()
    except exceptions.RuntimeJobMaxTimeoutError as error:
        raise JobError(
            f"job {job_id} ran longer than max_execution_time and was stopped by IBM. Raise "
            f"options['max_execution_time'] or lower the budget of a round. {remedy}"
        ) from error
    except exceptions.RuntimeInvalidStateError as error:
        raise JobError(f"job {job_id} was cancelled. {remedy}") from error
    except exceptions.RuntimeJobFailureError as error:
        raise JobError(f"job {job_id} failed: {without_secrets(error)}. {remedy}") from error
    except UNDECODABLE as error:
        raise JobError(
            f"the result of job {job_id} cannot be read ({type(error).__name__}). {remedy}"
        ) from error


def is_lost(job: Any) -> bool:
    """Return whether a job failed or was cancelled before any of it was run."""
    return _status(job) in LOST and not was_run(job)


def was_run(job: Any) -> bool:
    """Return whether the service says that a job was run, and so is paid for."""
    return _status(job) == "DONE" or _seconds(job) not in (None, 0.0)


def _status(job: Any) -> str:
    status = job.status()
    # IBM's words, which are names of an enum for some jobs.
    return str(getattr(status, "name", status))


def state_of(job: Any) -> JobState:
    """Return how a job stands, and its place in the queue where the service tells."""
    state, place = _status(job), None
    if state in WAITING:
        place = job.metrics().get("position_in_queue")
    place = place if isinstance(place, int) else None
    return JobState(str(job.job_id()), state, place, qpu_seconds([job]))


def cancel_queued(job: Any) -> JobState:
    """Cancel a job that waits in the queue; return how it stands then."""
    if _status(job) in WAITING:
        try:
            job.cancel()
        except require("qiskit_ibm_runtime.exceptions", EXTRA).RuntimeInvalidStateError:
            pass  # it was taken out of the queue meanwhile, and is run
    return state_of(job)


def qpu_seconds(jobs: list[Any]) -> float | None:
    """Return the QPU seconds of jobs: the settled ones, or those counted so far.

    None says that IBM could not tell: the hits matter more than their bill.
    """
    exceptions = require("qiskit_ibm_runtime.exceptions", EXTRA)
    try:
        used = [_seconds(job) for job in jobs]
    except (OSError, exceptions.IBMError):
        return None
    return None if None in used else sum(seconds for seconds in used if seconds is not None)


def _seconds(job: Any) -> float | None:
    """Return a job's QPU seconds; None where the service names no number of seconds."""
    said = job.usage() or job.usage(partial=True) or 0.0
    try:
        seconds = float(said)
    except (TypeError, ValueError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
