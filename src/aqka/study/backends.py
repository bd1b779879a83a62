"""The backends of a study: for the training kernel, and for the test-by-train block."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from inspect import signature
from types import TracebackType
from typing import TYPE_CHECKING, Any

from aqka._util.arrays import FloatArray
from aqka._util.optional import require
from aqka._util.text import inert
from aqka.backends import (
    AerBackend,
    Backend,
    JobShape,
    LightConeBackend,
    MatrixProductBackend,
    PennylaneBackend,
    RuntimeBackend,
    SamplerBackend,
    StatevectorBackend,
    depolarising_noise,
)
from aqka.backends.runtime import fake_device
from aqka.backends.sampler import runs_here
from aqka.backends.sentinel import SentinelBackend, TileSentinelBackend
from aqka.backends.statevector import MAX_STATE_BYTES, MAX_STATE_QUBITS, MORE_QUBITS
from aqka.backends.tiles import find_tiles
from aqka.errors import InputError
from aqka.study.directory import Prepared
from aqka.study.points import Points
from aqka.study.schema import POINTS_ONLY, BackendSection, SentinelSection

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


class StudyBackends(AbstractContextManager["StudyBackends"]):
    """Who measures pairs of training points, and pairs of a test and a training point.

    Nothing is billed before it is entered; at the end a session is closed, whatever ended it.
    ``test`` is None where there are no test points.
    """

    def __init__(self, train: Backend, test: Backend | None) -> None:
        self.train = train
        self.test = test

    @property
    def n_tiles(self) -> int:
        """How many circuits run side by side."""
        return self.device.n_tiles

    def __enter__(self) -> "StudyBackends":
        """Open a session on the device, where there is one."""
        if isinstance(self.device, RuntimeBackend):
            self.device.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the session, which is billed while open."""
        if isinstance(self.device, RuntimeBackend):
            self.device.close()

    @property
    def device(self) -> Backend:
        """Who runs the training shots, without the sentinels around it."""
        return self.train.backend if isinstance(self.train, SentinelBackend) else self.train


def make_backends(prepared: Prepared, test: FloatArray | None = None) -> StudyBackends:
    """Make the backends of a study whose design is settled; the second measures its test points.

    ``test`` takes their place: new points, which are measured without sentinels.
    """
    study, sentinels = prepared.study, prepared.study.sentinels
    points = prepared.points if test is None else replace(prepared.points, test=test)
    made = _plain_backends(prepared, points)
    if test is None and sentinels.points and study.method.design == "pairs":
        chosen = sentinel_points(sentinels, len(points.train))
        kind = SentinelBackend if made.n_tiles == 1 else TileSentinelBackend
        made.train = kind(made.train, chosen, sentinels.shots)
    return made


