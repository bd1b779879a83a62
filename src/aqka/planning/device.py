"""From shots to seconds: a device's constants, each with its source, and limits in seconds."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from aqka._util.arrays import as_count
from aqka._util.text import unknown
from aqka.allocators.schedule import Schedule
from aqka.backends.base import Backend
from aqka.errors import InputError
from aqka.planning.budget import Budget, Money, QpuTime, Shots, as_budget, needed_rate
from aqka.planning.split import zz_depth
from aqka.runs.spend import Ceiling

_USAGE = "IBM guide 'Workload usage' (quantum.cloud.ibm.com/docs/guides/estimate-job-run-time)"

# The largest constant: thirty years in seconds, which no product in the model overflows.
LARGEST = 1e9


def _constant(default: Any, source: str) -> Any:
    return field(default=default, metadata={"source": source})


@dataclass(frozen=True)
class DeviceModel:
    """Times and limits of a device, IBM's Heron by default; all times in seconds.

    A job costs ``job_overhead`` plus, for each execution, ``rep_delay`` +
    ``execution_overhead`` + depth × ``layer_time``. Error mitigation, the splitting of a
    job into parts by the service, and failed jobs are not in the model.

    At the paper's depth of 102 this is IBM's quick formula, 2 s + 350 µs × executions. Its
    Table 3 (2048 shots a circuit on ibm_pittsburgh) reads 207 s for 300 circuits and 1158 s for
    all 1675 in six jobs: the model says 217 s and 1213 s, 5 % more.

    Parameters
    ----------
    job_overhead : float, default=2.0
        QPU time of a job before its first execution.
    rep_delay, execution_overhead, layer_time : float, default=250e-6, 98e-6, 20e-9
        Idle time before an execution; reset, readout and control; one layer of the circuit.
    max_executions, max_job_seconds : int and float, default=10_000_000, 10_800.0
        Most executions and longest QPU time of one job.
    session_seconds, interactive_gap : float, default=28_800.0, 60.0
        Longest session, and longest pause between two of its jobs before it is put aside.
    queued_job_seconds : float, default=20.0
        Mean duration of the jobs that wait before ours.
    transpile_seconds : float, default=1.0
        Time to transpile, once.
    classical_per_cube : float, default=3.2e-10
        Classical time between two rounds, divided by N³.
    """

    job_overhead: float = _constant(2.0, f"{_USAGE}: about 2 s per sub-job")
    rep_delay: float = _constant(250e-6, f"{_USAGE}: 250 µs on most backends")
    execution_overhead: float = _constant(
        98e-6,
        f"{_USAGE}: its quick formula has 350 µs per execution; less rep_delay and 102 layers",
    )
    layer_time: float = _constant(
        20e-9,
        "gate times of FakeTorino, FakeFez and FakeMarrakesh (qiskit-ibm-runtime): 18 to 19 ns "
        "per layer of the fidelity circuit, its virtual RZ counted, rounded up",
    )
    max_executions: int = _constant(
        10_000_000, "IBM guide 'Job limits' (docs.quantum.ibm.com/guides/job-limits)"
    )
    max_job_seconds: float = _constant(
        3 * 3600.0,
        "IBM guide 'Maximum execution time' (quantum.cloud.ibm.com/docs/guides/max-execution-time)",
    )
    session_seconds: float = _constant(
        8 * 3600.0, "IBM limits of 2026; session.details()['max_time'] has your plan's"
    )
    interactive_gap: float = _constant(
        60.0, "IBM limits of 2026; session.details()['interactive_timeout'] has your plan's"
    )
    queued_job_seconds: float = _constant(20.0, "paper, Appendix C.9: ibm_pittsburgh")
    transpile_seconds: float = _constant(
        1.0, "measured: 0.6 s for the first circuit, optimization level 1, FakeFez; rounded up"
    )
    classical_per_cube: float = _constant(
        3.2e-10,
        "measured on one thread: eigh takes 30 s at N = 5000, the rest of a round a third of it",
    )

    def __post_init__(self) -> None:
        as_count(self.max_executions, "max_executions")
        for name in self.sources:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise InputError(f"{name} must be a number, got {value!r}.")
            if not 0 <= value <= LARGEST:
                raise InputError(f"{name} must be from 0 to {LARGEST:g}, got {value!r}.")
        if self.rep_delay + self.execution_overhead <= 0:
            raise InputError(
                "rep_delay and execution_overhead cannot both be 0: an execution takes time. "
                "Set one of them above 0, in seconds."
            )

    @property
    def sources(self) -> dict[str, str]:
        """Where each constant comes from."""
        return {constant.name: constant.metadata["source"] for constant in fields(self)}

    def execution_seconds(self, depth: int) -> float:
        """Return the QPU time of one execution of a circuit of that depth."""
        return self.rep_delay + self.execution_overhead + depth * self.layer_time

    def with_rep_delay(self, seconds: float | None) -> "DeviceModel":
        """Return a copy with the ``rep_delay`` that a backend reports; None leaves it as it is."""
        return self if seconds is None else replace(self, rep_delay=float(seconds))

    def with_constants(self, values: Mapping[str, float]) -> "DeviceModel":
        """Return a copy with other constants; a name that does not exist is refused."""
        for name in values:
            if name not in self.sources:
                raise unknown("constant", name, self.sources)
        changed: dict[str, Any] = dict(values)
        most = changed.get("max_executions")
        if most is not None and most == most // 1:
            changed["max_executions"] = int(most)
        return replace(self, **changed)


HERON = DeviceModel()
"""IBM's Heron devices."""


