"""Shots on IBM hardware, safe against crashes: jobs are tagged, and found by id or by tag."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from aqka._util.arrays import IntArray, as_count
from aqka._util.optional import require
from aqka._util.text import did_you_mean, inert
from aqka.backends._jobs import ibm
from aqka.backends._jobs.job_backend import JobBackend
from aqka.backends._jobs.local import LocalService
from aqka.backends._jobs.rows import JobShape
from aqka.backends._jobs.transpile import Transpiler, is_pass_manager
from aqka.backends._noisy.devices import DeviceCones
from aqka.backends._noisy.models import SIMULATED_QUBITS
from aqka.backends._programs import POINTS, program_of
from aqka.backends.base import JobState, check_measures_pairs
from aqka.backends.job_service import (
    EXTRA,
    MODES,
    JobService,
    find_job,
    state_of,
    tell_passing_errors,
)
from aqka.backends.tiles import TileRule, as_tile_rule
from aqka.core.plans import Plan
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


class RuntimeBackend(JobBackend):
    """Runs the fidelity test on an IBM quantum computer, one job per plan.

    Used in a ``with`` block, jobs run in a session, in a batch where the account's plan has no
    sessions, and else as plain jobs. Its end closes the session, whatever ended it; jobs already
    queued still run and can be collected later. Without the block jobs are plain. All
    :func:`~aqka.acquire` calls in one block share its session, and so does :meth:`with_points`.

    Parameters
    ----------
    backend : BackendV2 or JobService
        A backend of a ``QiskitRuntimeService``; or a fake or Aer backend, which runs in this
        process with its noise; or a :class:`~aqka.backends.job_service.JobService`.
    X : array-like
        Points of the rows, one per row of the array.
    feature_map : QuantumCircuit or str, default=None
        A parametrised circuit; None is the ZZ map of two repetitions, linear.
    columns : array-like, default=None
        Points of the columns, for a test-by-train block; None takes those of X.
    mode : {"auto", "session", "batch", "job"}, default="auto"
        ``"auto"`` tries a session, then a batch, and else sends plain jobs, as ``"job"`` does;
        ``"session"`` or ``"batch"`` is refused where the account's plan has none.
    options : dict, default=None
        IBM's sampler options, for example ``{"max_execution_time": 300}`` (QPU seconds after
        which IBM cancels a job), ``{"execution": {"rep_delay": 1e-4}}`` (seconds before each
        execution, which quotes follow) or ``{"dynamical_decoupling": {"enable": True}}``. One
        that IBM's sampler does not know is refused on a fake device too, which runs without them.
        ``{"fractional_gates": True}`` is ours: RZZ and RX where the device has them, half the
        two-qubit gates of a ZZ map; without twirling and dynamical decoupling.
    optimization_level, initial_layout : int and sequence of int, default=None
        Of Qiskit's preset pass manager; None is 1, and the best place it finds.
    pass_manager : PassManager, default=None
        One of your own, in place of the preset one.
    jobs : JobShape, default=None
        How plans become jobs. None takes IBM's limits of executions and of instructions, which
        bounds the rows of a job by the depth of the circuit; local backends, whose shots cost
        nothing, run one row per pair.
    tiles : TileRule, int or "auto", default=1
        Copies of the circuit that run side by side: ``"auto"``, a number, or a
        :class:`~aqka.backends.tiles.TileRule`. A fake device simulates each with its own noise.
    seed : int, default=0
        Hits of local backends depend on it and on the tag, and which tile runs which row.
    design : {"pairs", "points"}, default="pairs"
        What will be measured, as in :class:`~aqka.backends.SamplerBackend`.

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
        if pass_manager is not None and not is_pass_manager(pass_manager):
            raise InputError(
                "pass_manager must be a qiskit PassManager, such as generate_preset_pass_manager "
                f"makes; got {type(pass_manager).__name__}."
            )
        seed = as_count(seed, "seed", minimum=0)
        self._modes_to_try = MODES[mode]
        checked, fractional = ibm.check_options(options)
        if fractional:
            backend = ibm.with_fractional_gates(backend)
        service = _service_of(backend, checked)
        self._rep_delay = ibm.rep_delay_of(checked, service.target)
        shape, rule = jobs or JobShape(free_shots=service.is_local), as_tile_rule(tiles)
        target = service.target if pass_manager is None else pass_manager
        transpile = Transpiler(target, optimization_level, initial_layout)
        super().__init__(
            service, X, feature_map, columns, transpile, shape, rule, seed, design, fractional
        )
        self._device_name = self.name
        if self._is_wide and (fractional or self._tiles is not None):
            wrong, given = "tiles must be 1", rule.count
            if fractional:
                wrong, given = f"options.{ibm.FRACTIONAL_GATES} must be left out", "true"
            raise InputError(
                f"{wrong} on {self.name}, which draws {self.n_qubits} qubits by their light cones "
                f"in this process; got {given}."
            )
        # IBM's limit of instructions bounds the rows of a job by the depth of its circuit.
        self._limits_rows = jobs is None and not service.is_local

    @property
    def rep_delay(self) -> float | None:
        """Seconds before each execution: those of the options, or the device's own."""
        return self._rep_delay

    @property
    def device(self) -> Any:
        """What circuits are transpiled for."""
        return self._service.target

    @property
    def name(self) -> str:
        """Name of the device."""
        return str(getattr(self.device, "name", type(self.device).__name__))

    @property
    def calibrated_at(self) -> str | None:
        """When the device was last calibrated, if it says so."""
        properties = getattr(self.device, "properties", lambda: None)()
        moment = getattr(properties, "last_update_date", None)
        return None if moment is None else str(moment)

    @property
    def mode(self) -> str:
        """How jobs are run now: ``local``, ``session``, ``batch`` or ``job``."""
        return "local" if self._service.is_local else self._service.mode

    def open(self) -> None:
        """Open a session or batch, as the mode says; jobs are run in it until it is closed."""
        if not self._service.is_local:
            self._service.open_first(self._modes_to_try)

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
        return self._cones.joint_pairs if self._is_wide else None

    @cached_property
    def _cones(self) -> DeviceCones:
        isa = self._circuits.of(POINTS).circuit
        return DeviceCones(self._circuits.feature_map, isa, self.device.target)

    def _prepare(self, plan: Plan) -> None:
        if not self._is_wide:
            return
        program = program_of(plan)
        if not program.reads_all_qubits:
            check_measures_pairs(self)
        sent = self._circuits.of(program)
        draw = self._cones.draw_points if program is POINTS else self._cones.draw_references
        assert isinstance(self._service, LocalService)
        self._service.draw_by(
            sent.circuit, lambda values, shots, seed: draw(sent.rows(values), shots, seed)
        )

    def close(self) -> None:
        """Close the session or batch, which is billed while open; queued jobs still run."""
        self._service.close()

    def _shape_of_jobs(self, plan: Plan) -> JobShape:
        if not self._limits_rows:
            return self._job_shape
        most = ibm.row_limit(self._circuits.of(program_of(plan)).circuit)
        return replace(self._job_shape, max_rows=min(self._job_shape.max_rows, most))


