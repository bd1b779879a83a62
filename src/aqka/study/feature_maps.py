"""The feature map of a study: built in, from a file, or from somebody's code.

Reading a circuit file that was made to do harm can take all time or all memory, and what a compiled
reader does then cannot be caught. So a file is first read in a process of its own, this module,
under limits that the operating system enforces, and only if that ends well by the caller.
"""

import contextlib
import io
import math
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqka._util.files import inside, read_bytes
from aqka._util.optional import require
from aqka._util.text import inert
from aqka.backends.feature_maps import BUILT_IN_MAPS, DEFAULT_REPS, built_in_map, check_feature_map
from aqka.backends.trainable import TrainableMap, as_trainable, chosen_parameters
from aqka.core.settings import MAX_QUBITS
from aqka.errors import InputError
from aqka.study.method import runs_inverse

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

    from aqka.study.schema import Study

MAX_BYTES = 2**20
MAX_GATES = 200_000
CPU_SECONDS = 5
WALL_SECONDS = 60
MEMORY_BYTES = 4 * 2**30
# Reading older files could run code that they hold, before Qiskit 1.4.2 (CVE-2025-2000, GitHub
# advisory GHSA-6m2c-76ff-6vrf).
OLDEST_QPY = 13
NEEDED = {".qpy": ("qiskit.qpy", "qiskit"), ".qasm": ("qiskit_qasm3_import", "qasm")}


def feature_map(study: "Study", base: Path, *, allow_code: bool) -> "QuantumCircuit | None":
    """Return the circuit of a study; None where the backend has the map itself."""
    section = study.feature_map
    plain = (study.backend.name, section.map, section.reps) == ("statevector", "zz", DEFAULT_REPS)
    if plain and section.is_built_in:
        return None
    if section.map in BUILT_IN_MAPS:
        assert section.qubits is not None  # by the section's own check
        return built_in_map(section.map, section.qubits, section.reps)
    if section.map.endswith((".qpy", ".qasm")):
        place = inside(base, section.map, "feature_map.map")
        circuit = load_circuit(place, backwards=runs_inverse(study))
    else:
        make = load_function("feature_map.map", section.map, base, allow_code=allow_code)
        circuit = call_own("feature_map.map", make)
        if not isinstance(circuit, require("qiskit", "qiskit").QuantumCircuit):
            raise InputError(
                f"feature_map.map {inert(section.map)!r} must return a QuantumCircuit, got "
                f"{type(circuit).__name__}."
            )
        check_feature_map(circuit, backwards=runs_inverse(study))
    if section.qubits not in (None, circuit.num_qubits):
        raise InputError(
            f"feature_map.qubits is {section.qubits} but {inert(section.map)} has "
            f"{circuit.num_qubits} qubits; leave it out."
        )
    return circuit


def n_features(study: "Study", circuit: "QuantumCircuit | None") -> int:
    """Return how many features a study's map encodes."""
    if circuit is not None:
        return int(circuit.num_parameters) - len(trained_parameters(study, circuit))
    assert study.feature_map.qubits is not None
    return study.feature_map.qubits


def trained_parameters(study: "Study", circuit: "QuantumCircuit") -> list[Any]:
    """Return the parameters of a study's circuit that it trains, apart from the data's."""
    train = study.feature_map.train
    if train is None or train.parameters is None:
        return []
    chosen = chosen_parameters(list(circuit.parameters), 0, train.parameters)
    if len(chosen) == circuit.num_parameters:
        raise InputError(
            f"feature_map.train names all {len(chosen)} parameters of the circuit; leave out those "
            "that take the data."
        )
    return chosen


def trainable_of(study: "Study", circuit: "QuantumCircuit") -> TrainableMap:
    """Return the map that a study trains."""
    trained = trained_parameters(study, circuit)
    return as_trainable(circuit, n_features(study, circuit), trained or None)


def as_qpy(circuit: "QuantumCircuit") -> bytes:
    """Return a circuit as the bytes of a QPY file."""
    stream = io.BytesIO()
    require("qiskit.qpy", "qiskit").dump(circuit, stream)
    return stream.getvalue()


def load_function(key: str, name: str, base: Path, *, allow_code: bool) -> Callable[..., Any]:
    """Return the function that a key names, from the study file's directory or the current one."""
    shown = inert(name)
    if not allow_code:
        raise InputError(
            f"{key} {shown!r} would run code of that module. If you trust it, add --allow-code."
        )
    module, _, function = name.partition(":")
    places = list(dict.fromkeys([str(base.resolve()), os.getcwd()]))
    sys.path[:0] = places
    try:
        found = getattr(import_module(module), function)
    except Exception as error:
        raise InputError(
            f"{key} {shown!r} failed: {type(error).__name__}: {inert(error, 200)}. It must name a "
            "function of a module that is installed, or lies beside the study file or in the "
            "current directory."
        ) from error
    finally:
        for place in places:
            sys.path.remove(place)
    if not callable(found):
        raise InputError(f"{key} {shown!r} must name a function, got {type(found).__name__}.")
    return found  # type: ignore[no-any-return]


