"""A stand-in for IBM's service: jobs on disk, with the failures that hardware has."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from aqka._util.arrays import FloatArray
from aqka._util.files import write_atomically
from aqka._util.optional import require
from aqka.backends._jobs.ibm import Pace
from aqka.backends._jobs.local import CircuitPart, sample_part, split_circuit, tiled_result
from aqka.backends.job_service import JobRequest, JobService

REFUSALS = ("refused", "reply lost")
NOT_RUN = ("ERROR", "CANCELLED")
SPOILT = ("no result", "unreadable", "cut", "narrow")  # done, but the outcomes are not there
OPEN_PLAN_MESSAGE = (
    '\'400 Client Error: Bad Request. {"errors":[{"code":1352,"message":"You are not '
    "authorized to run a session when using the open plan.\"}]}'"
)


class FakeRuntime(JobService):
    """Takes the place of IBM's service for a RuntimeBackend.

    Jobs are computed exactly at submission and stored in a directory, so that another process,
    or the same one after a crash, finds them by id or tag.

    Parameters
    ----------
    directory
        Where jobs are kept; an existing one is taken over.
    target
        The backend that circuits are transpiled for; None is a generic one of five qubits.
    allowed
        Execution modes of the account: with ``("batch",)`` a session is refused in the words of
        IBM's open plan.
    delay
        Seconds that each job waits in the queue.
    seconds
        QPU seconds that each job needs, and reports.
    pace
        How fast jobs may be created.

    Attributes
    ----------
    next_job
        What happens to the next submission: ``"refused"`` (an error, no job), ``"reply lost"``
        (an error, but the job is there), ``"ERROR"`` and ``"CANCELLED"`` (before it was run),
        ``"too long"`` (stopped while it ran), ``"no result"``, ``"unreadable"``, ``"cut"`` and
        ``"narrow"`` (run, but its outcomes are lost, garbled, not all there or without a qubit), or
        None. A job that needs more seconds than it may use is stopped as ``"too long"``.
    modes
        The execution modes that were opened, each with its ``name`` and whether it is
        ``closed``.

    Examples
    --------
    >>> import tempfile
    >>> from aqka.core import ShotPlan
    >>> from aqka.backends.runtime import RuntimeBackend
    >>> directory = tempfile.TemporaryDirectory()
    >>> service = FakeRuntime(directory.name)
    >>> backend = RuntimeBackend(service, X=[[0.1, 0.2], [0.4, 0.3]])
    >>> ticket = backend.submit(ShotPlan([1], [1], [10]), tag="first")
    >>> service.submissions, backend.collect(ticket)
    (1, array([10]))
    >>> directory.cleanup()
    """

    def __init__(
        self,
        directory: str | Path,
        target: Any = None,
        *,
        allowed: tuple[str, ...] = ("session", "batch"),
        delay: float = 0.0,
        seconds: float = 2.0,
        pace: Pace | None = None,
    ) -> None:
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        if target is None:
            fake_provider = require("qiskit.providers.fake_provider", "qiskit")
            target = fake_provider.GenericBackendV2(5, seed=0)
        self.target = target
        self.allowed = allowed
        self.delay = delay
        self.seconds = seconds
        self.pace = pace
        self.next_job: str | None = None
        self.modes: list[FakeMode] = []

    @property
    def submissions(self) -> int:
        """Number of jobs that were accepted, by this or by another process."""
        return len(list(self.directory.glob("*.json")))

    def open(self, mode: str) -> "FakeMode":
        """Open an execution mode, if the account may."""
        if mode not in self.allowed:
            raise require("qiskit_ibm_runtime.exceptions", "ibm").IBMRuntimeError(OPEN_PLAN_MESSAGE)
        self.modes.append(FakeMode(mode))
        return self.modes[-1]

    def run(self, request: JobRequest) -> "FakeJob":
        """Sample exactly and store the job."""
        if self.pace is not None:
            self.pace.wait()
        values, shots = request.values, request.shots
        if self.handle is not None and self.handle.closed:
            exceptions = require("qiskit_ibm_runtime.exceptions", "ibm")
            raise exceptions.IBMRuntimeError("The session is closed.")
        primitives = require("qiskit.primitives", "qiskit")
        sampler = primitives.StatevectorSampler(seed=np.random.default_rng(request.seed))
        parts = split_circuit(request.circuit)  # the tiles, each of them small
        outcomes = {}
        for part in parts:

            def sample(rows: FloatArray, shots: int, part: CircuitPart = part) -> Any:
                found = sampler.run([(part.circuit, rows)], shots=shots).result()
                return np.asarray(found[0].data[part.name].array)

            own = values[:, part.columns]
            copied = len(parts) > 1
            outcomes[part.name] = sample_part(own, shots, sample) if copied else sample(own, shots)
        return self.accept(request.tags, tiled_result(outcomes, parts)[0].data, request.seconds)

    def job(self, job_id: str) -> "FakeJob":
        """Return a job by its id."""
        if not (self.directory / f"{job_id}.json").exists():
            exceptions = require("qiskit_ibm_runtime.exceptions", "ibm")
            raise exceptions.RuntimeJobNotFound(f"Job not found: {job_id}")
        return FakeJob(self.directory, job_id)

    def jobs(self, tags: list[str]) -> list["FakeJob"]:
        """Return the jobs that carry all these tags, newest first."""
        jobs = [FakeJob(self.directory, path.stem) for path in self.directory.glob("*.json")]
        matching = [job for job in jobs if set(tags) <= set(job.record["tags"])]
        return sorted(matching, key=lambda job: job.record["number"], reverse=True)

    def cancel(self, job_id: str) -> None:
        """Cancel a job before it is run."""
        self.job(job_id).cancel()

    def expire(self, job_id: str) -> None:
        """Remove a job, as the service does after its retention time."""
        for suffix in ("json", "npy"):
            (self.directory / f"{job_id}.{suffix}").unlink()

    def accept(self, tags: list[str], outcomes: Any, seconds: float | None = None) -> "FakeJob":
        """Store a job with its outcomes, registers by name, or refuse it as ``next_job`` says.

        It is stopped after ``seconds``.
        """
        exceptions = require("qiskit_ibm_runtime.exceptions", "ibm")
        fate, self.next_job = self.next_job, None
        if fate == "refused":
            raise exceptions.IBMRuntimeError("Failed to run program: the service is busy.")
        used = self.seconds if seconds is None else min(seconds, self.seconds)
        if fate is None and used < self.seconds:
            fate = "too long"
        numbers = (job.record["number"] for job in self.jobs([]))
        number = 1 + max(numbers, default=0)
        job_id = f"fake{number:06d}"
        # Registers one behind the other: rows by shots by bytes.
        stored = np.concatenate([bits.array for bits in outcomes.values()], axis=-1)
        np.save(self.directory / f"{job_id}.npy", stored)
        record = {
            "number": number,
            "tags": tags,
            "registers": {name: bits.num_bits for name, bits in outcomes.items()},
            "status": "DONE" if fate in (None, *REFUSALS) else fate,
            "ready": time.time() + self.delay,
            "seconds": 0.0 if fate in NOT_RUN else used,
        }
        # Taken or not taken, nothing in between, even if the process is killed here.
        write_atomically(self.directory / f"{job_id}.json", json.dumps(record).encode())
        if fate == "reply lost":
            raise exceptions.IBMRuntimeError("Failed to run program: the connection was reset.")
        return FakeJob(self.directory, job_id)


class FakeMode:
    """An opened session or batch."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.closed = False

    def close(self) -> None:
        """Accept no more jobs."""
        self.closed = True


