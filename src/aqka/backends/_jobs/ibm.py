"""The few calls that RuntimeBackend makes to IBM's client, and their local stand-in."""

import logging
from typing import Any, Protocol

from aqka._util.optional import require
from aqka.backends._noisy.compact import compact_circuit, compact_simulator
from aqka.errors import InputError, JobError

logger = logging.getLogger(__name__)

OPEN_PLAN = ("1352", "not authorized to run a session")  # IBM's code and words for "no sessions"
EXTRA = "ibm"

# IBM's job limits: control-system instructions per qubit of all rows of a job together, 26.8
# million, of which some are left to dynamical decoupling; and what a gate counts.
MAX_INSTRUCTIONS = 20_000_000
INSTRUCTIONS = {"rz": 1, "delay": 1, "sx": 2, "x": 2, "cz": 5, "ecr": 5, "measure": 10}
INIT = 50


class Runtime(Protocol):
    """Where jobs are sent to and found again.

    Attributes
    ----------
    target
        The backend that circuits are transpiled for.
    is_local
        Whether jobs live in this process only.
    """

    target: Any
    is_local: bool

    def open(self, mode: str) -> Any:
        """Open a ``"session"`` or a ``"batch"`` and return it, something with ``close()``."""

    def sampler(self, mode: Any, tags: list[str], seed: int) -> Any:
        """Return a sampler that runs in an opened mode, or in job mode for None."""

    def job(self, job_id: str) -> Any:
        """Return a job by its id."""

    def jobs(self, tags: list[str]) -> list[Any]:
        """Return the jobs that carry all these tags, newest first."""


class IbmRuntime:
    """IBM's service, reached through one of its backends.

    Parameters
    ----------
    backend
        A backend of a ``QiskitRuntimeService``, which holds the credentials; nothing of them
        is read or kept here.
    options
        Sampler options.
    """

    is_local = False

    def __init__(self, backend: Any, options: dict[str, Any]) -> None:
        self.target = backend
        self._options = options

    def __getstate__(self) -> dict[str, Any]:
        """Refuse to be pickled: the backend's service holds a token."""
        raise InputError(
            "a backend of IBM's service is not pickled, because its token would be written with "
            "it; build it anew in the other process. Tickets are plain text and go anywhere."
        )

    def open(self, mode: str) -> Any:
        """Open a session or a batch."""
        client = require("qiskit_ibm_runtime", EXTRA)
        make = {"session": client.Session, "batch": client.Batch}[mode]
        return make(backend=self.target)

    def sampler(self, mode: Any, tags: list[str], seed: int) -> Any:
        """Return a sampler with the job's tags."""
        sampler = _sampler_class()(mode=mode or self.target, options=dict(self._options))
        known = list(sampler.options.environment.job_tags or [])
        sampler.options.environment.job_tags = known + tags
        return sampler

    def job(self, job_id: str) -> Any:
        """Return a job by its id."""
        return self.target.service.job(job_id)

    def jobs(self, tags: list[str]) -> list[Any]:
        """Return the jobs that carry all these tags, newest first."""
        found: list[Any] = self.target.service.jobs(job_tags=tags, limit=None)
        return found


