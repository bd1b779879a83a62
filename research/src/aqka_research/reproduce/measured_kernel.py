"""The kernel that was measured once on a device and is then resampled (Section 5.4).

By default the device is a fake Heron, whose noise is that of a calibrated one; a file measured on
a real device takes its place.
"""

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from aqka._util.arrays import FloatArray, as_array, as_kernel, text_digest
from aqka._util.files import open_atomically
from aqka.backends import JobShape
from aqka.core.plans import ShotPlan
from aqka.errors import InputError
from aqka.planning.device import HERON
from aqka_research.protocols import TaskChoices, task_choices
from aqka_research.tasks import Task, plant

N_TEST, N_ANCHORS, RIDGE = 8, 4, 0.01
SHOTS = 2048
LARGEST_BATCH = 300
TAG = "aqka-hardware-kernel"
FAKE_HERON = {"device": "FakeMarrakesh", "points": 50}
"""What the kernel is measured on unless a file is given: of the fake Herons the least noisy."""
FILE_KEYS = "kernel and test_kernel, and may have device, shots, depth and readout"


@dataclass(frozen=True, eq=False)
class MeasuredKernel:
    """A kernel as a device gave it: hits over shots, the diagonal too.

    Attributes
    ----------
    kernel, test_kernel
        Training kernel and test-by-train block.
    device
        Where it was measured.
    shots
        Shots of each pair; 0 if a file does not say.
    depth
        Depth of the transpiled fidelity circuit; 0 if a file does not say.
    readout
        Probability that readout alone leaves all zeros; 0 if a file does not say.
    """

    kernel: FloatArray
    test_kernel: FloatArray
    device: str = "unknown"
    shots: int = 0
    depth: int = 0
    readout: float = 0.0

    @property
    def circuits(self) -> int:
        """Return the number of circuits: training pairs with the diagonal, and the test block."""
        return len(self.kernel) * (len(self.kernel) + 1) // 2 + self.test_kernel.size

    def batches(self) -> list[int]:
        """Return the circuits of each job."""
        return [
            min(LARGEST_BATCH, self.circuits - start)
            for start in range(0, self.circuits, LARGEST_BATCH)
        ]

    def batch_seconds(self, circuits: int) -> float:
        """Return the QPU time of a job, as a quote models it."""
        executions = circuits * (self.shots or SHOTS)
        return HERON.job_overhead + executions * HERON.execution_seconds(self.depth)

    def save(self, path: Path) -> None:
        """Write an npz file that :func:`load_kernel` reads, in one step."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_atomically(path) as stream:
            np.savez_compressed(stream, **asdict(self))


def measured_kernel(source: dict[str, Any]) -> MeasuredKernel:
    """Return the kernel of a source: a ``device`` and number of ``points``, or a ``file``."""
    if "file" in source:
        return _load_unchanged(source["file"], source["sha256"])
    return _of_fake_device(source["device"], source["points"])


def hardware_task(seed: int, source: dict[str, Any] | None = None, protocol: str = "paper") -> Task:
    """Return a target planted on the measured kernel, which stays the same for every seed."""
    return _hardware_task(task_choices(protocol), seed, tuple((source or FAKE_HERON).items()))


@lru_cache(maxsize=4)
def _hardware_task(choices: TaskChoices, seed: int, source: tuple[tuple[str, Any], ...]) -> Task:
    measured = measured_kernel(dict(source))
    train, test = measured.kernel, measured.test_kernel
    rng = np.random.default_rng(seed)
    ridge = choices.ridge(RIDGE, len(train))
    name = f"planted on {measured.device}"
    return plant(name, train, test, N_ANCHORS, rng, ridge, choices.largest_class)


def file_source(path: Path) -> dict[str, Any]:
    """Return the source of a file, with its digest: another content is another experiment."""
    load_kernel(path)
    return {"file": str(path.resolve()), "sha256": _sha256(path)}


def load_kernel(path: Path) -> MeasuredKernel:
    """Read and check a measured kernel; nothing in the file is ever executed."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, BadZipFile, TypeError, AttributeError) as error:
        raise InputError(
            f"kernel file {str(path)!r} is not an npz of plain arrays: {error}."
        ) from (error)
    known = {field.name for field in fields(MeasuredKernel)}
    if not {"kernel", "test_kernel"} <= arrays.keys() <= known:
        raise InputError(
            f"kernel file {str(path)!r} must have the arrays {FILE_KEYS}; it has {sorted(arrays)}."
        )
    train = as_kernel(arrays.pop("kernel"), "kernel")
    test = as_kernel(arrays.pop("test_kernel"), "test_kernel", square=False)
    if test.shape[1] != len(train) or len(train) <= N_ANCHORS:
        raise InputError(
            f"test_kernel must have a column for each of more than {N_ANCHORS} training points, "
            f"got shape {test.shape} for {len(train)} of them."
        )
    return MeasuredKernel(train, test, **{name: _scalar(arrays[name], name) for name in arrays})