class FakeJob:
    """A stored job, with the methods of IBM's that RuntimeBackend uses."""

    def __init__(self, directory: Path, job_id: str) -> None:
        self._path = directory / f"{job_id}.json"
        self._id = job_id

    @property
    def tags(self) -> list[str]:
        """What the job is found by."""
        return list(self.record["tags"])

    @property
    def record(self) -> dict[str, Any]:
        """What is stored about the job."""
        stored: dict[str, Any] = json.loads(self._path.read_text())
        return stored

    def update(self, **changes: Any) -> None:
        """Change what is stored."""
        # Another process may be reading it.
        write_atomically(self._path, json.dumps({**self.record, **changes}).encode())

    def job_id(self) -> str:
        """Return the job's id."""
        return self._id

    def status(self) -> str:
        """Return IBM's word for the job's state."""
        record = self.record
        fate = str(record["status"])
        status = {"too long": "ERROR"}.get(fate, "DONE" if fate in SPOILT else fate)
        return "QUEUED" if status == "DONE" and time.time() < record["ready"] else status

    def cancel(self) -> None:
        """Cancel the job; nothing of it is run."""
        self.update(status="CANCELLED", seconds=0.0)

    def metrics(self) -> dict[str, Any]:
        """Return the job's place among those that wait in the directory."""
        waiting = [
            FakeJob(self._path.parent, path.stem) for path in self._path.parent.glob("*.json")
        ]
        before = self.record["number"]
        ahead = [
            job for job in waiting if job.status() == "QUEUED" and job.record["number"] < before
        ]
        return {"position_in_queue": 1 + len(ahead)}

    def usage(self, partial: bool = False) -> float:
        """Return QPU seconds."""
        return float(self.record["seconds"])

    def result(self) -> Any:
        """Wait for the job and return its outcomes, or raise what IBM's job raises."""
        exceptions = require("qiskit_ibm_runtime.exceptions", "ibm")
        containers = require("qiskit.primitives.containers", "qiskit")
        while self.status() == "QUEUED":
            time.sleep(0.01)
        record = self.record
        if record["status"] == "ERROR":
            raise exceptions.RuntimeJobFailureError("Unable to retrieve job result. Code 9999.")
        if record["status"] == "too long":
            raise exceptions.RuntimeJobMaxTimeoutError("Error code 1305; ran too long.")
        if record["status"] == "CANCELLED":
            raise exceptions.RuntimeInvalidStateError(f"Job {self._id} was cancelled.")
        if record["status"] == "no result":
            return None
        if record["status"] == "unreadable":
            raise ValueError("Expecting value: line 1 column 1 (char 0)")
        array = np.load(self._path.with_suffix(".npy"))
        array = array[:-1] if record["status"] == "cut" else array
        parts = np.split(array, len(record["registers"]), axis=-1)  # all of one size
        named = zip(parts, record["registers"].items(), strict=True)
        fewer = 1 if record["status"] == "narrow" else 0
        bits = {name: containers.BitArray(part, size - fewer) for part, (name, size) in named}
        data = containers.DataBin(**bits, shape=array.shape[:-2])
        return containers.PrimitiveResult([containers.SamplerPubResult(data)])
