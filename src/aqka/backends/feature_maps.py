"""Feature maps: those that have a name, and what a circuit must be to serve as one."""

from typing import TYPE_CHECKING, Any

from aqka._util.optional import require
from aqka._util.text import did_you_mean, inert
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

BUILT_IN_MAPS = ("zz", "zz-full", "z")
DEFAULT_REPS = 2  # of Qiskit's library and of the paper


def check_map_name(name: str) -> str:
    """Return the name of a built-in map; refuse every other text."""
    if name not in BUILT_IN_MAPS:
        raise InputError(
            f"feature_map {inert(name)!r} is not a built-in map."
            f"{did_you_mean(name, BUILT_IN_MAPS)} Built-in: {', '.join(BUILT_IN_MAPS)}; or pass a "
            "qiskit QuantumCircuit."
        )
    return name


def built_in_map(name: str, n_qubits: int, reps: int = DEFAULT_REPS) -> "QuantumCircuit":
    """Return a built-in map of one qubit per feature; ``zz`` with two repetitions is the paper's.

    ``zz`` entangles neighbours, ``zz-full`` all pairs, which is Qiskit's default, and ``z`` none.
    """
    if check_map_name(name) != "z" and n_qubits < 2:
        raise InputError(
            f"the ZZ feature map needs at least 2 features, one per qubit, got {n_qubits}; "
            "take the map 'z', or pass a feature_map of your own."
        )
    library = require("qiskit.circuit.library", "qiskit")
    circuit: QuantumCircuit
    if name == "z":
        circuit = library.z_feature_map(n_qubits, reps=reps)
    else:
        # Pairwise is linear with its commuting gates in another order: two layers, not n - 1.
        entanglement = {"zz": "pairwise", "zz-full": "full"}[name]
        circuit = library.zz_feature_map(n_qubits, reps=reps, entanglement=entanglement)
    return circuit


REMEDIES = {
    "measure": "aqka measures by itself, so call remove_final_measurements() first",
    "reset": "leave it out, since every point begins with all qubits at zero",
    "initialize": "use prepare_state(), which has an inverse, instead",
    **dict.fromkeys(
        ("for_loop", "while_loop", "if_else", "switch_case", "break_loop", "continue_loop", "box"),
        "write its gates out, without classical control",
    ),
}
ONLY_FORWARDS = ("reset", "initialize")
"""What has no inverse but prepares a state, which is all that a point needs."""


def runs_backwards(circuit: "QuantumCircuit") -> bool:
    """Return whether a circuit has an inverse, which pairs need and points do not."""
    return _first_without_inverse(circuit, set(), ()) is None


def check_feature_map(circuit: "QuantumCircuit", *, backwards: bool = True) -> None:
    """Refuse a circuit that encodes nothing, or whose inverse does not exist.

    Where it need not run ``backwards``, as where points are measured, it may reset qubits.
    """
    culprit = _first_without_inverse(circuit, set(), () if backwards else ONLY_FORWARDS)
    if culprit is not None:
        name, place = culprit
        raise InputError(
            f"feature_map must be unitary, since the fidelity test also runs it backwards, but "
            f"{place} is {inert(name)!r}; {REMEDIES.get(name, 'use gates that have an inverse')}."
        )
    classical = circuit.num_clbits + circuit.num_vars
    if classical:
        raise InputError(
            f"feature_map must be unitary, without measurements, but holds {classical} classical "
            "bits or variables; leave them out, or call remove_final_measurements() first."
        )
    if circuit.num_parameters == 0:
        raise InputError(
            "feature_map has no parameters, so every point would get the same state; "
            "encode the data with qiskit.circuit.Parameter, in OpenQASM 3 with 'input float x;'."
        )


def _first_without_inverse(
    circuit: Any, sound: set[Any], allowed: tuple[str, ...]
) -> tuple[str, str] | None:
    """Return name and place of an instruction that has no inverse; None if there is none.

    ``sound`` holds the kinds of instructions that have one: gates of one name have one definition;
    ``allowed`` are the names of those that need none.
    """
    for number, step in enumerate(circuit.data, 1):
        operation = step.operation
        kind = getattr(operation, "base_class", type(operation))
        if (operation.name, kind) in sound or operation.name in allowed:
            continue
        qubits = ", ".join(str(circuit.find_bit(qubit).index) for qubit in step.qubits)
        place = f"instruction {number} (on qubit {qubits})"
        own = not kind.__module__.startswith("qiskit.circuit.library")
        if own and getattr(operation, "definition", None) is not None:  # it says what it is made of
            inner = _first_without_inverse(operation.definition, sound, allowed)
            if inner is not None:
                return inner[0], f"{inner[1]} of {inert(operation.name)!r}, {place},"
        else:
            try:
                operation.inverse()
            except Exception:  # whatever a circuit's own instructions raise
                return operation.name, place
        sound.add((operation.name, kind))
    return None
