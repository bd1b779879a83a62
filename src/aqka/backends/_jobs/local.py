"""Jobs run in this process, on a fake or simulated backend with its noise."""

import logging
from typing import Any

from aqka._util.optional import require
from aqka.backends._jobs.ibm import EXTRA
from aqka.backends._noisy.device_noise import noisy_simulator
from aqka.backends.job_service import JobService
from aqka.errors import InputError, JobError

logger = logging.getLogger(__name__)


class LocalService(JobService):
    """A fake or simulated backend run in this process, as IBM's local testing mode does.

    IBM's own local mode builds the noise of the whole device anew in every run (7 to 9 s for a
    fake Heron); here it is built once, for the qubits in use. Without qiskit-aer a fake backend
    runs without noise.
    """

    is_local = True

    def __init__(self, backend: Any) -> None:
        self.target = backend
        self._simulators: dict[int, tuple[Any, Any]] = {}  # by the circuit they were made for
        self._pending_jobs: dict[str, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the simulator, which is built again, and the jobs of this process."""
        return {**self.__dict__, "_simulators": {}, "_pending_jobs": {}}

    def open(self, mode: str) -> Any:
        """Refuse: there is nothing to open."""
        raise InputError(f"mode {mode!r} is for IBM's service; a local backend has none.")

    def sampler(self, mode: Any, tags: list[str], seed: int) -> Any:
        """Return a sampler with a seed of its own, for a repeated seed repeats its outcomes."""
        return _LocalSampler(self, seed)

    def run(self, circuit: Any, values: Any, shots: int, seed: int) -> Any:
        """Run a circuit, and keep the job."""
        if id(circuit) not in self._simulators:
            # With the circuit, so that no other can take its place in memory.
            self._simulators[id(circuit)] = circuit, simulator_for(circuit, self.target)
        simulator = self._simulators[id(circuit)][1]
        job = _sampler_of(simulator, seed).run([(circuit, values)], shots=shots)
        self._pending_jobs[job.job_id()] = job
        return job

    def job(self, job_id: str) -> Any:
        """Return a job of this process."""
        if job_id not in self._pending_jobs:
            raise JobError(
                f"job {job_id} is not known: a job of a local backend lives in the process that "
                "submitted it and is let go once collected. Submit the plan again under the same "
                "tag to get the same hits."
            )
        return self._pending_jobs[job_id]

    def jobs(self, tags: list[str]) -> list[Any]:
        """Return nothing: local jobs have no tags."""
        return []

    def forget(self, job_id: str) -> None:
        """Let go of a job."""
        self._pending_jobs.pop(job_id, None)


class _LocalSampler:
    """A sampler of one seed, on a local backend."""

    def __init__(self, service: LocalService, seed: int) -> None:
        self._service = service
        self._seed = seed

    def run(self, pubs: list[Any], *, shots: int) -> Any:
        ((circuit, values),) = pubs
        return self._service.run(circuit, values, shots, self._seed)


def simulator_for(circuit: Any, backend: Any) -> Any:
    """Return what runs a circuit as the backend does: with its noise where Aer is there."""
    try:
        aer = require("qiskit_aer", EXTRA)
    except InputError:
        logger.warning("%s runs without noise: pip install 'aqka[ibm]'.", backend.name)
        return backend
    return backend if isinstance(backend, aer.AerSimulator) else noisy_simulator(backend, circuit)


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
