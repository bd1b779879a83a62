"""From a study to its check before any shot, and from its settings to those to try instead."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.insight.forecast import Spending
from aqka.insight.phase_maps import MAX_QUBITS
from aqka.insight.preflight import Preflight, Step, preflight
from aqka.insight.scan import RANGES, Candidate
from aqka.planning.parts import PREDICTIONS
from aqka.planning.quotes import Quote
from aqka.study.carry_out import study_quote
from aqka.study.data import Points, encode, load_table, split_points
from aqka.study.directory import Prepared
from aqka.study.encoding import Encoding
from aqka.study.feature_maps import feature_map, n_features
from aqka.study.method import schedule_of
from aqka.study.schema import BUILT_IN_MAPS, Study
from aqka.study.table_files import DataTable

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

DEFAULT_TEST_SHOTS = 100
QUBITS = (2, 4, 8)  # of built-in maps that are tried, where the data have as many columns


@dataclass(frozen=True, eq=False)
class StudyCheck:
    """A study's check, ready to run.

    Attributes
    ----------
    study
        The study.
    X, y
        Its points but those for testing, which choosing settings must not see.
    candidates
        Its own settings, then those to try.
    spending
        Its budget and method.
    """

    study: Study
    X: FloatArray
    y: NDArray[Any]
    candidates: list[Candidate]
    spending: Spending

    @classmethod
    def of(cls, study: Study, base: Path, *, allow_code: bool = False) -> "StudyCheck":
        """Read what a study names, inside ``base``; nothing is simulated yet."""
        circuit = feature_map(study, base, allow_code=allow_code)
        table = load_table(study.data, base)
        width = n_features(study, circuit)
        points = encode(table, study.split, study.feature_map, width)
        quoted = study_quote(Prepared(study, "", points, circuit))
        train, test = split_points(table, study.split)
        pool = np.setdiff1d(np.arange(len(table.y)), test)
        # As in the study: fitted on its training points, and the others clipped to their range.
        fitted = table._replace(X=table.X[train])
        candidates = _candidates(study, circuit, fitted, table.X[pool], width)
        spending = _spending(study, quoted, points)
        return cls(study, table.X[pool], table.y[pool], candidates, spending)

    def run(self, on_step: Step | None = None) -> Preflight:
        """Simulate and score; see :func:`~aqka.insight.preflight.preflight`."""
        method = self.study.method
        return preflight(
            self.candidates[0].angles,
            self.y,
            spending=self.spending,
            columns=self.X,
            candidates=self.candidates,
            head=method.head,
            C=method.C,
            on_step=on_step,
        )

    def changes(self, candidate: Candidate) -> dict[str, Any]:
        """Return what to write into the study file to have a candidate's settings."""
        changes = candidate.changes(self.candidates[0])
        if changes and "feature_map" not in self.study.model_fields_set:
            # A table that is written needs its qubits, which have a default only without it.
            changes["feature_map.qubits"] = candidate.settings["feature_map.qubits"]
        return changes


def _spending(study: Study, quoted: Quote, points: Points) -> Spending:
    method, predictions = study.method, quoted.part(PREDICTIONS)
    test_shots = DEFAULT_TEST_SHOTS  # of a study that only trains, whose points come later
    if predictions is not None:
        pairs = len(points.train) * len(points.test)
        test_shots = max(1, round(predictions.shots / pairs))
    return Spending(
        budget=quoted.shots,
        n_train=len(points.train),
        test_shots=test_shots,
        allocator=method.allocator,
        schedule=schedule_of(study),
        readout=method.readout or ("svm" if method.head == "svm" else "auto"),
        ridge=method.ridge,
        C=method.C,
    )


def _candidates(
    study: Study,
    circuit: "QuantumCircuit | None",
    fitted: DataTable,
    pool: FloatArray,
    width: int,
) -> list[Candidate]:
    """Return the study's own settings, then ranges and, of a built-in map, maps and qubits."""
    section = study.feature_map

    def angles(n_features: int, ends: list[float]) -> FloatArray:
        return Encoding.fit(fitted.X, fitted.columns, n_features, ends).features(pool)

    own = Candidate(
        {
            "feature_map.map": section.map,
            "feature_map.qubits": section.qubits,
            "feature_map.range": list(section.range),
        },
        angles(width, section.range),
        section.map if circuit is None or section.map in BUILT_IN_MAPS else circuit,
    )
    candidates = [own]
    for name, qubits in _maps_and_qubits(study, fitted):
        for low, high in RANGES:
            same_map = (name, qubits) == (section.map, section.qubits)
            if same_map and np.allclose([low, high], section.range, atol=1e-3):
                continue  # the study's own
            settings = {
                "feature_map.map": name,
                "feature_map.qubits": qubits,
                "feature_map.range": [low, high],
            }
            tried = own.feature_map if name not in BUILT_IN_MAPS else name
            candidates.append(Candidate(settings, angles(qubits or width, [low, high]), tried))
    return candidates


def _maps_and_qubits(study: Study, fitted: DataTable) -> list[tuple[str, int | None]]:
    section = study.feature_map
    if section.map not in BUILT_IN_MAPS:
        return [(section.map, section.qubits)]
    assert section.qubits is not None  # by the section's own check
    # What needs Qiskit is not proposed to somebody who does not have it.
    maps = BUILT_IN_MAPS if find_spec("qiskit") is not None else (section.map,)
    most = min(*fitted.X.shape, MAX_QUBITS)
    sizes = {section.qubits}
    if section.reduce == "pca":
        sizes |= {qubits for qubits in QUBITS if qubits <= most}
    return [
        (name, qubits)
        for name in maps
        for qubits in sorted(sizes)
        if qubits > 1 or not name.startswith("zz")
    ]
