"""The backends of a study: for the training kernel, and for the test-by-train block."""

from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple

from aqka import backends
from aqka._util.arrays import FloatArray
from aqka._util.optional import require
from aqka._util.text import inert
from aqka.backends import Backend, RuntimeBackend, SamplerBackend
from aqka.backends.runtime import fake_device
from aqka.backends.sampler import runs_here
from aqka.backends.sentinel import SentinelBackend
from aqka.errors import InputError
from aqka.study.directory import Prepared
from aqka.study.feature_maps import call_own
from aqka.study.method import runs_inverse
from aqka.study.schema import BackendSection

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

OWN_OPTIONS = ("account", "mode")  # of [backend] options; the others are the sampler's


class StudyBackends(NamedTuple):
    """The backends of the training points and of the test points, which share a session."""

    train: Backend
    test: Backend | None  # where there are test points


def make_backends(prepared: Prepared, test: FloatArray | None = None) -> StudyBackends:
    """Make the backends of a settled study; new points in place of ``test`` have no sentinels."""
    new = prepared.points.test if test is None else test
    train, block = _plain_backends(prepared, new)
    section, n_points = prepared.study.sentinels, len(prepared.points.train)
    if test is None and section.points:
        if section.points > n_points:
            raise InputError(
                f"sentinels.points is {section.points}, but there are {n_points} training points."
            )
        chosen = [k * n_points // section.points for k in range(section.points)]  # evenly spread
        train = SentinelBackend(train, chosen, section.shots)
    return StudyBackends(train, block)


def _plain_backends(prepared: Prepared, new: FloatArray) -> tuple[Backend, Backend | None]:
    study, circuit, code = prepared.study, prepared.circuit, prepared.code
    section, design = study.backend, study.method.design
    train, test = prepared.points.train, new if len(new) else None
    columns = train if runs_inverse(study) else None
    options: dict[str, Any] = {"seed": study.seed}

    def simulated(kind: Any, **more: Any) -> tuple[Backend, Backend | None]:
        given = options | more
        block = None if test is None else kind(test, circuit, columns=columns, **given)
        return kind(train, circuit, **given), block

    if section.name == "statevector":
        return simulated(backends.StatevectorBackend)
    if section.name == "light-cone":
        return simulated(backends.LightConeBackend, noise=section.noise)
    if section.name == "aer":
        require("qiskit_aer", "aer")
        noise = backends.depolarising_noise(*(section.noise or (0.0, 0.0)))
        return simulated(backends.AerBackend, noise=noise, design=design)
    if section.name == "pennylane":
        device = code.get("device", section.device)
        return simulated(backends.PennylaneBackend, device=device, design=design)
    options |= section.transpile.model_dump(exclude={"pass_manager"}) | {"design": design}
    key, manager = "transpile.pass_manager", None
    if key in code:
        manager = call_own(f"backend.{key}", code[key])
        if not isinstance(manager, require("qiskit.transpiler", "qiskit").PassManager):
            raise InputError(
                f"backend.{key} must make a qiskit PassManager, got {type(manager).__name__}."
            )
    backend: SamplerBackend | RuntimeBackend
    if section.name == "sampler":
        # A function that takes a seed makes a simulator, whose cost is per row and not per shot.
        takes_seed = bool(signature(code["device"]).parameters)
        sampler = code["device"] if takes_seed else call_own("backend.device", code["device"])
        shape = backends.JobShape(free_shots=takes_seed or runs_here(sampler))
        backend = SamplerBackend(
            sampler, train, circuit, target_backend=manager, jobs=shape, **options
        )
    else:
        options |= {"mode": section.options.get("mode", "auto")}
        options |= {"tiles": section.tiles, "options": _device_options(section)}
        backend = RuntimeBackend(
            ibm_device(section), train, circuit, pass_manager=manager, **options
        )
    return backend, None if test is None else backend.with_points(test, columns)


def _device_options(section: BackendSection) -> dict[str, Any] | None:
    own = {key: value for key, value in section.options.items() if key not in OWN_OPTIONS}
    return own or None


def ibm_device(section: BackendSection) -> Any:
    """Return the device of a study: a fake one in this process, or one of IBM's service."""
    name = section.device
    if name is not None and name.startswith("fake_"):
        return fake_device(name, "backend.device")
    client = require("qiskit_ibm_runtime", "ibm")
    try:
        service = client.QiskitRuntimeService(name=section.options.get("account"))
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
    options: Any = {"design": prepared.study.method.design, "options": _device_options(section)}
    points, circuit = prepared.points.train[:1], prepared.circuit
    backend = RuntimeBackend(ibm_device(section), points, circuit, **options)
    return backend.device, backend.circuit


def circuit_facts(circuit: "QuantumCircuit | None") -> dict[str, Any]:
    """Return depth, gates and places on the device's qubits of a transpiled circuit, in order."""
    if circuit is None:
        return {}
    layout = circuit.layout
    places = [] if layout is None else layout.initial_index_layout(filter_ancillas=True)
    return {
        "circuit": {
            "device_qubits": circuit.num_qubits,
            "depth": int(circuit.depth()),
            "two_qubit_gates": sum(1 for step in circuit.data if len(step.qubits) == 2),
            "gates": {str(name): int(count) for name, count in circuit.count_ops().items()},
            "places": [int(place) for place in places],
        }
    }
