"""Jobs sent through IBM's client, and IBM's limit of what a job may hold."""

from typing import Any

from aqka._util.optional import require
from aqka.backends.job_service import JobService
from aqka.errors import InputError

EXTRA = "ibm"

# IBM's job limits: control-system instructions per qubit of all rows of a job together, 26.8
# million, of which some are left to dynamical decoupling; and what a gate counts.
MAX_INSTRUCTIONS = 20_000_000
INSTRUCTIONS = {"rz": 1, "delay": 1, "sx": 2, "x": 2, "cz": 5, "ecr": 5, "measure": 10}
INIT = 50


class IbmService(JobService):
    """IBM's service, reached through one of its backends.

    Parameters
    ----------
    backend
        A backend of a ``QiskitRuntimeService``, which holds the credentials; nothing of them
        is read or kept here.
    options
        Sampler options.
    """

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
