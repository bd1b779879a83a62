"""The backends of a study: for the training kernel, and for the test-by-train block."""

from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from aqka._util.optional import require
from aqka._util.text import did_you_mean, inert
from aqka.backends import (
    AerBackend,
    Backend,
    RuntimeBackend,
    StatevectorBackend,
    depolarising_noise,
)
from aqka.backends.statevector import MAX_STATE_BYTES
from aqka.errors import InputError
from aqka.study.data import Points
from aqka.study.schema import BackendSection

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


class StudyBackends(AbstractContextManager["StudyBackends"]):
    """Who measures pairs of training points, and pairs of a test and a training point.

    Nothing is billed before it is entered; at the end a session is closed, whatever ended it.
    """

    def __init__(self, train: Backend, test: Backend) -> None:
        self.train = train
        self.test = test

    @property
    def n_tiles(self) -> int:
        """How many circuits run side by side."""
        tiling = self.train.tiling if isinstance(self.train, RuntimeBackend) else None
        return 1 if tiling is None else len(tiling)

    def __enter__(self) -> "StudyBackends":
        """Open a session on the device, where there is one."""
        if isinstance(self.train, RuntimeBackend):
            self.train.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the session, which is billed while open."""
        if isinstance(self.train, RuntimeBackend):
            self.train.close()


def make_backends(
    section: BackendSection, points: Points, circuit: "QuantumCircuit | None"
) -> StudyBackends:
    """Make the backends of a study."""
    seed, train, test = section.seed, points.train, points.test
    if section.name == "statevector":
        _check_states(points, circuit)
        return StudyBackends(
            StatevectorBackend(train, circuit, seed=seed),
            StatevectorBackend(test, circuit, columns=train, seed=seed),
        )
    if section.name == "aer":
        require("qiskit_aer", "aer")
        noise = depolarising_noise(*(section.noise or (0.0, 0.0)))
        return StudyBackends(
            AerBackend(train, circuit, noise=noise, seed=seed),
            AerBackend(test, circuit, noise=noise, columns=train, seed=seed),
        )
    backend = RuntimeBackend(
        ibm_device(section), train, circuit, mode=section.mode, tiles=section.tiles, seed=seed
    )
    return StudyBackends(backend, backend.with_points(test, train))


def _check_states(points: Points, circuit: "QuantumCircuit | None") -> None:
    """Refuse states that would not fit into memory, before any is computed."""
    qubits = points.train.shape[1] if circuit is None else circuit.num_qubits
    # The test block has all points, the training kernel its own once more.
    needed = 16 * 2**qubits * (2 * len(points.train) + len(points.test))
    if needed > MAX_STATE_BYTES:
        raise InputError(
            f"the states of {len(points.train) + len(points.test)} points on {qubits} qubits would "
            f"take {needed / 2**30:.0f} GiB, the most is {MAX_STATE_BYTES / 2**30:.0f}; take fewer "
            "points, or fewer qubits: feature_map.reduce = 'pca' keeps as many principal "
            "components as feature_map.qubits, for example 4."
        )


def ibm_device(section: BackendSection) -> Any:
    """Return the device of a study: a fake one in this process, or one of IBM's service."""
    name = section.device
    if name is not None and name.startswith("fake_"):
        return _fake_device(name)
    client = require("qiskit_ibm_runtime", "ibm")
    try:
        service = client.QiskitRuntimeService(name=section.account)
        if name is None:
            return service.least_busy(operational=True, simulator=False)
        return service.backend(name)
    except Exception as error:
        # Only the kind of error is told: its text may repeat the token.
        raise InputError(
            f"IBM's service gave no device {inert(name or '(the least busy)')!r} "
            f"({type(error).__name__}). Save your account once with "
            "QiskitRuntimeService.save_account(token=..., channel=...), or set QISKIT_IBM_TOKEN "
            "and QISKIT_IBM_CHANNEL; to try without an account set backend.device = 'fake_fez'."
        ) from None


def _fake_device(name: str) -> Any:
    provider = require("qiskit_ibm_runtime.fake_provider", "ibm")
    known: dict[str, Any] = {}
    for device in vars(provider).values():
        label = getattr(device, "backend_name", None)
        if isinstance(device, type) and isinstance(label, str):
            known[label] = device
    if name not in known:
        raise InputError(
            f"backend.device {inert(name)!r} is no fake device.{did_you_mean(name, list(known))}"
        )
    return known[name]()
