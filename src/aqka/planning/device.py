"""DeviceModel: the constants that turn shots into seconds, each with its source."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from aqka._util.arrays import as_count
from aqka._util.text import did_you_mean
from aqka.errors import InputError

_USAGE = "IBM guide 'Workload usage' (quantum.cloud.ibm.com/docs/guides/estimate-job-run-time)"

# Of any constant: thirty years in seconds, which no product in the model overflows.
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

    Attributes
    ----------
    job_overhead
        QPU time of a job before its first execution.
    rep_delay
        Idle time before each execution.
    execution_overhead
        Everything else in an execution that does not grow with depth: reset, readout, control.
    layer_time
        Time of one layer of the transpiled circuit, averaged over its kinds of gates.
    max_executions
        Most executions in one job.
    max_job_seconds
        Longest QPU time of one job.
    session_seconds
        Longest a session lasts.
    interactive_gap
        Longest pause between two jobs of a session before it is put aside.
    queued_job_seconds
        Mean duration of the jobs that wait before ours.
    transpile_seconds
        Time to transpile; once, because one circuit with parameters serves every pair.
    classical_per_cube
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
        """Check every constant."""
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

    def with_constants(self, values: Mapping[str, float]) -> "DeviceModel":
        """Return a copy with other constants; a name that does not exist is refused.

        Examples
        --------
        >>> DeviceModel().with_constants({"rep_delay": 1e-4}).rep_delay
        0.0001
        """
        for name in values:
            if name not in self.sources:
                hint = did_you_mean(name, self.sources)
                known = ", ".join(self.sources)
                raise InputError(f"unknown constant {name!r}.{hint} Known: {known}.")
        whole = {
            name: int(value) if name == "max_executions" and value == value // 1 else value
            for name, value in values.items()
        }
        # mypy cannot see that the names were checked above.
        return replace(self, **whole)  # type: ignore[arg-type]


HERON = DeviceModel()
"""IBM's Heron devices."""

IBM_LIST_PRICES = {"pay-as-you-go": 96.0, "flex": 72.0, "premium": 48.0}
"""USD per QPU minute by plan, as transcribed from ibm.com/quantum/pricing on 2026-05-25.

The transcription is github.com/api-evangelist/ibm-quantum, plans/ibm-quantum-plans-pricing.yml.
Prices change and contracts differ, so no price is assumed: errors only suggest them.
"""


def zz_depth(n_qubits: int) -> int:
    """Return the depth of the ZZ map's fidelity circuit, transpiled for a line of CZ qubits.

    Read off Qiskit 2 at optimization level 1 with the barrier between U and U†, virtual RZ
    counted; the paper reports 102 for four qubits. At 20 ns a layer the difference is below
    1 µs of 350.

    Examples
    --------
    >>> zz_depth(4)
    143
    """
    if n_qubits < 2:
        raise InputError(
            f"the ZZ map needs at least 2 qubits, got {n_qubits}; for a map of your own pass depth."
        )
    # Two qubits have a single ZZ interaction per repetition: nothing to wait for.
    return 47 + 24 * n_qubits if n_qubits > 2 else 65


ROTATION_LAYERS = 5
"""Layers of any one-qubit rotation on a device of RZ and √X, read off as :func:`zz_depth` was."""


def depth_of_shot(fidelity_depth: int, design: str) -> int:
    """Return the depth of what a shot runs: U and U† for a pair, U and a rotation for a point.

    Parameters
    ----------
    fidelity_depth
        Depth of the transpiled fidelity circuit.
    design
        ``"pairs"`` or ``"points"``.

    Examples
    --------
    >>> depth_of_shot(143, "pairs"), depth_of_shot(143, "points")
    (143, 77)
    """
    if design != "points":
        return fidelity_depth
    return -(-fidelity_depth // 2) + ROTATION_LAYERS