def call_own(key: str, function: Callable[..., Any]) -> Any:
    """Call a user's function without arguments; and say so if it fails."""
    try:
        return function()
    except Exception as error:
        raise InputError(
            f"{key} failed: {type(error).__name__}: {inert(error, 200)}. Its function is called "
            "without arguments."
        ) from error


def load_circuit(path: Path, *, backwards: bool = True) -> "QuantumCircuit":
    """Return the circuit of a .qpy or .qasm (OpenQASM 3) file, or say why it cannot be used."""
    content = read_bytes(path, MAX_BYTES, "feature_map.map")
    suffix = ".qpy" if path.name.endswith(".qpy") else ".qasm"  # a file called .qpy has none
    try:
        require(*NEEDED[suffix])
        _try_in_a_process(content, suffix)
        return read_circuit(content, suffix, backwards=backwards)
    except InputError as error:
        raise InputError(f"{inert(path.name)}: {error}") from None


@lru_cache(maxsize=16)  # what ended well once need not be tried again; refusals are not kept
def _try_in_a_process(content: bytes, suffix: str) -> None:
    """Read a circuit in a process under limits, and say what went wrong there."""
    command = [sys.executable, "-P", "-m", "aqka.study.feature_maps", suffix, str(CPU_SECONDS)]
    source = str(Path(__file__).resolve().parents[2])
    found = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": found}
    options: Any = {"env": environment, "capture_output": True, "check": False}
    try:
        ended = subprocess.run(command, input=content, timeout=WALL_SECONDS, **options)
    except subprocess.TimeoutExpired:
        raise InputError("takes too long to read; it is not used.") from None
    if ended.returncode == 1:
        raise InputError(inert(ended.stdout.decode(errors="replace"), 300))
    if ended.returncode:
        raise InputError("cannot be read within the limits of time and memory; it is not used.")


def read_circuit(content: bytes, suffix: str, *, backwards: bool = True) -> "QuantumCircuit":
    """Return the circuit in some bytes, checked; trusts the reader to end."""
    is_qpy = suffix == ".qpy"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if is_qpy:
                if content[:6] != b"QISKIT" or len(content) < 10:
                    raise InputError("not a QPY file; write one with qiskit.qpy.dump.")
                if content[6] < OLDEST_QPY:
                    raise InputError(
                        f"QPY version {content[6]} is too old to be read safely; write it anew "
                        "with Qiskit 2."
                    )
                programs = require("qiskit.qpy", "qiskit").load(io.BytesIO(content))
            else:
                programs = [require("qiskit.qasm3", "qiskit").loads(content.decode())]
            if len(programs) != 1:
                raise InputError(f"holds {len(programs)} circuits; a feature map is one.")
            circuit: QuantumCircuit = programs[0]
            if not 1 <= (n_qubits := circuit.num_qubits) <= MAX_QUBITS:
                raise InputError(f"has {n_qubits} qubits; from 1 to {MAX_QUBITS} are possible.")
            if _count_gates(circuit, {}) > MAX_GATES:
                raise InputError(f"unfolds to more than {MAX_GATES:,} gates.")
            check_feature_map(circuit, backwards=backwards)
            return circuit
    except InputError:
        raise
    except Exception as error:  # the readers raise many kinds
        kind = "QPY" if is_qpy else "OpenQASM 3"
        raise InputError(f"not a usable {kind} file: {inert(error, 150)}.") from None


def _count_gates(circuit: Any, known: dict[Any, int]) -> int:
    """Return the gates after unfolding definitions of the circuit's own."""
    total = 0
    for step in circuit.data:
        operation = step.operation
        kind = getattr(operation, "base_class", type(operation))
        if kind.__module__.startswith("qiskit.circuit.library"):
            total += 1
            continue
        # Gates of one name have one definition in both formats.
        if operation.name not in known:
            definition = getattr(operation, "definition", None)
            known[operation.name] = 1 if definition is None else _count_gates(definition, known)
        total += known[operation.name]
    return total


def main() -> int:
    """Read a circuit from the standard input under limits; print what is wrong with it."""
    suffix, cpu_seconds = sys.argv[1], int(sys.argv[2])
    content = sys.stdin.buffer.read()
    for needed in NEEDED.values() if suffix == ".qasm" else [NEEDED[suffix]]:
        require(*needed)  # imported before the limits: it needs some of both
    with contextlib.suppress(ImportError):  # there is none on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time()) + cpu_seconds,) * 2)
    try:
        read_circuit(content, suffix, backwards=False)  # the caller checks that where it needs it
    except InputError as error:
        print(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
