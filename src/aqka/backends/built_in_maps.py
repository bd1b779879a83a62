"""The feature maps that have a name, as Qiskit circuits: one qubit per feature."""

from typing import TYPE_CHECKING

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
            f"feature_map {inert(name)!r} is no built-in map.{did_you_mean(name, BUILT_IN_MAPS)} "
            f"Built-in: {', '.join(BUILT_IN_MAPS)}; or pass a qiskit QuantumCircuit."
        )
    return name


def built_in_map(name: str, n_qubits: int, reps: int = DEFAULT_REPS) -> "QuantumCircuit":
    """Return a built-in map; ``zz`` with two repetitions is the paper's.

    Parameters
    ----------
    name
        ``zz``: neighbours entangled; ``zz-full``: all pairs, which is Qiskit's default; ``z``:
        none.
    n_qubits
        One per feature.
    reps
        Repetitions of its layers.
    """
    if check_map_name(name) != "z" and n_qubits < 2:
        raise InputError(
            f"the ZZ feature map needs at least 2 features, one per qubit, got {n_qubits}; "
            "take the map 'z', or pass a feature_map of your own."
        )
    library = require("qiskit.circuit.library", "qiskit")
    entanglement = {"zz": "linear", "zz-full": "full"}
    circuit: QuantumCircuit = (
        library.z_feature_map(n_qubits, reps=reps)
        if name == "z"
        else library.zz_feature_map(n_qubits, reps=reps, entanglement=entanglement[name])
    )
    return circuit