class LocalRuntime:
    """A fake or simulated backend run in this process, as IBM's local testing mode does.

    IBM's own local mode builds the noise of the whole device anew in every run (7 to 9 s for a
    fake Heron); here it is built once, for the qubits in use. Without qiskit-aer a fake backend
    runs without noise.
    """

    is_local = True

    def __init__(self, backend: Any) -> None:
        self.target = backend
        self._prepared: tuple[Any, Any, Any] | None = None
        self._pending: dict[str, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the simulator, which is built again, and the jobs of this process."""
        return {**self.__dict__, "_prepared": None, "_pending": {}}

    def open(self, mode: str) -> Any:
        """Refuse: there is nothing to open."""
        raise InputError(f"mode {mode!r} is for IBM's service; a local backend has none.")

    def sampler(self, mode: Any, tags: list[str], seed: int) -> Any:
        """Return a sampler with a seed of its own, for a repeated seed repeats its outcomes."""
        return _LocalSampler(self, seed)

    def run(self, circuit: Any, values: Any, shots: int, seed: int) -> Any:
        """Run a circuit, and keep the job."""
        if self._prepared is None or self._prepared[0] is not circuit:
            self._prepared = (circuit, *_simulated(circuit, self.target))
        _, small, simulator = self._prepared
        job = _sampler_of(simulator, seed).run([(small, values)], shots=shots)
        self._pending[job.job_id()] = job
        return job

    def job(self, job_id: str) -> Any:
        """Return a job of this process."""
        if job_id not in self._pending:
            raise JobError(
                f"job {job_id} is not known: a job of a local backend lives in the process that "
                "submitted it and is let go once collected. Submit the plan again under the same "
                "tag to get the same hits."
            )
        return self._pending[job_id]

    def jobs(self, tags: list[str]) -> list[Any]:
        """Return nothing: local jobs have no tags."""
        return []

    def forget(self, job_id: str) -> None:
        """Let go of a job."""
        self._pending.pop(job_id, None)


class _LocalSampler:
    """A sampler of one seed, on a local backend."""

    def __init__(self, runtime: LocalRuntime, seed: int) -> None:
        self._runtime = runtime
        self._seed = seed

    def run(self, pubs: list[Any], *, shots: int) -> Any:
        ((circuit, values),) = pubs
        return self._runtime.run(circuit, values, shots, self._seed)


def _simulated(circuit: Any, backend: Any) -> tuple[Any, Any]:
    """Return the circuit and the simulator to run it on: with noise where Aer is there."""
    try:
        aer = require("qiskit_aer", EXTRA)
    except InputError:
        logger.warning("%s runs without noise: pip install 'aqka[ibm]'.", backend.name)
        return circuit, backend
    if isinstance(backend, aer.AerSimulator):
        return circuit, backend
    small, used = compact_circuit(circuit)
    return small, compact_simulator(backend, used)


def _sampler_of(simulator: Any, seed: int) -> Any:
    """Return Aer's own sampler, which binds rows inside Aer and is several times faster."""
    try:
        aer = require("qiskit_aer", EXTRA)
    except InputError:
        aer = None
    if aer is not None and isinstance(simulator, aer.AerSimulator):
        return aer.primitives.SamplerV2.from_backend(simulator, seed=seed)
    primitives = require("qiskit.primitives", "qiskit")
    return primitives.BackendSamplerV2(backend=simulator, options={"seed_simulator": seed})


def _sampler_class() -> Any:
    """Return IBM's client-side sampler, or before qiskit-ibm-runtime 0.50 its SamplerV2."""
    try:
        return require("qiskit_ibm_runtime.executor_sampler", EXTRA).Sampler
    except InputError:
        return require("qiskit_ibm_runtime", EXTRA).SamplerV2


def row_limit(circuit: Any) -> int:
    """Return how many rows of a circuit one job may have, by IBM's limit of instructions."""
    load: dict[int, int] = {}
    for step in circuit.data:
        for qubit in step.qubits:
            position = circuit.find_bit(qubit).index
            by_size = 0 if step.name == "barrier" else (2 if len(step.qubits) == 1 else 5)
            load[position] = load.get(position, INIT) + INSTRUCTIONS.get(step.name, by_size)
    return max(1, MAX_INSTRUCTIONS // max(load.values()))


def open_best(runtime: Runtime, wanted: tuple[str, ...]) -> tuple[str, Any]:
    """Open the first of ``wanted`` that the account may use; plain jobs are always allowed.

    Only the refusal of the open plan leads on to the next. Any other error, such as a wrong
    token, is raised.
    """
    for mode in wanted:
        try:
            return mode, runtime.open(mode)
        except require("qiskit_ibm_runtime.exceptions", EXTRA).IBMError as error:
            if not any(sign in str(error) for sign in OPEN_PLAN):
                raise
            logger.info("the account's plan has no %s; trying the next execution mode", mode)
    return "job", None