def device_facts(backend: Backend) -> dict[str, Any]:
    """Return what a backend tells a quote; the depth is None where it transpiles nothing."""
    depth = None if backend.circuit is None else max(1, int(backend.circuit.depth()))
    device = HERON.with_rep_delay(backend.rep_delay)
    return {"depth": depth, "tiles": backend.n_tiles, "device": device}


@dataclass(frozen=True)
class Usage:
    """QPU time as a function of shots; with tiles an execution gives a shot of each of them."""

    device: DeviceModel
    depth: int  # of the circuit that a shot runs
    tiles: int = 1
    schedule: Schedule = field(default_factory=Schedule)

    @classmethod
    def on(cls, backend: Backend, design: str, n_qubits: int = 4) -> "Usage":
        """Return that of a backend: its depth, tiles and ``rep_delay`` where it says them."""
        facts = device_facts(backend)
        return cls(**facts | {"depth": facts["depth"] or zz_depth(max(2, n_qubits), design)})

    @property
    def execution_seconds(self) -> float:
        """QPU time of one execution."""
        return self.device.execution_seconds(self.depth)

    def rounds(self, shots: int) -> tuple[int, ...]:
        """Return the shots of each submission."""
        ends = self.schedule.milestones(shots)
        return tuple(end - start for start, end in zip([0, *ends], ends, strict=False))

    def executions(self, shots: int) -> int:
        """Return the executions of one submission of that many shots."""
        return -(-shots // self.tiles)

    def jobs(self, shots: int) -> int:
        """Return how many jobs a submission of that many shots needs."""
        return -(-self.executions(shots) // self.device.max_executions)

    def job_seconds(self, jobs: int, executions: int) -> float:
        """Return the QPU time of some jobs with so many executions in all."""
        return jobs * self.device.job_overhead + executions * self.execution_seconds

    def seconds(self, shots: int) -> float:
        """Return the QPU time of all submissions, which rises with the shots."""
        rounds = self.rounds(shots)
        return self.job_seconds(sum(map(self.jobs, rounds)), sum(map(self.executions, rounds)))


def make_ceiling(
    limit: Budget | int | str,
    design: str,
    *,
    n_qubits: int = 4,
    depth: int | None = None,
    rate: float | None = None,
    device: DeviceModel = HERON,
    execution_seconds: float | None = None,
) -> Ceiling:
    """Return a hard limit on shots, QPU time or money, for all runs that it is passed to.

    Before every submission what was used and the quote of the next job must fit, or the run
    stops with an ``aqka.CeilingError``.

    Parameters
    ----------
    limit : int or str
        Shots, QPU time or money, as the ``budget`` of :func:`aqka.quote`.
    design : {"pairs", "points"}
        What a shot is spent on; the depth depends on it where none is given.
    n_qubits, depth, rate, device
        As in :func:`aqka.quote`.
    execution_seconds : float, optional
        QPU time of one execution where it is known, such as a quote's.
    """
    budget = as_budget(limit)
    seconds = budget.seconds if isinstance(budget, QpuTime) else None
    if isinstance(budget, Money):
        seconds = budget.amount / needed_rate(budget, rate) * 60
    if execution_seconds is None:
        execution_seconds = device.execution_seconds(
            zz_depth(n_qubits, design) if depth is None else depth
        )
    return Ceiling(
        shots=budget.count if isinstance(budget, Shots) else None,
        seconds=seconds,
        job_seconds=device.job_overhead,
        execution_seconds=execution_seconds,
        max_executions=device.max_executions,
        words=str(limit) if isinstance(limit, str) else "",
    )