def _scalar(values: Any, name: str) -> Any:
    array = as_array(values, name)
    kinds = {"device": "U", "readout": "fiu"}.get(name, "iu")
    if array.ndim or array.dtype.kind not in kinds or (name != "device" and array < 0):
        raise InputError(f"{name} of a kernel file must be a single value, got {array!r}.")
    return array.item()


def measure_kernel(backend: Any, points: int, *, seed: int = 0) -> MeasuredKernel:
    """Measure the kernel on a device in jobs of at most 300 circuits.

    ``backend`` is anything :class:`~aqka.backends.runtime.RuntimeBackend` takes: a backend of
    IBM's service, or a fake one. On IBM's the jobs run in a session or batch where there are,
    and after a crash they are found again, so that calling once more buys no shot twice.
    """
    from aqka.backends.runtime import RuntimeBackend

    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 2 * np.pi, (points + N_TEST, 4))
    # Training pairs, then test by training points: one list of circuits, as the paper's.
    rows, cols = np.triu_indices(points)
    test_rows, test_cols = np.divmod(np.arange(N_TEST * points), points)
    rows, cols = np.append(rows, points + test_rows), np.append(cols, test_cols)
    plan = ShotPlan(rows, cols, np.full(len(rows), SHOTS))
    jobs = JobShape(quantum=SHOTS, max_rows=LARGEST_BATCH)
    with RuntimeBackend(backend, X, jobs=jobs, seed=seed) as runtime:
        ticket = runtime.recover(plan, TAG) or runtime.submit(plan, TAG)
        hits = plan.checked(runtime.collect(ticket))
        depth, name = runtime.circuit.depth(), runtime.name
        readout = _readout_success(runtime.circuit, backend)
    k = np.zeros((points + N_TEST, points))
    k[rows, cols] = hits / SHOTS
    train = np.triu(k[:points]) + np.triu(k[:points], 1).T
    return MeasuredKernel(train, k[points:], name, SHOTS, depth, readout)


def _readout_success(circuit: Any, backend: Any) -> float:
    """Return the probability that no qubit in use is misread."""
    measured = [step.qubits[0] for step in circuit.data if step.name == "measure"]
    # The target of a job service is the device behind it.
    errors = getattr(backend.target, "target", backend.target)["measure"]
    return float(np.prod([1 - errors[(circuit.find_bit(q).index,)].error for q in measured]))


@lru_cache(maxsize=4)
def _of_fake_device(device: str, points: int) -> MeasuredKernel:
    """Measure on a fake device, once: the file is found again by what it depends on."""
    libraries = {name: version(name) for name in ("aqka", "numpy", "qiskit", "qiskit-aer")}
    libraries["qiskit-ibm-runtime"] = version("qiskit-ibm-runtime")
    facts = {"device": device, "points": points, "shots": SHOTS, **libraries}
    path = cache_directory() / f"{device}-{points}-{text_digest(json.dumps(facts))}.npz"
    with suppress(InputError):  # not there, or cut off
        return load_kernel(path)
    from qiskit_ibm_runtime import fake_provider

    if not hasattr(fake_provider, device):
        raise InputError(f"device must be one of qiskit-ibm-runtime's fakes, got {device!r}.")
    measured = measure_kernel(getattr(fake_provider, device)(), points)
    with suppress(OSError):  # a read-only home: measured again by the next process
        measured.save(path)
    return measured


def cache_directory() -> Path:
    """Return where kernels of fake devices are kept."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "aqka"


@lru_cache(maxsize=4)
def _load_unchanged(path: str, sha256: str) -> MeasuredKernel:
    if _sha256(Path(path)) != sha256:
        raise InputError(f"kernel file {path!r} has changed since the run was planned; start anew.")
    return load_kernel(Path(path))


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