def sentinel_points(section: SentinelSection, n_points: int) -> list[int]:
    """Return the training points whose diagonal is measured, evenly spread."""
    if section.points > n_points:
        raise InputError(
            f"sentinels.points is {section.points}, but there are {n_points} training points."
        )
    return [k * n_points // section.points for k in range(section.points)]


def _plain_backends(prepared: Prepared, points: Points) -> StudyBackends:
    study, circuit, code = prepared.study, prepared.circuit, prepared.code
    section, seed, design = study.backend, study.seed, study.method.design
    train, test = points.train, points.test if len(points.test) else None
    columns = train if design == "pairs" else None
    if section.name == "statevector":
        _check_states(points, circuit)
        return _pair_of(StatevectorBackend, train, test, columns, circuit, seed=seed)
    if section.name in POINTS_ONLY:
        kind = MatrixProductBackend if section.name == "matrix-product" else LightConeBackend
        return _pair_of(kind, train, test, columns, circuit, seed=seed)
    if section.name == "aer":
        require("qiskit_aer", "aer")
        noise = depolarising_noise(*(section.noise or (0.0, 0.0)))
        options: dict[str, Any] = {"noise": noise, "seed": seed, "design": design}
        return _pair_of(AerBackend, train, test, columns, circuit, **options)
    if section.name == "pennylane":
        device = code.get("device", section.device)
        options = {"device": device, "seed": seed, "design": design}
        return _pair_of(PennylaneBackend, train, test, columns, circuit, **options)
    transpiling: dict[str, Any] = {
        "optimization_level": section.optimization_level,
        "initial_layout": section.initial_layout,
        "design": design,
    }
    manager = made_pass_manager(code["pass_manager"]) if "pass_manager" in code else None
    backend: SamplerBackend | RuntimeBackend
    if section.name == "sampler":
        sampler, takes_seed = made_sampler(code["device"])
        # A simulator's cost is per row and not per shot.
        shape = JobShape(free_shots=takes_seed or runs_here(sampler))
        backend = SamplerBackend(
            sampler, train, circuit, target_backend=manager, jobs=shape, seed=seed, **transpiling
        )
    else:
        backend = RuntimeBackend(
            ibm_device(section),
            train,
            circuit,
            mode=section.mode,
            tiles=section.tiles,
            options=section.options,
            pass_manager=manager,
            seed=seed,
            **transpiling,
        )
    return StudyBackends(backend, None if test is None else backend.with_points(test, columns))


def _pair_of(
    kind: Any,
    train: FloatArray,
    test: FloatArray | None,
    columns: FloatArray | None,
    circuit: Any,
    **options: Any,
) -> StudyBackends:
    """Return a simulator for the training kernel, and one for the test points."""
    block = None if test is None else kind(test, circuit, columns=columns, **options)
    return StudyBackends(kind(train, circuit, **options), block)


def made_sampler(function: Callable[..., Any]) -> tuple[Any, bool]:
    """Return what a function makes, or itself if it takes a seed, and whether it does.

    A function that takes a seed makes a simulator.
    """
    takes_seed = bool(signature(function).parameters)
    return (function if takes_seed else call_own("device", function)), takes_seed


def made_pass_manager(function: Callable[..., Any]) -> Any:
    """Return the pass manager that a function makes."""
    made = call_own("pass_manager", function)
    if not isinstance(made, require("qiskit.transpiler", "qiskit").PassManager):
        raise InputError(
            f"backend.pass_manager must make a qiskit PassManager, got {type(made).__name__}."
        )
    return made


def call_own(key: str, function: Callable[..., Any]) -> Any:
    """Call a user's function without arguments; and say so if it fails."""
    try:
        return function()
    except Exception as error:
        raise InputError(
            f"backend.{key} failed: {type(error).__name__}: {inert(error, 200)}. Its function is "
            "called without arguments."
        ) from error


def _check_states(points: Points, circuit: "QuantumCircuit | None") -> None:
    """Refuse states that would not fit into memory, before any is computed."""
    qubits = points.train.shape[1] if circuit is None else circuit.num_qubits
    # The test block has all points, the training kernel its own once more.
    needed = 16 * 2**qubits * (2 * len(points.train) + len(points.test))
    if needed > MAX_STATE_BYTES or qubits > MAX_STATE_QUBITS:
        raise InputError(
            f"the states of {len(points.train) + len(points.test)} points on {qubits} qubits would "
            f"take {-(-needed // 2**30):,} GiB, the most is {MAX_STATE_BYTES / 2**30:.0f} and "
            f"{MAX_STATE_QUBITS} qubits; take fewer points, or fewer qubits: a study keeps as "
            "many principal components as feature_map.qubits, for example 4. "
            f"{MORE_QUBITS}"
        )


def ibm_device(section: BackendSection) -> Any:
    """Return the device of a study: a fake one in this process, or one of IBM's service."""
    name = section.device
    if name is not None and name.startswith("fake_"):
        return fake_device(name, "backend.device")
    client = require("qiskit_ibm_runtime", "ibm")
    try:
        service = client.QiskitRuntimeService(name=section.account)
        if name is None:
            return service.least_busy(operational=True, simulator=False)
        return service.backend(name)
    except Exception as error:
        # Only the kind of error is shown: its text may repeat the token.
        raise InputError(
            f"IBM's service gave no device {inert(name or '(the least busy)')!r} "
            f"({type(error).__name__}). Save your account once with "
            "QiskitRuntimeService.save_account(token=..., channel=...), or set QISKIT_IBM_TOKEN "
            "and QISKIT_IBM_CHANNEL; to try without an account set backend.device = 'fake_fez'."
        ) from None


def find_chip(prepared: Prepared) -> "tuple[Any, QuantumCircuit]":
    """Return a study's device and its transpiled circuit; nothing is submitted."""
    section = prepared.study.backend
    if section.name != "ibm":
        raise InputError(
            f"backend.name is {section.name!r}, which has no chip; tiles are for 'ibm', for "
            "example with device = 'fake_fez'."
        )
    chip = ibm_device(section)
    design = "points" if prepared.study.method.design == "points" else "pairs"
    points = prepared.points.train[:1]
    return chip, RuntimeBackend(chip, points, prepared.circuit, design=design).circuit


def count_tiles(prepared: Prepared) -> int:
    """Return how many tiles a study runs on; with ``auto`` the device is asked."""
    wanted = prepared.study.backend.tiles
    if wanted != "auto":
        return wanted
    chip, circuit = find_chip(prepared)
    return len(find_tiles(circuit, chip))


def circuit_facts(circuit: "QuantumCircuit | None") -> dict[str, Any]:
    """Return depth, gates and places on the device of a transpiled circuit, for the results.

    ``places`` are the device's qubits that the circuit's own qubits lie on, in their order.
    """
    if circuit is None:
        return {}
    gates = {str(name): int(count) for name, count in circuit.count_ops().items()}
    layout = circuit.layout
    places = [] if layout is None else layout.initial_index_layout(filter_ancillas=True)
    return {
        "circuit": {
            "device_qubits": circuit.num_qubits,
            "depth": int(circuit.depth()),
            "two_qubit_gates": sum(1 for step in circuit.data if len(step.qubits) == 2),
            "gates": gates,
            "places": [int(place) for place in places],
        }
    }


def check_device_name(section: BackendSection) -> None:
    """Refuse a fake device that does not exist; what a service has only an account can tell."""
    if section.name == "ibm" and (section.device or "").startswith("fake_"):
        ibm_device(section)
