"""Shots on IBM hardware, safe against crashes: jobs are tagged, and found by id or by tag."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray, as_count
from aqka._util.optional import require
from aqka._util.text import did_you_mean, inert
from aqka.backends._jobs.ibm import (
    FRACTIONAL_GATES,
    IbmService,
    check_options,
    rep_delay_of,
    row_limit,
    with_fractional_gates,
)
from aqka.backends._jobs.ibm_errors import (
    cancel_queued,
    find_job,
    is_lost,
    qpu_seconds,
    state_of,
    tell_passing_errors,
    wait_for_result,
    was_run,
)
from aqka.backends._jobs.job_backend import JobBackend
from aqka.backends._jobs.local import LocalService
from aqka.backends._jobs.rows import JobShape
from aqka.backends._jobs.tickets import Ticket, part_name, shorten_tag, tiles_sent
from aqka.backends._jobs.transpile import choose_target
from aqka.backends._noisy.devices import DeviceCones
from aqka.backends._noisy.models import SIMULATED_QUBITS
from aqka.backends._programs import POINTS, program_of
from aqka.backends.base import JobState, check_measures_pairs, check_plan
from aqka.backends.job_service import EXTRA, MODES, ExecutionMode, JobService
from aqka.backends.simulated import tag_seed
from aqka.backends.tiles import TileRule, as_tile_rule
from aqka.core.plans import Answer, Plan
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


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
        process with its noise; or a :class:`~aqka.backends.job_service.JobService`.
    X, feature_map, columns, optimization_level, initial_layout, design
        See :class:`~aqka.backends.SamplerBackend`.
    mode
        ``"auto"`` tries a session, then a batch, and else sends plain jobs, as ``"job"`` does;
        ``"session"`` or ``"batch"`` is refused where the account's plan has none.
    options
        IBM's sampler options, for example ``{"max_execution_time": 300}`` (QPU seconds after
        which IBM cancels a job), ``{"execution": {"rep_delay": 1e-4}}`` (seconds before each
        execution, which quotes follow) or ``{"dynamical_decoupling": {"enable": True}}``. One
        that IBM's sampler does not know is refused on a fake device too, which runs without them.
        ``{"fractional_gates": True}`` is ours: it takes RZZ and RX where the device has them, half
        the two-qubit gates of a ZZ map; without twirling and dynamical decoupling.
    pass_manager
        One of your own, in place of ``optimization_level`` and ``initial_layout``.
    jobs
        How plans become jobs. None takes IBM's limits of executions and of instructions, which
        bounds the rows of a job by the depth of the circuit; local backends, whose shots cost
        nothing, run one row per pair.
    tiles
        How many copies of the circuit run side by side in each execution: ``"auto"``, a number,
        or a :class:`~aqka.backends.tiles.TileRule`. On a fake device each tile is simulated
        by itself with its own noise.
    seed
        Hits of local backends depend on it and on the tag, and which tile runs which row.

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
        feature_map: "QuantumCircuit | str | None" = None,
        *,
        columns: ArrayLike | None = None,
        mode: str = "auto",
        options: dict[str, Any] | None = None,
        optimization_level: int | None = None,
        initial_layout: Sequence[int] | None = None,
        pass_manager: Any = None,
        jobs: JobShape | None = None,
        tiles: TileRule | int | str = 1,
        seed: int = 0,
        design: str = "pairs",
    ) -> None:
        if mode not in MODES:
            raise InputError(f"mode must be one of {', '.join(MODES)}; got {mode!r}.")
        seed = as_count(seed, "seed", minimum=0)
        self._modes_to_try = MODES[mode]
        checked, fractional = check_options(options)
        if fractional:
            backend = with_fractional_gates(backend)
        self._service = _service_of(backend, checked)
        self._rep_delay = rep_delay_of(checked, self._service.target)
        self._seconds_left: float | None = None
        self._share = 0.0  # of these seconds, for each second that a submission is expected to take
        self._mode = ExecutionMode()
        self._doubtful_keys: set[str] = set()
        self._usage: dict[str, float | None] = {}
        self._cones: DeviceCones | None = None
        shape, rule = jobs or JobShape(free_shots=self._service.is_local), as_tile_rule(tiles)
        target = choose_target(
            self._service.target, optimization_level, initial_layout, pass_manager
        )
        super().__init__(X, feature_map, columns, target, shape, rule, seed, design, fractional)
        if fractional and self._is_wide:
            raise InputError(
                f"options.{FRACTIONAL_GATES} must be left out on {self.name}, which draws "
                f"{self.n_qubits} qubits by their light cones in this process."
            )
        # IBM's limit of instructions bounds the rows of a job by the depth of its circuit.
        self._limits_rows = jobs is None and not self._service.is_local

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the session, which stays with the process that opened it."""
        return {**self.__dict__, "_mode": ExecutionMode()}

    @property
    def replayable(self) -> bool:
        """Whether a tag can be run again for the same hits, as on a seeded local backend."""
        return self._service.is_local

    @property
    def usage(self) -> dict[str, float | None]:
        """QPU seconds of the tickets that were collected; IBM may say 0 until it settles a job."""
        return self._usage

    @property
    def rep_delay(self) -> float | None:
        """Seconds before each execution: those of the options, or the device's own."""
        return self._rep_delay

    def limit_seconds(self, seconds: float | None) -> None:
        """Let all jobs of a later submission together run no longer than so many QPU seconds."""
        self._seconds_left = seconds

    @property
    def device(self) -> Any:
        """What circuits are transpiled for."""
        return self._service.target

    @property
    def name(self) -> str:
        """Name of the device."""
        return str(getattr(self.device, "name", type(self.device).__name__))

    def _device_name(self) -> str:
        return self.name

    @property
    def calibrated_at(self) -> str | None:
        """When the device was last calibrated, if it says so."""
        properties = getattr(self._service.target, "properties", lambda: None)()
        moment = getattr(properties, "last_update_date", None)
        return None if moment is None else str(moment)

    @property
    def mode(self) -> str:
        """How jobs are run now: ``local``, ``session``, ``batch`` or ``job``."""
        return "local" if self._service.is_local else self._mode.name

    def __enter__(self) -> "RuntimeBackend":
        if not self._service.is_local:
            self._mode.open(self._service, self._modes_to_try)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def _is_wide(self) -> bool:
        """Whether points have more qubits than their state could be simulated on here."""
        here = isinstance(self._service, LocalService) and not self._service.simulates
        return here and self.n_qubits > SIMULATED_QUBITS

    @property
    def measures_pairs(self) -> bool:
        """Whether it can measure pairs; a fake device cannot above 25 qubits."""
        return not self._is_wide

    @property
    def joint_pairs(self) -> IntArray | None:
        """Pairs whose bits belong together: all, but on a fake device above 25 qubits."""
        return self._light_cones().joint_pairs if self._is_wide else None

    def _light_cones(self) -> DeviceCones:
        if self._cones is None:
            isa, device = self._circuits.of(POINTS).circuit, self._service.target
            self._cones = DeviceCones(self._circuits.feature_map, isa, device.target)
        return self._cones

    def _check_tiles(self) -> None:
        if self._is_wide and self._tiles is not None:
            raise InputError(
                f"tiles must be 1 on {self.name}, which draws {self.n_qubits} qubits by their "
                f"light cones in this process; got tiles = {self._tiles.rule.count!r}."
            )

    def _prepare(self, plan: Plan) -> None:
        """Have a fake device draw by light cones what it cannot simulate."""
        if not self._is_wide:
            return
        program = program_of(plan)
        if not program.reads_all_qubits:
            check_measures_pairs(self)
        sent, cones = self._circuits.of(program), self._light_cones()
        draw = cones.draw_points if program is POINTS else cones.draw_references
        assert isinstance(self._service, LocalService)
        self._service.draw_by(
            sent.circuit, lambda values, shots, seed: draw(sent.rows(values), shots, seed)
        )

    def close(self) -> None:
        """Close the session or batch, which is billed while open; queued jobs still run."""
        self._mode.close()

    def submit(self, plan: Plan, tag: str) -> str:
        """Submit a plan and return a ticket.

        A submission that ended in an error may have reached IBM all the same. Submitting the
        plan under its tag again therefore looks for its jobs first, and sends only what is
        missing. In a new process call :meth:`recover`.
        """
        self._prepare(plan)
        key = self._submission_key(plan, tag)
        with self._passing_errors():
            if key in self._doubtful_keys:
                self._sent_jobs[key] = {
                    **self._sent_jobs.get(key, {}),
                    **self._find_parts(plan, tag),
                }
            self._doubtful_keys.add(key)
            if self._seconds_left is not None:  # each job may use its share of them
                work = self.workload(plan)
                self._share = self._seconds_left / expected_seconds(work.jobs, work.executions)
            ticket = super().submit(plan, tag)
            self._doubtful_keys.discard(key)
        return ticket

    def collect(self, ticket: str) -> Answer:
        """Wait for the jobs of a ticket and return hits or outcomes, as often as asked."""
        with self._passing_errors(collecting=True):
            return super().collect(ticket)

    def _passing_errors(self, *, collecting: bool = False) -> AbstractContextManager[None]:
        if self._service.is_local:
            return nullcontext()
        return tell_passing_errors(collecting=collecting)

    def recover(self, plan: Plan, tag: str) -> str | None:
        """Return the ticket of a plan that was submitted but whose ticket was not stored.

        Jobs are found by their tags, which name the tag, the points and the plan, so that a
        job of other data under the same tag is never taken. Jobs that failed or were cancelled
        before they were run do not count. None says that there is no job; where only some of a
        plan's jobs are there, the others are sent.
        """
        check_plan(plan, self.shape, self.n_qubits)
        with self._passing_errors():
            found = self._find_parts(plan, tag)
        if not found:
            return None
        self._sent_jobs[self._submission_key(plan, tag)] = found
        return self.submit(plan, tag)

    def _find_parts(self, plan: Plan, tag: str) -> dict[int, str]:
        """Return the living jobs of a plan, by their place in it."""
        key = self._submission_key(plan, tag)
        n_tiles = self._tiles_of_living_jobs(plan, tag)
        parts = len(self._layout(plan, n_tiles).chunks())
        found = {}
        for k in range(parts):
            jobs = self._service.jobs([shorten_tag(tag), part_name(key, k, parts, n_tiles)])
            newest = next((job for job in jobs if not is_lost(job)), None)
            if newest is not None:
                found[k] = str(newest.job_id())
        return found

    def cancel(self, plan: Plan, tag: str, ticket: str | None) -> list[JobState]:
        """Cancel the queued jobs of a submission; see :meth:`aqka.Backend.cancel`."""
        with self._passing_errors():
            if ticket is None:
                found = list(self._find_parts(plan, tag).values())
            else:
                found = Ticket.read(ticket).job_ids
            return [cancel_queued(find_job(self._service, job_id)) for job_id in found]

    @property
    def is_paid(self) -> bool:
        """Whether jobs go to IBM's service, and not to this process."""
        return not self._service.is_local

    def _tiles_of_living_jobs(self, plan: Plan, tag: str) -> int | None:
        """Return on how many tiles a plan was sent, and keep to it; if not sent, will be."""
        key = self._submission_key(plan, tag)
        if self.tiling is not None:
            jobs = self._service.jobs([shorten_tag(tag)])
            counts = (tiles_sent(key, job.tags or ()) for job in jobs if not is_lost(job))
            known = next((count for count in counts if count is not None), None)
            if known is not None:
                self._sent_on[key] = known
        return self._tiles_for(plan, key)

    def _shape_of_jobs(self, plan: Plan) -> JobShape:
        shape = self._job_shape
        if self._limits_rows:
            most = row_limit(self._circuits.of(program_of(plan)).circuit)
            shape = replace(shape, max_rows=min(shape.max_rows, most))
        return shape

    def _send(
        self, circuit: "QuantumCircuit", values: FloatArray, shots: int, tag: str, part: str
    ) -> str:
        seconds = None
        if self._seconds_left is not None:
            seconds = self._share * expected_seconds(1, len(values) * shots)
        if self._service.pace is not None:
            self._service.pace.wait()
        job = self._service.run(
            circuit,
            values,
            shots,
            tags=[shorten_tag(tag), part],
            seed=tag_seed(self._seed, f"{tag}/{part}"),
            mode=self._mode.handle,
            seconds=seconds,
        )
        return str(job.job_id())

    def _job(self, job_id: str) -> Any:
        # One by one, so that a job whose result is gone does not cost those of the others.
        with self._passing_errors(collecting=True):
            return find_job(self._service, job_id)

    def _result(self, job: Any) -> Any:
        with self._passing_errors(collecting=True):
            return wait_for_result(job)

    def _was_run(self, job: Any | None) -> bool:
        """Count a job that cannot be found as run, since it may have been; local ones are free."""
        return not self._service.is_local and (job is None or was_run(job))

    def _finish(self, ticket: str, jobs: list[Any], counted: list[str]) -> None:
        local = self._service.is_local
        self._usage[ticket] = 0.0 if local else qpu_seconds(jobs)
        for job_id in counted:
            self._service.forget(job_id)


