"""What backends that send Qiskit jobs share: transpiled circuits, jobs, tickets, counting."""

import hashlib
from copy import copy, deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray, digest
from aqka.backends._jobs.outcomes import DealtRows, Tally
from aqka.backends._jobs.rows import (
    Chunk,
    JobShape,
    Layout,
    Ticket,
    part_name,
    shorten_tag,
    tiles_sent,
)
from aqka.backends._jobs.transpile import Transpiler
from aqka.backends._programs import BY_DESIGN, CircuitBackend, SentCircuits, program_of
from aqka.backends._tiles.deal import Deal, Sentinels
from aqka.backends.base import JobState, Workload, check_design, check_plan, wrapped
from aqka.backends.circuits import as_feature_map, as_rows_and_columns, circuit_digest
from aqka.backends.diagonal import TileHits
from aqka.backends.feature_maps import runs_backwards
from aqka.backends.job_service import (
    JobRequest,
    JobService,
    cancel_queued,
    find_job,
    is_lost,
    qpu_seconds,
    tell_passing_errors,
    wait_for_result,
    was_run,
)
from aqka.backends.simulated import tag_seed
from aqka.backends.tiles import TileRule, TilesInUse, Tiling
from aqka.core.plans import Answer, Plan, ShotPlan
from aqka.errors import InputError, JobError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


