"""Jobs run in this process, on a fake or simulated backend with its noise."""

import logging
import uuid
from collections.abc import Callable
from typing import Any

from aqka._util.arrays import FloatArray
from aqka._util.optional import require
from aqka.backends._jobs.outcomes import Bits
from aqka.backends._noisy.models import noisy_simulator
from aqka.backends.job_service import EXTRA, JobService
from aqka.backends.simulated import tag_seed
from aqka.backends.split_circuit import CircuitPart, sample_part, split_circuit, tiled_result
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
        self._parts: dict[int, tuple[Any, list[CircuitPart]]] = {}  # of circuits with tiles
        self._pending_jobs: dict[str, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the simulator, which is built again, and the jobs of this process."""
        return {**self.__dict__, "_simulators": {}, "_parts": {}, "_pending_jobs": {}}

    def open(self, mode: str) -> Any:
        """Refuse: there is nothing to open."""
        raise InputError(f"mode {mode!r} is for IBM's service; a local backend has none.")

    def sampler(self, mode: Any, tags: list[str], seed: int, seconds: float | None = None) -> Any:
        """Return a sampler with a seed of its own, for a repeated seed repeats its outcomes."""
        return _LocalSampler(self, seed)

    def run(self, circuit: Any, values: Any, shots: int, seed: int) -> Any:
        """Run a circuit, and keep the job."""
        if len(circuit.cregs) > 1:
            job = TiledJob(lambda: self._run_parts(circuit, values, shots, seed))
        else:
            job = self._sampler(circuit, seed).run([(circuit, values)], shots=shots)
        self._pending_jobs[job.job_id()] = job
        return job

    def _sampler(self, circuit: Any, seed: int) -> Any:
        """Return a sampler for a circuit, whose simulator is made once."""
        if id(circuit) not in self._simulators:
            # With the circuit, so that no other can take its place in memory.
            self._simulators[id(circuit)] = circuit, simulator_for(circuit, self.target)
        return _sampler_of(self._simulators[id(circuit)][1], seed)

    def _run_parts(self, circuit: Any, values: Any, shots: int, seed: int) -> Any:
        """Return the outcomes of a circuit with tiles, each simulated by itself."""

        def sampler(part: CircuitPart, rows: FloatArray, shots: int) -> Bits:
            run = self._sampler(part.circuit, tag_seed(seed, part.name)).run
            found: Bits = run([(part.circuit, rows)], shots=shots).result()[0].data[part.name].array
            return found

        if id(circuit) not in self._parts:
            self._parts[id(circuit)] = circuit, split_circuit(circuit)
        parts = self._parts[id(circuit)][1]
        return tiled_result(
            {part.name: sample_part(part, values, shots, sampler) for part in parts}, parts
        )

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


class TiledJob:
    """A job that runs when its result is first read."""

    def __init__(self, run: Callable[[], Any]) -> None:
        self._run, self._result = run, None
        self._id = uuid.uuid4().hex

    def job_id(self) -> str:
        """Return the job's id."""
        return self._id

    def result(self) -> Any:
        """Return the outcomes."""
        if self._result is None:
            self._result = self._run()
        return self._result


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
