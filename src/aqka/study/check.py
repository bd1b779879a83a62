"""From a study to its check before any shot, and from its settings to those to try instead."""

from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.backends.feature_maps import BUILT_IN_MAPS
from aqka.insight.exact_kernels import MAX_QUBITS
from aqka.insight.preflight import Preflight, Step, preflight
from aqka.insight.scan import RANGES, REPS, Candidate, Spending
from aqka.learners import DEFAULT_LEARNER
from aqka.planning.quotes import PREDICTIONS, Quote
from aqka.planning.split import DEFAULT_TEST_SHOTS
from aqka.study.data import encode, load_table, split_points
from aqka.study.directory import Prepared
from aqka.study.feature_maps import feature_map, n_features
from aqka.study.method import schedule_of
from aqka.study.points import Encoding, Points
from aqka.study.quoting import settle_design, study_quote
from aqka.study.schema import Study
from aqka.study.tables import DataTable

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

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
        points = encode(table, study.split, study.feature_map, width, study.seed)
        quoted = study_quote(settle_design(Prepared(study, "", points, circuit)))
        train, test = split_points(table, study.split, study.seed)
        pool = np.setdiff1d(np.arange(len(table.y)), test)
        # As in the study: fitted on its training points, and the others clipped to their range.
        fitted = table._replace(X=table.X[train])
        candidates = _candidates(study, circuit, fitted, table.X[pool], width)
        columns = points.encoding.filled(table.X[pool])
        return cls(study, columns, table.y[pool], candidates, _spending(study, quoted, points))

    def run(self, on_step: Step | None = None) -> Preflight:
        """Simulate and score; see :func:`~aqka.insight.preflight.preflight`."""
        method = self.study.method
        return preflight(
            self.candidates[0].angles,
            self.y,
            spending=self.spending,
            columns=self.X,
            candidates=self.candidates,
            head="svm" if method.learner == "svm" else "ridge",
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
    test_shots = DEFAULT_TEST_SHOTS  # for a study that only trains, whose points come later
    if predictions is not None:
        pairs = len(points.train) * len(points.test)
        test_shots = max(1, round(predictions.shots / pairs))
    return Spending(
        budget=quoted.shots,
        n_train=len(points.train),
        test_shots=test_shots,
        allocator=method.allocator,
        schedule=schedule_of(study),
        learner=method.learner or DEFAULT_LEARNER,
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
    """Return the study's own settings, then other ranges and, for a built-in map, other maps."""
    section = study.feature_map

    def angles(n_features: int, ends: list[float]) -> FloatArray:
        return Encoding.fit(fitted.X, fitted.columns, n_features, ends).features(pool)

    if section.map not in BUILT_IN_MAPS:
        assert circuit is not None  # what is not built in was read
        tried = [list(section.range), *_other_ranges(section.range)]
        return [
            Candidate(_settings(section.map, section.qubits, ends), angles(width, ends), circuit)
            for ends in tried
        ]
    assert section.qubits is not None  # by the section's own check
    own = (section.map, section.qubits, section.reps)
    settings = _settings(section.map, section.qubits, list(section.range), section.reps)
    candidates = [
        Candidate(settings, angles(width, section.range), section.map, section.reps),
    ]
    for name, qubits, reps in _forms(study, fitted):
        ranges = _other_ranges(section.range if (name, qubits, reps) == own else None)
        for ends in ranges:
            settings = _settings(name, qubits, ends, reps)
            candidates.append(Candidate(settings, angles(qubits, ends), name, reps))
    return candidates


def _settings(
    name: str, qubits: int | None, ends: list[float], reps: int | None = None
) -> dict[str, Any]:
    """Return settings by their names in a study; a circuit of one's own has no repetitions."""
    given = {
        "feature_map.map": name,
        "feature_map.qubits": qubits,
        "feature_map.range": ends,
    }
    return given if reps is None else given | {"feature_map.reps": reps}


def _other_ranges(own: list[float] | None) -> list[list[float]]:
    return [list(ends) for ends in RANGES if own is None or not np.allclose(ends, own, atol=1e-3)]


def _forms(study: Study, fitted: DataTable) -> list[tuple[str, int, int]]:
    """Return the maps to try, each with its qubits and repetitions."""
    section = study.feature_map
    assert section.qubits is not None  # by the section's own check
    # What needs Qiskit is not proposed where it is not installed.
    has_qiskit = find_spec("qiskit") is not None
    maps = list(BUILT_IN_MAPS) if has_qiskit else [section.map]
    repetitions = sorted({*REPS, section.reps}) if has_qiskit else [section.reps]
    most = min(*fitted.X.shape, MAX_QUBITS)
    sizes = {section.qubits} | {qubits for qubits in QUBITS if qubits <= most}
    return [
        (name, qubits, reps)
        for name, qubits, reps in product(maps, sorted(sizes), repetitions)
        if qubits > 1 or not name.startswith("zz")
    ]
