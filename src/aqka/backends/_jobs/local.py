"""Jobs run in this process, on a fake or simulated backend with its noise."""

import logging
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from aqka._util.arrays import FloatArray
from aqka._util.optional import require
from aqka.backends._jobs.outcomes import Bits
from aqka.backends._noisy.models import noise_on_circuit, noisy_simulator, used_qubits
from aqka.backends._noisy.programs import OutcomeProgram
from aqka.backends.job_service import EXTRA, JobService
from aqka.backends.simulated import tag_seed
from aqka.backends.split_circuit import CircuitPart, sample_part, split_circuit, tiled_result
from aqka.errors import InputError, JobError

logger = logging.getLogger(__name__)

EXACT_QUBITS = 8  # up to here the exact noisy probabilities take milliseconds a row
BATCH_SHOTS = 2**20  # drawn together, which bounds their memory; draws depend on it

Draw = Callable[[FloatArray, int, int], Bits]
"""From rows of values, shots and a seed to the bits of one part of a circuit."""


class LocalService(JobService):
    """A fake or simulated backend run in this process, as IBM's local testing mode does.

    The outcomes of a fake device are drawn from their exact noisy probabilities, with the noise of
    the qubits in use, which is read once; above eight qubits Aer simulates them. Without
    qiskit-aer a fake backend runs without noise.
    """

    is_local = True

    def __init__(self, backend: Any) -> None:
        self.target = backend
        # By the circuit, kept with it so that no other can take its place in memory.
        self._draws: dict[int, tuple[Any, list[tuple[CircuitPart, Draw]]]] = {}
        self._pending_jobs: dict[str, LocalJob] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is compiled again, and the jobs of this process."""
        return {**self.__dict__, "_draws": {}, "_pending_jobs": {}}

    def open(self, mode: str) -> Any:
        """Refuse: there is nothing to open."""
        raise InputError(f"mode {mode!r} is for IBM's service; a local backend has none.")

    def run(
        self,
        circuit: Any,
        values: FloatArray,
        shots: int,
        *,
        tags: list[str],
        seed: int,
        mode: Any = None,
        seconds: float | None = None,
    ) -> Any:
        """Return a job that depends on its seed alone."""
        if id(circuit) not in self._draws:
            draws = [(part, draw_for(part, self.target)) for part in split_circuit(circuit)]
            self._draws[id(circuit)] = circuit, draws
        job = LocalJob(partial(_drawn, self._draws[id(circuit)][1], values, shots, seed))
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


class LocalJob:
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


def _drawn(draws: list[tuple[CircuitPart, Draw]], values: FloatArray, shots: int, seed: int) -> Any:
    """Return the outcomes of all parts, each drawn by itself."""
    bits = {
        part.name: draw(values[:, part.columns], shots, tag_seed(seed, part.name))
        for part, draw in draws
    }
    return tiled_result(bits, [part for part, _ in draws])


def draw_for(part: CircuitPart, device: Any) -> Draw:
    """Return what draws the outcomes of a circuit as the device does."""
    try:
        aer = require("qiskit_aer", EXTRA)
    except InputError:
        logger.warning("%s runs without noise: pip install 'aqka[ibm]'.", device.name)
        sampler = require("qiskit.primitives", "qiskit").BackendSamplerV2
        return partial(
            _by_sampler,
            part,
            lambda seed: sampler(backend=device, options={"seed_simulator": seed}),
        )
    simulator = device
    if not isinstance(device, aer.AerSimulator):
        if len(used_qubits(part.circuit)) <= EXACT_QUBITS:
            model, parameters = noise_on_circuit(device, part.circuit), part.circuit.parameters
            return partial(_exactly, OutcomeProgram(part.circuit, model, list(parameters)))
        simulator = noisy_simulator(device, part.circuit)
    # Aer's own sampler binds rows inside Aer and is several times faster than Qiskit's.
    return partial(_by_sampler, part, partial(aer.primitives.SamplerV2.from_backend, simulator))


def _exactly(program: OutcomeProgram, values: FloatArray, shots: int, seed: int) -> Bits:
    """Draw from the exact noisy probabilities."""
    distinct, which = np.unique(values, axis=0, return_inverse=True)
    p = program.probabilities(distinct).cumsum(axis=1)
    p /= p[:, -1:]
    random, drawn = np.random.default_rng(seed), []
    size = max(1, BATCH_SHOTS // shots)
    for start in range(0, len(values), size):
        rows = which.reshape(-1)[start : start + size]
        number = np.arange(len(rows))[:, None]  # one search for all rows: row k lies in [k, k + 1)
        found = np.searchsorted(
            (p[rows] + number).ravel(), random.random((len(rows), shots)) + number, side="right"
        )
        drawn.append(np.minimum(found - number * p.shape[1], p.shape[1] - 1).astype(np.uint8))
    return np.concatenate(drawn)[:, :, None]


def _by_sampler(
    part: CircuitPart, make: Callable[..., Any], values: FloatArray, shots: int, seed: int
) -> Bits:
    """Run a sampler made for the seed."""

    def run(rows: FloatArray, shots: int) -> Bits:
        job = make(seed=seed).run([(part.circuit, rows)], shots=shots)
        return np.asarray(job.result()[0].data[part.name].array)

    return sample_part(values, shots, run)