def ask_service(backend: Any, job_ids: list[str]) -> list[JobState]:
    """Return how jobs stand, as the service of a device says; none of a local one is known to it.

    Whatever keeps the service from answering is a TransientError or a JobError.
    """
    service = _service_of(backend, {})
    if service.is_local:
        return []
    with tell_passing_errors(service):
        return [state_of(find_job(service, job_id)) for job_id in job_ids]


def _service_of(backend: Any, options: dict[str, Any]) -> JobService:
    if isinstance(backend, JobService):
        return backend
    client = require("qiskit_ibm_runtime", EXTRA)
    if isinstance(backend, client.IBMBackend):
        return ibm.IbmService(backend, options)
    if not hasattr(backend, "target"):
        raise InputError(
            "backend must be a backend of QiskitRuntimeService, or a fake one for a local test; "
            f"got {type(backend).__name__}. Pass service.backend(name), not its name."
        )
    return LocalService(backend)


def fake_device(name: str, argument: str = "device") -> Any:
    """Return IBM's fake device of a name such as ``fake_fez``; ``argument`` named it."""
    provider = require("qiskit_ibm_runtime.fake_provider", "ibm")
    classes = (device for device in vars(provider).values() if isinstance(device, type))
    known = {device.backend_name: device for device in classes if hasattr(device, "backend_name")}
    if name not in known:
        raise InputError(
            f"{argument} must be one of IBM's fake ones, such as 'fake_fez': {inert(name)!r} is "
            f"not a fake device.{did_you_mean(name, known)}"
        )
    return known[name]()