class JobBackend(CircuitBackend):
    """Sends a plan to a service as sampler jobs of one PUB each.

    Each circuit is transpiled and tiled once, when it is first needed. A ticket holds the job ids
    and the layout of the rows, so it can be collected by another process that can reach the jobs.
    """

    _device_name = ""  # of the one device that a run must stay on; empty where any may run it

    def __init__(
        self,
        service: JobService,
        X: ArrayLike,
        feature_map: "QuantumCircuit | str | None",
        columns: ArrayLike | None,
        transpile: Transpiler,
        jobs: JobShape,
        tiles: TileRule,
        seed: int,
        design: str,
        fractional: bool = False,
    ) -> None:
        self._rows, self._columns = as_rows_and_columns(X, columns)
        self._service, self._job_shape = service, jobs
        self._usage: dict[str, float | None] = {}
        self._seconds_left: float | None = None
        self._map = as_feature_map(feature_map, self._rows.shape[1], backwards=False)
        self._feature_map = circuit_digest(self._map)
        self._circuits = SentCircuits(self._map, transpile, fractional)
        # A map without an inverse serves points alone.
        self._main = BY_DESIGN[check_design(design) if runs_backwards(self._map) else "points"]
        transpile.check(self.n_qubits)  # it is better to hear now of a device that is too small
        self._seed = seed
        self._tiles = None if tiles.count == 1 else TilesInUse(service.target, tiles)
        self._sentinels: Sentinels | None = None
        # By keys and tickets that no other points have, so that backends for them may share these.
        self._sent_jobs: dict[str, dict[int, str]] = {}  # jobs of submissions that were cut short
        self._sent_on: dict[str, int] = {}  # how many tiles these were sent on
        self._answers: dict[str, Answer] = {}
        self.tile_hits: dict[str, TileHits] = {}  # what the sentinels of collected tickets saw

    def with_points(self, X: ArrayLike, columns: ArrayLike | None = None) -> Self:
        """Return the backend for other points, as those of a test-by-train block.

        The circuit is not transpiled again, and an open session is shared.
        """
        other = copy(self)
        other._rows, other._columns = as_rows_and_columns(X, columns)
        if other._rows.shape[1] != self._rows.shape[1]:
            raise InputError(
                f"X has {other._rows.shape[1]} features but the circuit encodes "
                f"{self._rows.shape[1]}; they must agree."
            )
        other._sentinels = None
        return other

    def with_sentinels(self, points: tuple[int, ...], shots: int) -> Self:
        """Return the backend with diagonal entries that every tile measures beside each plan."""
        other = self.with_points(self._rows, self._columns)
        other._sentinels = Sentinels(points, shots)
        return other

    def settle_on(self, design: str) -> None:
        """Transpile and tile a design's circuit: it is better to hear now of what cannot be."""
        self._circuits.of(BY_DESIGN[design])
        if self._tiles is not None:
            self._tiles.find(BY_DESIGN[design], self._circuits)
        self._main = BY_DESIGN[design]

    @property
    def tiling(self) -> Tiling | None:
        """The tiles that copies of :attr:`circuit` run on; None where it runs in one place."""
        return None if self._tiles is None else self._tiles.find(self._main, self._circuits)

    @property
    def n_tiles(self) -> int:
        return 1 if self.tiling is None else len(self.tiling)

    def drop_tiles(self, names: set[str]) -> None:
        """Use some tiles no more, here and in all backends that share the device."""
        if self._tiles is not None:
            self._tiles.drop(names)

    def tile_shots(self, ticket: str) -> IntArray:
        """Return the shots that each row of a ticket's plan has on each tile, rows by tiles.

        Tiles are in the order of ``tile_hits``. It follows from the ticket alone.
        """
        parsed = Ticket.read(ticket)
        n_tiles = parsed.layout.tiles
        found = np.zeros((len(parsed.layout.shots), n_tiles), dtype=np.int64)
        for k, chunk in enumerate(parsed.layout.chunks()):
            slots = DealtRows.of(chunk, k, parsed.deal, None).slots
            np.add.at(found, (chunk.plan_rows, slots % n_tiles), chunk.row_shots())
        return found

    replayable = wrapped("replayable", "_service")
    is_paid = wrapped("is_paid", "_service")

    @property
    def usage(self) -> dict[str, float | None]:
        """QPU seconds of the tickets that were collected; IBM may say 0 until it settles a job."""
        return self._usage

    def limit_seconds(self, seconds: float | None) -> None:
        """Let all jobs of a later submission together run no longer than so many QPU seconds."""
        self._seconds_left = seconds

    def _prepare(self, plan: Plan) -> None:
        """Make ready to send a plan, or refuse it."""

    def _shape_of_jobs(self, plan: Plan) -> JobShape:
        """Return what bounds the jobs of a plan."""
        return self._job_shape

    def _layout(self, plan: Plan, n_tiles: int | None = None) -> Layout:
        shape, sentinels = self._shape_of_jobs(plan), self._sentinels_beside(plan)
        return shape.layout(plan.shots, n_tiles or 1, sentinels, program_of(plan).on_all_tiles)

    def _sentinels_beside(self, plan: Plan) -> Sentinels | None:
        return self._sentinels if program_of(plan).watched and plan.total else None

    def _tiles_for(self, plan: Plan, key: str) -> int | None:
        """Return how many tiles a submission is sent on; None without tiles."""
        if self._tiles is None:
            return None
        return self._sent_on.get(key) or len(self._tiles.find(program_of(plan), self._circuits))

    def workload(self, plan: Plan) -> Workload:
        """Return what a plan asks of the device: rows side by side on tiles share executions."""
        n_tiles = self._tiles_for(plan, "")
        side, chunks = n_tiles or 1, self._layout(plan, n_tiles).chunks()
        executions = sum(-(-len(chunk.plan_rows) // side) * chunk.shots for chunk in chunks)
        if self._job_shape.free_shots and n_tiles is None:
            executions = plan.total  # as on hardware, whatever a simulator runs for nothing
        watched, sentinels = 0, self._sentinels_beside(plan)
        if sentinels is not None and chunks:  # the first job has them, in rows of its own shots
            watched = sentinels.rows(chunks[0].shots) * chunks[0].shots
        return Workload(plan.total + watched * side, executions + watched, len(chunks))

    def submit(self, plan: Plan, tag: str) -> str:
        """Submit a plan and return a ticket: the ids of its jobs and how to read them.

        Where a plan needs several jobs and one is refused, those already accepted are
        remembered: submitting the same plan under the same tag again sends only the others. A
        submission that ended in an error may have reached the service all the same, so its jobs are
        looked for first. In a new process call :meth:`recover`.
        """
        check_plan(plan, self.shape, self.n_qubits, self.flipped_bits)
        self._prepare(plan)
        key = self._submission_key(plan, tag)
        with tell_passing_errors(self._service):
            if key in self._sent_jobs:
                self._sent_jobs[key] |= self._find_parts(plan, tag)
            return self._send(plan, tag, key)

    def _send(self, plan: Plan, tag: str, key: str) -> str:
        """Send the jobs of a plan that the service has not accepted yet; return its ticket."""
        n_tiles = self._tiles_for(plan, key)
        layout = self._layout(plan, n_tiles)
        deal = None if n_tiles is None else Deal.of(n_tiles, self._seed, tag)
        share = None  # of the seconds left, for each that a job is expected to take
        if self._seconds_left is not None:
            work = self.workload(plan)
            share = self._seconds_left / expected_seconds(work.jobs, work.executions)
        sent, chunks = self._sent_jobs.setdefault(key, {}), layout.chunks()
        for k, chunk in enumerate(chunks):
            if k in sent:
                continue
            part = part_name(key, k, len(chunks), n_tiles)
            circuit, values = self._laid_out(plan, chunk, deal, k)
            needed = expected_seconds(1, len(values) * chunk.shots)
            seconds = None if share is None else share * needed
            tags, seed = [shorten_tag(tag), part], tag_seed(self._seed, f"{tag}/{part}")
            request = JobRequest(circuit, values, chunk.shots, tags, seed, seconds)
            sent[k] = str(self._service.run(request).job_id())
            if n_tiles is not None:
                self._sent_on[key] = n_tiles
        del self._sent_jobs[key]
        self._sent_on.pop(key, None)
        job_ids, beside = [sent[k] for k in range(len(chunks))], self._sentinels_beside(plan)
        points = program_of(plan).reads_all_qubits
        return Ticket(job_ids, layout, points, deal, beside, plan.bits is not None).write()

    def recover(self, plan: Plan, tag: str) -> str | None:
        """Return the ticket of a plan that was submitted but whose ticket was not stored.

        Jobs are found by their tags, which name the tag, the points and the plan, so that a
        job of other data under the same tag is never taken. Jobs that failed or were cancelled
        before they were run do not count. None says that there is no job; where only some of a
        plan's jobs are there, the others are sent.
        """
        check_plan(plan, self.shape, self.n_qubits, self.flipped_bits)
        with tell_passing_errors(self._service):
            found = self._find_parts(plan, tag)
            if not found:
                return None
            key = self._submission_key(plan, tag)
            self._sent_jobs[key] = found
            return self._send(plan, tag, key)

    def _find_parts(self, plan: Plan, tag: str) -> dict[int, str]:
        """Return the living jobs of a plan, by their place in it."""
        key = self._submission_key(plan, tag)
        if self._tiles is not None:  # keep to as many as the plan was sent on
            jobs = self._service.jobs([shorten_tag(tag)])
            counts = (tiles_sent(key, job.tags or ()) for job in jobs if not is_lost(job))
            known = next((count for count in counts if count is not None), None)
            if known is not None:
                self._sent_on[key] = known
        n_tiles = self._tiles_for(plan, key)
        parts = len(self._layout(plan, n_tiles).chunks())
        found = {}
        for k in range(parts):
            jobs = self._service.jobs([shorten_tag(tag), part_name(key, k, parts, n_tiles)])
            newest = next((job for job in jobs if not is_lost(job)), None)
            if newest is not None:
                found[k] = str(newest.job_id())
        return found

    def cancel(self, plan: Plan, tag: str, ticket: str | None) -> list[JobState]:
        if self._service.is_local:
            return []
        with tell_passing_errors(self._service):
            if ticket is None:
                found = list(self._find_parts(plan, tag).values())
            else:
                found = Ticket.read(ticket).job_ids
            return [cancel_queued(find_job(self._service, job_id)) for job_id in found]

    def _laid_out(
        self, plan: Plan, chunk: Chunk, deal: Deal | None, k: int
    ) -> tuple["QuantumCircuit", FloatArray]:
        """Return the circuit of the k-th job and its values, dealt to tiles where there are any."""
        values, program = self._values(plan, chunk.plan_rows), program_of(plan)
        if deal is None or self._tiles is None:
            return self._circuits.of(program).circuit, values
        dealt = DealtRows.of(chunk, k, deal, self._sentinels_beside(plan))
        points = dealt.sentinel_points
        diagonal = ShotPlan(points, points, np.ones_like(points))
        beside = self._values(diagonal, np.arange(len(points))) if len(points) else values[:0]
        tiled = self._tiles.tiled(program, self._circuits, deal.n_tiles)
        return tiled.circuit, tiled.values(dealt.side_by_side(values, beside))

    def collect(self, ticket: str) -> Answer:
        """Wait for the jobs of a ticket and return hits or outcomes, as often as asked."""
        if ticket not in self._answers:
            with tell_passing_errors(self._service, collecting=True):
                self._answers[ticket] = self._collect(ticket)
        return deepcopy(self._answers[ticket])

    def _collect(self, ticket: str) -> Answer:
        parsed = Ticket.read(ticket)
        tally = Tally(parsed, self.n_qubits)
        jobs: list[Any] = []
        counted: list[str] = []
        shots = np.zeros_like(parsed.layout.shots)
        failed: JobError | None = None
        lost = 0
        for k, chunk in enumerate(parsed.layout.chunks()):
            job_id, job, result = parsed.job_ids[k], None, None
            try:
                # One by one, so that a job whose result is gone does not cost those of the others.
                with tell_passing_errors(self._service, collecting=True):
                    job = find_job(self._service, job_id)
                    jobs.append(job)
                    result = wait_for_result(job, local=self._service.is_local)
                dealt = DealtRows.of(chunk, k, parsed.deal, parsed.sentinels)
                bits, seen = dealt.read(result, self.n_qubits, job_id)
            except JobError as error:
                failed = failed or error  # the other jobs of the plan may have their outcomes
                # A job that cannot be found may have been run; those of simulators are free.
                local = self._service.is_local
                run = self.is_paid or not local if job is None else not local and was_run(job)
                if result is not None or run:
                    lost += int(chunk.row_shots().sum())
                continue
            tally.take(bits, chunk)
            if seen is not None:
                self.tile_hits[ticket] = seen
            counted.append(job_id)
            shots += chunk.per_plan_row(chunk.row_shots(), len(shots))
        if not self._service.is_local:
            self._usage[ticket] = qpu_seconds(jobs)
        elif not self.is_paid:
            self._usage[ticket] = 0.0
        for job_id in counted:
            self._service.forget(job_id)
        if failed is not None:
            raise JobError(
                str(failed), (shots, tally.answer()) if counted else None, lost
            ) from failed
        return tally.answer()

    def fingerprint(self) -> str:
        """Return a text that tells backends of other data, another map or device apart.

        It is the map as given that counts: how it is transpiled changes with every calibration,
        and a run must be resumable after one.
        """
        parts = f"X={digest(self._rows)}, columns={digest(self._columns)}"
        parts += f", feature_map={self._feature_map}, device={self._device_name}"
        if self._tiles is not None:
            # The rule, not the tiles found, which change with every calibration.
            parts += f", tiles={self._tiles.rule.describe()}"
        return f"{type(self).__name__}({parts})"

    def _values(self, plan: Plan, which: IntArray) -> FloatArray:
        program = program_of(plan)
        values = program.values(plan, which, self._rows, self._columns)
        return self._circuits.of(program).values(values)

    def _submission_key(self, plan: Plan, tag: str) -> str:
        """Return a short name of this plan under this tag for these points."""
        key = hashlib.sha256(tag.encode())
        measured = [getattr(plan, name) for name in plan.ROWS]
        letters = [] if plan.letters is None else [plan.letters]
        for array in (self._rows, self._columns, *measured, *letters):
            key.update(array.tobytes())
        if self._tiles is None:
            key.update(self._lasting_layout(plan).encode().encode())
            return key.hexdigest()[:24]
        # Not the layout, which changes with the number of tiles; that is in the jobs' tags.
        watched = self._sentinels.encode() if self._sentinels is not None else ""
        key.update(f"tiles, quantum {self._job_shape.quantum}, sentinels {watched}".encode())
        key.update(plan.shots.tobytes())
        return key.hexdigest()[:24]

    def _lasting_layout(self, plan: Plan) -> Layout:
        """Return the layout of a plan without a limit of rows that divides nothing.

        That limit follows the depth of the circuit, which changes with every calibration.
        """
        layout = self._layout(plan)
        if layout.max_rows == self._job_shape.max_rows:
            return layout
        wider = replace(layout, max_rows=self._job_shape.max_rows)
        sizes, others = (
            [len(chunk.plan_rows) for chunk in one.chunks()] for one in (layout, wider)
        )
        return wider if sizes == others else layout


def expected_seconds(jobs: int, executions: int) -> float:
    """Return the QPU seconds that jobs take by IBM's quick formula; never 0."""
    return 2.0 * max(jobs, 1) + 350e-6 * executions
