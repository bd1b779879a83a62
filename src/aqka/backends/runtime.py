"""Shots on IBM hardware, safe against crashes: jobs are tagged, and found by id or by tag."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray, as_count
from aqka._util.optional import require
from aqka.backends._jobs.ibm import EXTRA, IbmRuntime, LocalRuntime, Runtime, open_best, row_limit
from aqka.backends._jobs.rows import JobShape
from aqka.backends._jobs.sender import JobBackend, part_name
from aqka.backends.base import check_plan
from aqka.backends.simulated import tag_seed
from aqka.core.plans import ShotPlan
from aqka.errors import InputError, JobError, TransientError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

MODES = {"auto": ("session", "batch"), "session": ("session",), "batch": ("batch",), "job": ()}
TAG_LENGTH = 80  # IBM limits the length of a job tag
LOST = ("CANCELLED", "ERROR")


@dataclass
class _Opened:
    """The execution mode in use, shared by backends of different points."""

    name: str = "job"
    mode: Any = None


class RuntimeBackend(JobBackend):
    """Runs the fidelity test on an IBM quantum computer, one job per plan.

    Used in a ``with`` block, jobs run in a session, in a batch where the account's plan has no
    sessions, and else as plain jobs; it is closed on success, on an error and on Ctrl-C, and
    jobs already queued still run and can be collected later. Without the block jobs are plain.
    Several :func:`~aqka.acquire` calls in one block share its session, and so does a backend
    made by :meth:`with_points`.

    Parameters
    ----------
    backend
        A backend of a ``QiskitRuntimeService``; or a fake or Aer backend, which runs in this
        process with its noise; or a :class:`~aqka.testing.fake_runtime.FakeRuntime`.
    X, feature_map, columns
        See :class:`~aqka.backends.SamplerBackend`.
    mode
        ``"auto"`` tries a session, then a batch; ``"session"`` or ``"batch"`` tries only this
        one. Where the account's plan refuses, jobs are plain, as with ``"job"``.
    options
        IBM's sampler options, for example ``{"max_execution_time": 300}`` (QPU seconds after
        which IBM cancels a job) or ``{"dynamical_decoupling": {"enable": True}}``.
    jobs
        How plans become jobs. None takes IBM's limits of executions and of instructions, which
        bounds the rows of a job by the depth of the circuit; local backends, whose shots cost
        nothing, run one row per pair.
    seed
        Of local backends: hits depend on it and on the tag.

    Attributes
    ----------
    usage
        QPU seconds of each collected ticket; IBM may report 0 until it has settled a job, and
        NaN says that it could not be asked.

    Examples
    --------
    On hardware::

        service = QiskitRuntimeService()
        device = service.least_busy(operational=True, simulator=False)
        with RuntimeBackend(device, X, options={"max_execution_time": 300}) as backend:
            uniform = acquire(backend, y, budget=100_000, allocator="uniform")
            aqka = acquire(backend, y, budget=100_000, allocator="aqka")

    After a crash before the ticket was stored::

        ticket = backend.recover(plan, tag) or backend.submit(plan, tag)
    """

    def __init__(
        self,
        backend: Any,
        X: ArrayLike,
        feature_map: "QuantumCircuit | None" = None,
        *,
        columns: ArrayLike | None = None,
        mode: str = "auto",
        options: dict[str, Any] | None = None,
        jobs: JobShape | None = None,
        seed: int = 0,
    ) -> None:
        if mode not in MODES:
            raise InputError(f"mode must be one of {', '.join(MODES)}; got {mode!r}.")
        self._seed = as_count(seed, "seed", minimum=0)
        self._wanted = MODES[mode]
        self._runtime = _runtime_of(backend, options or {})
        self._opened = _Opened()
        self._doubtful: set[str] = set()
        self._usage: dict[str, float] = {}
        shape = jobs or JobShape(free_shots=self._runtime.is_local)
        super().__init__(X, feature_map, columns, self._runtime.target, shape)
        if jobs is None and not self._runtime.is_local:
            self._shape = replace(shape, max_rows=min(shape.max_rows, row_limit(self._circuit)))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the session, which stays with the process that opened it."""
        return {**self.__dict__, "_opened": _Opened()}

    @property
    def replayable(self) -> bool:
        """Whether a tag can be run again for the same hits, as on a seeded local backend."""
        return self._runtime.is_local

    @property
    def usage(self) -> dict[str, float]:
        """QPU seconds of the tickets that were collected."""
        return self._usage

    @property
    def name(self) -> str:
        """Name of the device."""
        return str(getattr(self._runtime.target, "name", type(self._runtime.target).__name__))

    def _device_name(self) -> str:
        return self.name

    @property
    def calibrated_at(self) -> str | None:
        """When the device was last calibrated, if it says so."""
        properties = getattr(self._runtime.target, "properties", lambda: None)()
        moment = getattr(properties, "last_update_date", None)
        return None if moment is None else str(moment)

    @property
    def mode(self) -> str:
        """How jobs are run now: ``local``, ``session``, ``batch`` or ``job``."""
        return "local" if self._runtime.is_local else self._opened.name

    def __enter__(self) -> "RuntimeBackend":
        """Open the best execution mode that the account may use."""
        if not self._runtime.is_local and self._opened.mode is None:
            self._opened.name, self._opened.mode = open_best(self._runtime, self._wanted)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the session, whatever ended the block."""
        self.close()

    def close(self) -> None:
        """Close the session or batch, which is billed while open; queued jobs still run."""
        mode, self._opened.mode, self._opened.name = self._opened.mode, None, "job"
        if mode is not None:
            mode.close()

    def submit(self, plan: ShotPlan, tag: str) -> str:
        """Submit a plan and return a ticket.

        A submission that ended in an error may have reached IBM all the same. Submitting the
        plan under its tag again therefore looks for its jobs first, and sends only what is
        missing. In a new process call :meth:`recover`.
        """
        key = self._fingerprint(plan, tag)
        with self._passing_errors():
            if key in self._doubtful:
                self._sent[key] = {**self._sent.get(key, {}), **self._find_parts(plan, tag)}
            self._doubtful.add(key)
            ticket = super().submit(plan, tag)
            self._doubtful.discard(key)
        return ticket

    def collect(self, ticket: str) -> IntArray:
        """Wait for the jobs of a ticket and return the hits, as often as asked."""
        with self._passing_errors():
            return super().collect(ticket)

    @contextmanager
    def _passing_errors(self) -> Iterator[None]:
        """Tell errors that may pass, such as the network's, from those that will not."""
        if self._runtime.is_local:
            yield
            return
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
            if 400 <= error.status_code < 500 and error.status_code not in (408, 429):
                raise JobError(f"IBM refused: {error.message}") from error
            raise TransientError(f"IBM could not be reached: {error.message}") from error
        except (OSError, exceptions.IBMError) as error:
            raise TransientError(f"IBM could not be reached: {error}") from error

    def recover(self, plan: ShotPlan, tag: str) -> str | None:
        """Return the ticket of a plan that was submitted but whose ticket was not stored.

        Jobs are found by their tags, which name the tag, the points and the plan, so that a
        job of other data under the same tag is never taken. Jobs that failed or were cancelled
        do not count. None says that there is no job; where only some of a plan's jobs are
        there, the others are sent.
        """
        check_plan(plan, self.shape)
        with self._passing_errors():
            found = self._find_parts(plan, tag)
        if not found:
            return None
        self._sent[self._fingerprint(plan, tag)] = found
        return self.submit(plan, tag)

    def find(self, tag: str) -> list[str]:
        """Return the ids of all jobs that carry a tag, newest first, whatever their data."""
        return [str(job.job_id()) for job in self._runtime.jobs([_short(tag)])]

    def _find_parts(self, plan: ShotPlan, tag: str) -> dict[int, str]:
        """Return the living jobs of a plan, by their place in it."""
        key = self._fingerprint(plan, tag)
        parts = len(self._shape.layout(plan.shots).chunks())
        found = {}
        for k in range(parts):
            jobs = self._runtime.jobs([_short(tag), part_name(key, k, parts)])
            living = (str(job.job_id()) for job in jobs if _status(job) not in LOST)
            for job_id in living:
                found[k] = job_id
                break  # the newest
        return found

    def _send(self, values: FloatArray, shots: int, tag: str, part: str) -> str:
        seed = tag_seed(self._seed, f"{tag}/{part}")
        sampler = self._runtime.sampler(self._opened.mode, [_short(tag), part], seed)
        job = sampler.run([(self._circuit, values)], shots=shots)
        return str(job.job_id())

    def _job(self, job_id: str) -> Any:
        if self._runtime.is_local:
            return self._runtime.job(job_id)
        exceptions = require("qiskit_ibm_runtime.exceptions", EXTRA)
        try:
            return self._runtime.job(job_id)
        except exceptions.RuntimeJobNotFound as error:
            raise JobError(
                f"job {job_id} is unknown to the service: it expired, or belongs to another "
                "account or instance. Open the service with the instance it was sent from; if it "
                "expired, its shots are lost and the plan has to be submitted again."
            ) from error

    def _result(self, job: Any) -> Any:
        if self._runtime.is_local:
            return job.result()
        exceptions = require("qiskit_ibm_runtime.exceptions", EXTRA)
        job_id = job.job_id()
        remedy = "Nothing was run again: submit the plan anew when the cause is mended."
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
            raise JobError(f"job {job_id} failed: {error}. {remedy}") from error

    def _finish(self, ticket: str, jobs: dict[str, Any]) -> None:
        if isinstance(self._runtime, LocalRuntime):
            self._usage[ticket] = 0.0
            for job_id in jobs:
                self._runtime.forget(job_id)
            return
        exceptions = require("qiskit_ibm_runtime.exceptions", EXTRA)
        try:
            self._usage[ticket] = sum(_seconds(job) for job in jobs.values())
        except exceptions.IBMError:
            self._usage[ticket] = float("nan")  # the hits matter more than their bill


