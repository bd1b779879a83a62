"""IBM's errors in our words: what may pass, what is lost, and what to do about it."""

import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aqka._util.optional import require
from aqka._util.text import without_secrets
from aqka.backends.base import JobState
from aqka.backends.job_service import EXTRA, JobService
from aqka.errors import JobError, TransientError

LOST = ("CANCELLED", "ERROR")
WAITING = ("INITIALIZING", "QUEUED")
GONE = (404, 410)
# What the client raises where a stored result is none that it can decode.
UNDECODABLE = (ValueError, KeyError, TypeError, IndexError, AttributeError, EOFError, zlib.error)


@contextmanager
def tell_passing_errors(*, collecting: bool = False) -> Iterator[None]:
    """Tell errors that may pass, such as the network's, from those that will not.

    While ``collecting`` a refusal may pass as well, a right to read that was withdrawn for
    example: only what is gone is lost.
    """
    exceptions = require("qiskit_ibm_runtime.exceptions", EXTRA)
    api = require("qiskit_ibm_runtime.api.exceptions", EXTRA)
    final = (
        exceptions.IBMNotAuthorizedError,
        exceptions.IBMInputValueError,
        exceptions.IBMAccountError,
    )
    try:
        yield
    except final:
        raise
    except api.RequestsApiError as error:
        code = error.status_code
        refused = 400 <= code < 500 and code not in (408, 429)
        if code in GONE if collecting else refused:
            raise JobError(f"IBM refused: {without_secrets(error.message)}") from error
        raise TransientError(_unreachable(error.message)) from error
    except (OSError, exceptions.IBMError) as error:
        raise TransientError(_unreachable(error)) from error


def _unreachable(reason: object) -> str:
    return f"IBM could not be reached: {without_secrets(reason)}"


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
