"""Jobs run in this process, on a fake or simulated backend with its noise.

A circuit with tiles falls into parts that share no qubit. Without crosstalk they are independent,
so simulating each on its own is exact, and a chip full of small circuits costs what these cost.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka._util.optional import require
from aqka.backends._jobs.outcomes import Bits
from aqka.backends._noisy.devices import DeviceNoise
from aqka.backends._noisy.models import noisy_simulator, used_qubits
from aqka.backends._noisy.programs import OutcomeProgram
from aqka.backends.job_service import EXTRA, JobRequest, JobService
from aqka.backends.simulated import tag_seed
from aqka.errors import JobError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

EXACT_QUBITS = 8  # up to here the exact noisy probabilities take milliseconds a row
BATCH_SHOTS = 2**20  # drawn together, which bounds their memory; draws depend on it


@dataclass(frozen=True)
class CircuitPart:
    """What is measured into one classical register; its qubits keep their numbers."""

    name: str  # the register's
    circuit: "QuantumCircuit"
    columns: IntArray  # for each of its parameters, the number among those of the whole circuit


Draw = Callable[[FloatArray, int, int], Bits]
"""From rows of values, shots and a seed to the bits of one part of a circuit."""


class JobsHere(JobService):
    """Jobs of this process, each known until its outcomes were counted."""

    is_local = True

    def __init__(self, target: Any) -> None:
        self.target = target
        self._jobs: dict[str, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the jobs of this process."""
        return {**self.__dict__, "_jobs": {}}

    def keep(self, job: Any) -> Any:
        """Keep a job until it is forgotten."""
        self._jobs[job.job_id()] = job
        return job

    def job(self, job_id: str) -> Any:
        if job_id not in self._jobs:
            raise JobError(
                f"job {job_id} is not known: it lives in the process that submitted it, and is "
                "discarded once collected. Submit the plan again; a simulator gives the same hits "
                "under the same tag."
            )
        return self._jobs[job_id]

    def jobs(self, tags: list[str]) -> list[Any]:
        return []  # they have no tags

    def forget(self, job_id: str) -> None:
        self._jobs.pop(job_id, None)


class LocalService(JobsHere):
    """A fake or simulated backend run in this process, as IBM's local testing mode does.

    The outcomes of a fake device are drawn from their exact noisy probabilities up to eight qubits,
    and above by Aer. Above 25 qubits the light cones of a backend's points take its place.
    """

    replayable, is_paid = True, False

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        # By the circuit, kept with it so that no other can take its place in memory.
        self._draws: dict[int, tuple[Any, list[tuple[CircuitPart, Draw]]]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is compiled again, too."""
        return {**super().__getstate__(), "_draws": {}}

    def run(self, request: JobRequest) -> Any:
        """Return a job that depends on its seed alone."""
        circuit = request.circuit
        if id(circuit) not in self._draws:
            parts = split_circuit(circuit)
            draws = [(part, draw_for(part, self.target, self.simulates)) for part in parts]
            self._draws[id(circuit)] = circuit, draws
        draws = self._draws[id(circuit)][1]
        return self.keep(LocalJob(lambda: _drawn(draws, request)))

    def draw_by(self, circuit: "QuantumCircuit", draw: Draw) -> None:
        self._draws[id(circuit)] = circuit, [(part, draw) for part in split_circuit(circuit)]

    @property
    def simulates(self) -> bool:
        """Whether the backend itself is a simulator, whatever it can do."""
        return type(self.target).__name__ == "AerSimulator"


@dataclass(frozen=True)
class LocalJob:
    """A job that runs when its result is read."""

    result: Callable[[], Any]
    number: str = field(default_factory=lambda: uuid.uuid4().hex)

    def job_id(self) -> str:
        return self.number


def _drawn(draws: list[tuple[CircuitPart, Draw]], request: JobRequest) -> Any:
    """Return the outcomes of all parts, each drawn by itself."""
    bits = {
        part.name: draw(
            request.values[:, part.columns], request.shots, tag_seed(request.seed, part.name)
        )
        for part, draw in draws
    }
    return tiled_result(bits, [part for part, _ in draws])


def draw_for(part: CircuitPart, device: Any, simulates: bool) -> Draw:
    """Return what draws the outcomes of a circuit as the device does."""
    if not simulates and len(used_qubits(part.circuit)) <= EXACT_QUBITS:
        noise, parameters = DeviceNoise(device.target), list(part.circuit.parameters)
        return partial(_exactly, OutcomeProgram(part.circuit, noise, parameters))
    simulator = device if simulates else noisy_simulator(device, part.circuit)
    # Aer's own sampler binds rows inside Aer and is several times faster than Qiskit's.
    sampler = require("qiskit_aer.primitives", EXTRA).SamplerV2
    return partial(_by_sampler, part, partial(sampler.from_backend, simulator))


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

    def run(rows: FloatArray, shots: int) -> Bits:
        job = make(seed=seed).run([(part.circuit, rows)], shots=shots)
        return np.asarray(job.result()[0].data[part.name].array)

    return sample_part(values, shots, run)


def sample_part(values: FloatArray, shots: int, sampler: Callable[[FloatArray, int], Bits]) -> Bits:
    """Return the outcomes of a part for its rows of values.

    Equal rows are copies of one request: they are simulated once with all their shots, which costs
    one row, and the shots are dealt out to them.
    """
    distinct, which, copies = np.unique(values, axis=0, return_inverse=True, return_counts=True)
    which = which.reshape(-1)
    order = np.argsort(which, kind="stable")
    first = np.cumsum(copies) - copies
    number = np.empty(len(values), dtype=np.int64)  # of each row among its copies
    number[order] = np.arange(len(values)) - first[which[order]]
    outcomes = sampler(distinct, shots * int(copies.max()))
    return np.asarray(outcomes[which[:, None], number[:, None] * shots + np.arange(shots)])


def tiled_result(outcomes: dict[str, Bits], parts: list[CircuitPart]) -> Any:
    """Return the outcomes of all parts as a sampler's result, a register for each."""
    containers = require("qiskit.primitives.containers", "qiskit")
    bits = {
        part.name: containers.BitArray(outcomes[part.name], part.circuit.num_clbits)
        for part in parts
    }
    rows = next(iter(outcomes.values())).shape[:1]
    data = containers.DataBin(**bits, shape=rows)
    return containers.PrimitiveResult([containers.SamplerPubResult(data)])


def split_circuit(circuit: "QuantumCircuit") -> list[CircuitPart]:
    """Return the parts of a circuit: its tiles, or itself where it has none."""
    if len(circuit.cregs) == 1:
        whole = np.arange(circuit.num_parameters)
        return [CircuitPart(circuit.cregs[0].name, circuit, whole)]
    part_of, parts = {}, {}
    for register in circuit.cregs:  # it is named after its tile's qubits: q12_13_14_15
        parts[register.name] = require("qiskit", "qiskit").QuantumCircuit(circuit.qubits, register)
        for qubit in register.name[1:].split("_"):
            part_of[circuit.qubits[int(qubit)]] = parts[register.name]
    for step in circuit.data:
        part_of[step.qubits[0]].append(step)
    number = {parameter: k for k, parameter in enumerate(circuit.parameters)}
    return [
        CircuitPart(name, part, np.array([number[p] for p in part.parameters], dtype=np.int64))
        for name, part in parts.items()
    ]
