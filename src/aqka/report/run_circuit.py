"""The circuit of a run: its feature map, where it lay on the device, when that was calibrated."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from aqka._util.text import inert
from aqka.backends.feature_maps import BUILT_IN_MAPS, built_in_map
from aqka.errors import InputError
from aqka.insight.exact_kernels import FeatureMap
from aqka.report.number_text import count_text
from aqka.study.directory import MAP_NAME
from aqka.study.feature_maps import load_circuit
from aqka.study.study_run import StudyRun

MAX_DRAWN_QUBITS = 16
MAX_DRAWING = 20_000  # characters
MAX_LISTED = 20  # kinds of gates, places, calibrations
FOLD = 110  # columns of the drawing, after which it goes on below

BUILT_IN_WORDS = {
    "zz": "ZZ map, neighbours coupled",
    "zz-full": "ZZ map, all pairs coupled",
    "z": "Z map without couplings",
}


@dataclass(frozen=True)
class RunCircuit:
    """What the page says of a circuit.

    Attributes
    ----------
    facts
        By name, in words.
    drawing
        The feature map in characters; empty where it cannot be drawn.
    """

    facts: Mapping[str, str]
    drawing: str = ""


def feature_map_of(run: StudyRun) -> "FeatureMap | None":
    """Return a run's feature map; None where its file cannot be read here."""
    name = run.study.feature_map.map
    if name in BUILT_IN_MAPS:
        return name
    try:
        return load_circuit(run.directory / MAP_NAME, backwards=False)
    except (InputError, ImportError):
        return None


def run_circuit(run: StudyRun, feature_map: "FeatureMap | None") -> RunCircuit:
    """Return what is known of a run's circuit."""
    section, encoding = run.study.feature_map, run.points.encoding
    width = run.points.train.shape[1]
    reduced = len(encoding.columns) > width
    low, high = encoding.range
    facts = {
        "feature map": f"{BUILT_IN_WORDS[section.map]}, {count_text(section.reps, 'repetition')}"
        if section.map in BUILT_IN_WORDS
        else inert(section.map),
        "features": f"{width}"
        + (
            f", the first principal components of {len(encoding.columns)} columns"
            if reduced
            else ""
        )
        + f", scaled to {low:g} to {high:g}",
        **_transpiled(run.results.get("circuit")),
    }
    if run.history.calibrations:
        facts["calibrated"] = ", then ".join(run.history.calibrations[:MAX_LISTED])
    return RunCircuit(facts, _drawing(feature_map, width, section.reps))


def _transpiled(stored: Any) -> dict[str, str]:
    """Return what the results say of the transpiled circuit, where they say it soundly."""
    if not isinstance(stored, dict):
        return {}
    numbers = [stored.get(name) for name in ("device_qubits", "depth", "two_qubit_gates")]
    places, gates = stored.get("places"), stored.get("gates")
    if not all(isinstance(number, int) for number in numbers) or not isinstance(places, list):
        return {}
    device, depth, coupled = numbers
    text = f"depth {depth:,}, {coupled:,} two-qubit gates"
    if isinstance(gates, dict):
        kinds = [f"{inert(name)} × {inert(count)}" for name, count in gates.items()]
        text += f" ({', '.join(kinds[:MAX_LISTED])})"
    found = {"fidelity circuit, transpiled": text}
    if places:
        listed = ", ".join(inert(place) for place in places[:MAX_LISTED])
        found["layout"] = f"on qubits {listed} of {device:,}"
    return found


def _drawing(feature_map: "FeatureMap | None", width: int, repetitions: int) -> str:
    """Return the map as Qiskit draws it in characters, where Qiskit is there."""
    if feature_map is None or find_spec("qiskit") is None:
        return ""
    circuit: Any = feature_map
    if isinstance(feature_map, str):
        circuit = built_in_map(feature_map, width, repetitions)
    if circuit.num_qubits > MAX_DRAWN_QUBITS:
        return ""
    drawing = str(circuit.draw("text", fold=FOLD, idle_wires=False))
    return drawing if len(drawing) <= MAX_DRAWING else ""