def _runtime_of(backend: Any, options: dict[str, Any]) -> Runtime:
    """Return how a backend's jobs are sent."""
    # Of the type, because an IBM backend asks the service for attributes it does not have.
    if all(hasattr(type(backend), name) for name in ("open", "sampler", "job", "jobs")):
        runtime: Runtime = backend
        return runtime
    client = require("qiskit_ibm_runtime", EXTRA)
    if isinstance(backend, client.IBMBackend):
        return IbmRuntime(backend, options)
    if not hasattr(backend, "target"):
        raise InputError(
            "backend must be a backend of QiskitRuntimeService, or a fake one for a local test; "
            f"got {type(backend).__name__}. Pass service.backend(name), not its name."
        )
    return LocalRuntime(backend)


def _short(tag: str) -> str:
    """Return the tag, shortened where it exceeds what IBM takes."""
    if len(tag) <= TAG_LENGTH:
        return tag
    return f"{tag[: TAG_LENGTH - 17]}-{hashlib.sha256(tag.encode()).hexdigest()[:16]}"


def _seconds(job: Any) -> float:
    """Return QPU seconds: the settled ones, or those counted so far."""
    return float(job.usage() or job.usage(partial=True) or 0.0)


def _status(job: Any) -> str:
    """Return a job's status as IBM's words, which are names of an enum for some jobs."""
    status = job.status()
    return str(getattr(status, "name", status))
