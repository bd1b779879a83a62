"""What backends that send Qiskit jobs share: one transpiled circuit, jobs, tickets, counting."""

import hashlib
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray, digest
from aqka.backends._jobs.outcomes import all_zero, packed_bits
from aqka.backends._jobs.rows import Chunk, JobShape, Layout
from aqka.backends._jobs.sent_circuits import SentCircuits, plan_values
from aqka.backends._jobs.tickets import Ticket, part_name
from aqka.backends._points.draw import as_numbers, count_bits
from aqka.backends.base import Backend, check_plan
from aqka.backends.circuits import as_feature_map, as_rows_and_columns, circuit_digest
from aqka.core.outcomes import OutcomeCounts
from aqka.core.plans import Answer, Plan
from aqka.core.point_plans import PointPlan
from aqka.errors import InputError, JobError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


class JobBackend(Backend):
    """Sends a plan as sampler jobs of one PUB each; a subclass sends and finds the jobs.

    Each circuit is built and transpiled once, here. A ticket holds the job ids and the
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
        self._circuits = SentCircuits(chosen_map, target)
        _ = self._circuits.fidelity  # what cannot be transpiled is better told now
        self._sent_jobs: dict[str, dict[int, str]] = {}  # jobs of submissions that were cut short
        self._answers: dict[str, Answer] = {}

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
        other._sent_jobs, other._answers = {}, {}
        return other

    @property
    def shape(self) -> tuple[int, int]:
        """Points of the rows and of the columns."""
        return len(self._rows), len(self._cols)

    @property
    def circuit(self) -> "QuantumCircuit":
        """The transpiled fidelity circuit that jobs of pairs run."""
        return self._circuits.fidelity.circuit

    @property
    def n_qubits(self) -> int:
        """Qubits of the feature map."""
        return int(self._circuits.feature_map.num_qubits)

    @abstractmethod
    def _send(
        self, circuit: "QuantumCircuit", values: FloatArray, shots: int, tag: str, part: str
    ) -> str:
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

    def _layout(self, plan: Plan) -> Layout:
        """Return how a plan becomes rows of jobs."""
        return self._job_shape.layout(plan.shots)

    def submit(self, plan: Plan, tag: str) -> str:
        """Submit a plan and return a ticket: the ids of its jobs and how to read them.

        Where a plan needs several jobs and one is refused, those already accepted are
        remembered: submitting the same plan under the same tag again sends only the others.
        """
        check_plan(plan, self.shape, self.n_qubits)
        key = self._submission_key(plan, tag)
        layout, circuit = self._layout(plan), self._circuits.of(plan).circuit
        sent = self._sent_jobs.setdefault(key, {})
        chunks = layout.chunks()
        for k, chunk in enumerate(chunks):
            if k not in sent:
                part = part_name(key, k, len(chunks))
                sent[k] = self._send(circuit, self._values(plan, chunk), chunk.shots, tag, part)
        del self._sent_jobs[key]
        job_ids = [sent[k] for k in range(len(chunks))]
        return Ticket(job_ids, layout, isinstance(plan, PointPlan)).write()

    def collect(self, ticket: str) -> Answer:
        """Wait for the jobs of a ticket and return hits or outcomes, as often as asked."""
        if ticket not in self._answers:
            self._answers[ticket] = self._collect(ticket)
        answer = self._answers[ticket]
        return answer if isinstance(answer, OutcomeCounts) else answer.copy()

    def _collect(self, ticket: str) -> Answer:
        parsed = Ticket.read(ticket)
        tally = _Outcomes() if parsed.points else _Hits(len(parsed.layout.shots))
        jobs: dict[str, Any] = {}
        shots = np.zeros_like(parsed.layout.shots)
        failed: JobError | None = None
        lost = 0
        for job_id, chunk in zip(parsed.job_ids, parsed.layout.chunks(), strict=True):
            job, result = None, None
            try:
                job = self._job(job_id)
                result = self._result(job)
                _take(tally, result, chunk, job_id)
            except JobError as error:
                failed = failed or error  # the other jobs of the plan may have their outcomes
                if result is not None or self._was_run(job):
                    lost += int(chunk.row_shots().sum())
                continue
            jobs[job_id] = job
            shots += chunk.per_pair(chunk.row_shots(), len(shots))
        self._finish(ticket, jobs)
        if failed is not None:
            raise JobError(str(failed), (shots, tally.answer()) if jobs else None, lost) from failed
        return tally.answer()

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

    def _values(self, plan: Plan, chunk: Chunk) -> FloatArray:
        order = self._circuits.of(plan).order
        return plan_values(plan, chunk.pairs, self._rows, self._cols, order)

    def _submission_key(self, plan: Plan, tag: str) -> str:
        """Return a short name of this plan under this tag for these points."""
        key = hashlib.sha256(tag.encode())
        names = (*plan.ROWS, "letters") if isinstance(plan, PointPlan) else plan.ROWS
        for array in (self._rows, self._cols, *(getattr(plan, name) for name in names)):
            key.update(array.tobytes())
        key.update(self._layout(plan).encode().encode())
        return key.hexdigest()[:24]


class _Hits:
    """Counts all-zero outcomes of pairs, job by job."""

    def __init__(self, n_pairs: int) -> None:
        self._hits = np.zeros(n_pairs, dtype=np.int64)

    def take(self, result: Any, chunk: Chunk, job_id: str) -> None:
        row_hits = chunk.hits(all_zero(result, job_id))
        self._hits += chunk.per_pair(row_hits, len(self._hits))

    def answer(self) -> IntArray:
        return self._hits


class _Outcomes:
    """Counts the outcomes of points, job by job."""

    def __init__(self) -> None:
        none = np.zeros(0, dtype=np.int64)
        self._rows, self._outcomes = [none], [none]

    def take(self, result: Any, chunk: Chunk, job_id: str) -> None:
        rows, outcomes = chunk.seen(as_numbers(packed_bits(result, job_id)))
        self._rows.append(rows)
        self._outcomes.append(outcomes)

    def answer(self) -> OutcomeCounts:
        return count_bits(np.concatenate(self._rows), np.concatenate(self._outcomes))


def _take(tally: _Hits | _Outcomes, result: Any, chunk: Chunk, job_id: str) -> None:
    try:
        tally.take(result, chunk, job_id)
    except InputError as error:
        raise JobError(f"the result of job {job_id} is not that of its rows: {error}") from error
