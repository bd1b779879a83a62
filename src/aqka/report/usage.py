"""What a run used: shots, QPU time and money against its quote, and the circuit it ran."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from aqka._util.text import counted, inert
from aqka.planning.budget import price
from aqka.planning.device import HERON
from aqka.planning.quotes import Quote
from aqka.study.points import Points
from aqka.study.schema import Study

MAX_DRAWN_QUBITS = 16
MAX_DRAWING = 20_000  # characters
MAX_LISTED = 20  # kinds of gates, places, calibrations
FOLD = 110  # columns of the drawing, after which it continues below

BUILT_IN_WORDS = {
    "zz": "ZZ map, neighbours coupled",
    "zz-full": "ZZ map, all pairs coupled",
    "z": "Z map without couplings",
}


class BillRow(NamedTuple):
    """One figure of the bill; None where it is not known."""

    figure: str
    training: float | None
    predictions: float | None
    sentinels: float | None = 0.0

    @property
    def total(self) -> float | None:
        """All together, where all are known."""
        parts = [part for part in self[1:] if part is not None]
        return sum(parts) if len(parts) == 3 else None


def bill(used: Mapping[str, Any], quoted: Quote | None = None) -> list[BillRow]:
    """Return shots, QPU time and money of training, predictions and sentinels.

    Sentinels ride in the jobs of the others, so their reported time is in that of those. A
    simulator reports no QPU time. What the same shots would take on the quoted device is an
    estimate: a fixed time for each job, and one execution for as many shots as there are tiles.
    """

    def of_training(figure: str) -> float | None:
        found = used[figure]
        beside = (used.get(f"{part}_{figure}") or 0 for part in ("calibration", "map"))
        return None if found is None else sum(beside, found)

    shots = (of_training("shots"), used["test_shots"], used["sentinel_shots"])
    reported = (of_training("qpu_seconds"), used["test_qpu_seconds"])
    rows = [BillRow("shots", *shots), BillRow("QPU seconds, as the backend reported", *reported)]
    seconds: Sequence[float | None] = reported
    name = "cost" if any(one is not None for one in reported) else "cost, estimated"
    if quoted is not None:
        jobs = (of_training("submissions"), used["test_submissions"], 0)
        executions = [-(-(count or 0) // quoted.tiles) for count in shots]
        estimated = [
            (job or 0) * HERON.job_overhead + execution * quoted.execution_seconds
            for job, execution in zip(jobs, executions, strict=True)
        ]
        rows.append(BillRow("QPU seconds, estimated for the quoted device", *estimated))
        seconds = reported if name == "cost" else estimated
        name = f"{name}, {quoted.currency}" if quoted.currency else name
    if used["rate"] is not None:
        costs = [None if s is None else price(s, used["rate"]) for s in seconds]
        rows.append(BillRow(name, *costs))
    return rows


def circuit_words(
    study: Study, points: Points, transpiled: Mapping[str, Any] | None, calibrations: list[str]
) -> dict[str, str]:
    """Return what is known about a run's circuit; ``transpiled`` is what its results say."""
    section, encoding = study.feature_map, points.encoding
    width, n_columns = points.train.shape[1], len(encoding.columns)
    low, high = encoding.range
    reduced = f", the first principal components of {n_columns} columns"
    facts = {
        "feature map": f"{BUILT_IN_WORDS[section.map]}, {counted(section.reps, 'repetition')}"
        if section.map in BUILT_IN_WORDS
        else inert(section.map),
        "features": f"{width}{reduced if n_columns > width else ''}, scaled to {low:g} to {high:g}",
    }
    if transpiled is not None:
        kinds = [f"{inert(name)} × {count}" for name, count in transpiled["gates"].items()]
        facts["circuit, transpiled"] = (
            f"depth {transpiled['depth']:,}, {transpiled['two_qubit_gates']:,} two-qubit gates "
            f"({', '.join(kinds[:MAX_LISTED])})"
        )
        if transpiled["places"]:
            listed = ", ".join(map(str, transpiled["places"][:MAX_LISTED]))
            facts["layout"] = f"on qubits {listed} of {transpiled['device_qubits']:,}"
    if calibrations:
        facts["calibrated"] = ", then ".join(calibrations[:MAX_LISTED])
    return facts


def draw_map(feature_map: Any, width: int, repetitions: int) -> str:
    """Return a feature map in characters; Qiskit draws those that are not built in."""
    if isinstance(feature_map, str):
        drawing = _draw(_columns(feature_map, width, repetitions), width)
    elif feature_map is None or feature_map.num_qubits > MAX_DRAWN_QUBITS:
        return ""
    else:
        drawing = str(feature_map.draw("text", fold=FOLD, idle_wires=False))
    return drawing if width <= MAX_DRAWN_QUBITS and len(drawing) <= MAX_DRAWING else ""


def _columns(name: str, width: int, repetitions: int) -> list[dict[int, str]]:
    """Return the gates of a built-in map, column by column and by their qubits."""
    qubits = range(width)
    apart = {"z": 0, "zz": 1, "zz-full": width}[name]
    layer = [dict.fromkeys(qubits, "H"), {k: f"P(2*x[{k}])" for k in qubits}]
    for a, b in combinations(qubits, 2):
        if b - a <= apart:
            between = dict.fromkeys(range(a + 1, b), "│")
            phase = {b: f"P(2*(π-x[{a}])*(π-x[{b}]))"}
            layer += [{a: "●", **between, b: "X"}, phase, {a: "●", **between, b: "X"}]
    return layer * repetitions


def _draw(columns: list[dict[int, str]], width: int) -> str:
    """Return a circuit as lines, one for each qubit, that continue below where they are long."""
    names = [f"q{k}: " for k in range(width)]
    size = max(map(len, names))
    blocks, lines = [], [name.ljust(size) for name in names]
    for column in columns:
        wide = 2 + max(map(len, column.values()))
        if len(lines[0]) + wide > FOLD:
            blocks.append(lines)
            lines = [" " * size] * width
        lines = [line + column.get(k, "").center(wide, "─") for k, line in enumerate(lines)]
    return "\n\n".join("\n".join(block) for block in [*blocks, lines])