def expected_seconds(jobs: int, executions: int) -> float:
    """Return the QPU seconds that jobs take by IBM's quick formula; never 0."""
    return 2.0 * max(jobs, 1) + 350e-6 * executions


def ask_service(backend: Any, job_ids: list[str]) -> list[JobState]:
    """Return how jobs stand, as the service of a device says; none of a local one is known to it.

    Whatever keeps the service from answering is a TransientError or a JobError.
    """
    service = _service_of(backend, {})
    if service.is_local:
        return []
    with tell_passing_errors():
        return [state_of(find_job(service, job_id)) for job_id in job_ids]


def _service_of(backend: Any, options: dict[str, Any]) -> JobService:
    """Return how a backend's jobs are sent."""
    if isinstance(backend, JobService):
        return backend
    client = require("qiskit_ibm_runtime", EXTRA)
    if isinstance(backend, client.IBMBackend):
        return IbmService(backend, options)
    if not hasattr(backend, "target"):
        raise InputError(
            "backend must be a backend of QiskitRuntimeService, or a fake one for a local test; "
            f"got {type(backend).__name__}. Pass service.backend(name), not its name."
        )
    return LocalService(backend)


def fake_device(name: str, argument: str = "device") -> Any:
    """Return IBM's fake device of a name such as ``fake_fez``; ``argument`` named it."""
    provider = require("qiskit_ibm_runtime.fake_provider", "ibm")
    known: dict[str, Any] = {}
    for device in vars(provider).values():
        label = getattr(device, "backend_name", None)
        if isinstance(device, type) and isinstance(label, str):
            known[label] = device
    if name not in known:
        raise InputError(
            f"{argument} must be one of IBM's fake ones, such as 'fake_fez': {inert(name)!r} is no "
            f"fake device.{did_you_mean(name, known)}"
        )
    return known[name]()
