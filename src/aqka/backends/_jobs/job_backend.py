"""What backends that send Qiskit jobs share: one transpiled circuit, jobs, tickets, counting."""

import hashlib
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray, digest
from aqka.backends._jobs.outcomes import all_zero
from aqka.backends._jobs.rows import Chunk, JobShape
from aqka.backends._jobs.tickets import part_name, read_ticket, write_ticket
from aqka.backends._jobs.transpile import transpile_circuit
from aqka.backends.base import Backend, Workload, check_plan
from aqka.backends.circuits import (
    as_feature_map,
    as_rows_and_columns,
    circuit_digest,
    fidelity_circuit,
)
from aqka.core.plans import ShotPlan
from aqka.errors import InputError, JobError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


class JobBackend(Backend):
    """Sends a plan as sampler jobs of one PUB each; a subclass sends and finds the jobs.

    The fidelity circuit is built and transpiled once, here. A ticket holds the job ids and the
    layout of the rows, so it can be collected by another process that can reach the jobs.
    """

    def __init__(
        self,
        X: ArrayLike,
        feature_map: "QuantumCircuit | None",
        columns: ArrayLike | None,
        target: Any,
        jobs: JobShape,
    ) -> None:
        self._rows, self._cols = as_rows_and_columns(X, columns)
        self._job_shape = jobs
        chosen_map = as_feature_map(feature_map, self._rows.shape[1])
        self._feature_map = circuit_digest(chosen_map)
        plain = fidelity_circuit(chosen_map)
        self._circuit = transpile_circuit(plain, target)
        # A transpiler may drop parameters that act on nothing, and decides on their order.
        position = {parameter: k for k, parameter in enumerate(plain.parameters)}
        self._order = np.array([position[parameter] for parameter in self._circuit.parameters])
        self._sent_jobs: dict[str, dict[int, str]] = {}  # jobs of submissions that were cut short
        self._hits: dict[str, IntArray] = {}

    def with_points(self, X: ArrayLike, columns: ArrayLike | None = None) -> Self:
        """Return the backend for other points, as those of a test-by-train block.

        The circuit is not transpiled again, and an open session is shared.
        """
        # Not copy(), which leaves out what pickling does: the session and running jobs.
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._rows, other._cols = as_rows_and_columns(X, columns)
        if other._rows.shape[1] != self._rows.shape[1]:
            raise InputError(
                f"X has {other._rows.shape[1]} features but the circuit encodes "
                f"{self._rows.shape[1]}; they must agree."
            )
        other._sent_jobs, other._hits = {}, {}
        return other

    @property
    def shape(self) -> tuple[int, int]:
        """Points of the rows and of the columns."""
        return len(self._rows), len(self._cols)

    @property
    def circuit(self) -> "QuantumCircuit":
        """The transpiled fidelity circuit that every job runs."""
        return self._circuit

    @abstractmethod
    def _send(self, values: FloatArray, shots: int, tag: str, part: str) -> str:
        """Submit one job and return its id; ``part`` names it among all jobs of a tag."""

    @abstractmethod
    def _job(self, job_id: str) -> Any:
        """Return the job, or raise a JobError that says why it cannot be found."""

    @abstractmethod
    def _result(self, job: Any) -> Any:
        """Wait for the job and return its result, or raise a JobError."""

    @abstractmethod
    def _finish(self, ticket: str, jobs: dict[str, Any]) -> None:
        """Record what is worth keeping of finished jobs, whose hits are safe, and let go."""

    def _was_run(self, job: Any | None) -> bool:
        """Return whether a job without a result was run, and so is paid for; None: not found.

        The default knows of none.
        """
        return False

    def workload(self, plan: ShotPlan) -> Workload:
        """Return what a plan asks of the device: an execution for each shot, in so many jobs."""
        return Workload(plan.total, plan.total, self._job_shape.count_jobs(plan.shots))

    def submit(self, plan: ShotPlan, tag: str) -> str:
        """Submit a plan and return a ticket: the ids of its jobs and how to read them.

        Where a plan needs several jobs and one is refused, those already accepted are
        remembered: submitting the same plan under the same tag again sends only the others.
        """
        check_plan(plan, self.shape)
        key = self._submission_key(plan, tag)
        layout = self._job_shape.layout(plan.shots)
        sent = self._sent_jobs.setdefault(key, {})
        chunks = layout.chunks()
        for k, chunk in enumerate(chunks):
            if k not in sent:
                part = part_name(key, k, len(chunks))
                sent[k] = self._send(self._values(plan, chunk), chunk.shots, tag, part)
        del self._sent_jobs[key]
        return write_ticket([sent[k] for k in range(len(chunks))], layout)

    def collect(self, ticket: str) -> IntArray:
        """Wait for the jobs of a ticket and return the hits, as often as asked."""
        if ticket in self._hits:
            return self._hits[ticket].copy()
        ids, layout = read_ticket(ticket)
        jobs: dict[str, Any] = {}
        hits, shots = np.zeros_like(layout.shots), np.zeros_like(layout.shots)
        failed: JobError | None = None
        lost = 0
        for job_id, chunk in zip(ids, layout.chunks(), strict=True):
            job, result = None, None
            try:
                job = self._job(job_id)
                result = self._result(job)
                row_hits = self._hits_of(result, chunk, job_id)
            except JobError as error:
                failed = failed or error  # the other jobs of the plan may have their hits
                if result is not None or self._was_run(job):
                    lost += int(chunk.row_shots().sum())
                continue
            jobs[job_id] = job
            hits += chunk.per_pair(row_hits, len(hits))
            shots += chunk.per_pair(chunk.row_shots(), len(hits))
        self._finish(ticket, jobs)
        if failed is not None:
            raise JobError(str(failed), (shots, hits) if jobs else None, lost) from failed
        self._hits[ticket] = hits
        return hits.copy()

    @staticmethod
    def _hits_of(result: Any, chunk: Chunk, job_id: str) -> IntArray:
        try:
            return chunk.hits(all_zero(result, job_id))
        except InputError as error:
            raise JobError(
                f"the result of job {job_id} is not that of its rows: {error}"
            ) from error

    def fingerprint(self) -> str:
        """Return a text that tells backends of other data, another map or device apart.

        It is the map as given that counts: how it is transpiled changes with every calibration,
        and a run must be resumable after one.
        """
        parts = f"X={digest(self._rows)}, columns={digest(self._cols)}"
        name = type(self).__name__
        return f"{name}({parts}, feature_map={self._feature_map}, device={self._device_name()})"

    def _device_name(self) -> str:
        """Return the name of the one device that a run must stay on; empty where any may run it."""
        return ""

    def _values(self, plan: ShotPlan, chunk: Chunk) -> FloatArray:
        points = (self._rows[plan.rows[chunk.pairs]], self._cols[plan.cols[chunk.pairs]])
        return np.asarray(np.concatenate(points, axis=1)[:, self._order])

    def _submission_key(self, plan: ShotPlan, tag: str) -> str:
        """Return a short name of this plan under this tag for these points."""
        key = hashlib.sha256(tag.encode())
        for array in (self._rows, self._cols, plan.rows, plan.cols):
            key.update(array.tobytes())
        key.update(self._job_shape.layout(plan.shots).encode().encode())
        return key.hexdigest()[:24]
