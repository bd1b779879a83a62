"""The feature map of a study: built in, from a file, or from somebody's code."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

from aqka._util.files import inside
from aqka._util.optional import require
from aqka._util.text import inert
from aqka.backends.feature_maps import BUILT_IN_MAPS, DEFAULT_REPS, built_in_map, check_feature_map
from aqka.errors import InputError
from aqka.study.circuit_files import load_circuit
from aqka.study.own_code import load_function
from aqka.study.schema import FeatureMapSection, Study

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


def feature_map(study: Study, base: Path, *, allow_code: bool) -> "QuantumCircuit | None":
    """Return the circuit of a study; None where the backend has the map itself."""
    section = study.feature_map
    if (study.backend.name, section.map, section.reps) == ("statevector", "zz", DEFAULT_REPS):
        return None
    if section.map in BUILT_IN_MAPS:
        assert section.qubits is not None  # by the section's own check
        return built_in_map(section.map, section.qubits, section.reps)
    if section.map.endswith((".qpy", ".qasm")):
        place = inside(base, section.map, "feature_map.map")
        circuit = load_circuit(place, backwards=study.method.design != "points")
    else:
        circuit = _from_code(section, base, allow_code)
        check_feature_map(circuit, backwards=study.method.design != "points")
    if section.qubits not in (None, circuit.num_qubits):
        raise InputError(
            f"feature_map.qubits is {section.qubits} but {inert(section.map)} has "
            f"{circuit.num_qubits} qubits; leave it out."
        )
    return circuit


def n_features(study: Study, circuit: "QuantumCircuit | None") -> int:
    """Return how many features a study's map encodes."""
    if circuit is not None:
        return int(circuit.num_parameters)
    assert study.feature_map.qubits is not None
    return study.feature_map.qubits


def as_qpy(circuit: "QuantumCircuit") -> bytes:
    """Return a circuit as the bytes of a QPY file."""
    stream = io.BytesIO()
    require("qiskit.qpy", "qiskit").dump(circuit, stream)
    return stream.getvalue()


def _from_code(section: FeatureMapSection, base: Path, allow_code: bool) -> "QuantumCircuit":
    """Return what ``module:function`` returns; only if the user allowed it."""
    name = inert(section.map)
    make = load_function("feature_map.map", section.map, base, allow_code=allow_code)
    qiskit = require("qiskit", "qiskit")
    try:
        circuit = make()
    except Exception as error:
        raise InputError(
            f"feature_map.map {name!r} failed: {type(error).__name__}: {inert(error, 200)}. It "
            "must name a function that takes nothing and returns a QuantumCircuit."
        ) from error
    if not isinstance(circuit, qiskit.QuantumCircuit):
        raise InputError(
            f"feature_map.map {name!r} must return a QuantumCircuit, got {type(circuit).__name__}."
        )
    return circuit
