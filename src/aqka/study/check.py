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
from aqka.designs.pairs import DEFAULT_TEST_SHOTS
from aqka.insight.exact_kernels import MAX_QUBITS
from aqka.insight.map_kernels import MapKernel
from aqka.insight.preflight import Step, preflight
from aqka.insight.recommendation import Preflight
from aqka.insight.scan import RANGES, REPS, Candidate, Spending
from aqka.learners import DEFAULT_LEARNER
from aqka.maths.point_law import label_shots
from aqka.planning.quotes import PREDICTIONS, Quote
from aqka.planning.split import settled_design
from aqka.study.directory import Prepared
from aqka.study.feature_maps import feature_map, n_features, trainable_of
from aqka.study.method import design_of, schedule_of
from aqka.study.points import Encoding, encode, load_table, split_points
from aqka.study.quoting import settle_design, study_quote
from aqka.study.schema import Study
from aqka.study.tables import DataTable

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

TABLE = "feature_map"  # of the study file
QUBITS = (2, 4, 8)  # of built-in maps that are tried, where the data have as many columns


@dataclass(frozen=True, eq=False)
class StudyCheck:
    """A study's check, ready to run."""

    study: Study
    X: FloatArray  # its points but those for testing, which choosing settings must not see
    y: NDArray[Any]
    candidates: list[Candidate]  # its own settings, then those to try
    spending: Spending
    shots: str  # what is spent on what
    trainable: MapKernel | None = None  # where the study trains a map that can be simulated

    @classmethod
    def of(cls, study: Study, base: Path, *, allow_code: bool = False) -> "StudyCheck":
        """Read what a study names, inside ``base``; nothing is simulated yet."""
        circuit = feature_map(study, base, allow_code=allow_code)
        table = load_table(study.data, base)
        width, kernel, on_shots = n_features(study, circuit), None, None
        if circuit is not None and study.feature_map.train:
            made = trainable_of(study, circuit)
            kernel = MapKernel(made, design_of(study.method))
            if study.feature_map.train.where == "device" or not kernel.simulates():
                on_shots = made  # which the kernel's shots do not get
            if not made.scales:  # as it is before training
                circuit = made.bind(made.first_theta(study.seed))
        points = encode(table, study.split, study.feature_map.range, width, study.seed)
        prepared = settle_design(Prepared(study, "", points, circuit, trainable=on_shots))
        spending, words = _spending(prepared, study_quote(prepared))
        train, test = split_points(table, study.split, study.seed)
        pool = np.setdiff1d(np.arange(len(table.y)), test)
        # As in the study: fitted on its training points, and the others clipped to their range.
        fitted = table._replace(X=table.X[train])
        candidates = _candidates(study, circuit, fitted, table.X[pool], width)
        columns = points.encoding.filled(table.X[pool])
        trainable = kernel if kernel is not None and kernel.simulates() else None
        return cls(study, columns, table.y[pool], candidates, spending, words, trainable)

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
            seed=self.study.seed,
            on_step=on_step,
            trainable=self.trainable,
        )

    def changes(self, candidate: Candidate) -> dict[str, Any]:
        """Return what to write into the study file to have a candidate's settings."""
        changes = candidate.changes(self.candidates[0])
        if changes and TABLE not in self.study.model_fields_set:
            # A table that is written needs its qubits, which have a default only without it.
            changes[f"{TABLE}.qubits"] = candidate.settings[f"{TABLE}.qubits"]
        return changes


def _spending(prepared: Prepared, quoted: Quote) -> tuple[Spending, str]:
    """Return what a study spends, as simulated shots on pairs (wide maps: points), and in words."""
    method, n_qubits = prepared.study.method, prepared.n_qubits
    wide = n_qubits > MAX_QUBITS
    predicted = quoted.part(PREDICTIONS).shots
    n_train, n_test = len(prepared.points.train), len(prepared.points.test)
    unit, n_units, _ = ("point", n_train, "") if wide else quoted.units
    each = quoted.shots / n_units

    def worth_of(shots: float) -> float:  # on every pair
        return shots if wide or unit == "pair" else label_shots(n_qubits, shots)

    worth = worth_of(each)
    test_shots = DEFAULT_TEST_SHOTS  # for a study that only trains, whose points come later
    if predicted:
        design = settled_design("points" if wide else quoted.design)
        new = predicted / design.new_units(n_train, n_test)
        test_shots = max(1, round(worth_of(new)))
    words = f"{each:,.3g} shots on every {unit}"
    if worth != each:
        words += f", worth {worth:,.3g} on every pair,"
    if method.pairs.reading == "tolerant" and not wide:
        words += ", read as all-zero,"
    spending = Spending(
        budget=quoted.shots if wide else max(1, round(worth * quoted.n_pairs)),
        n_train=n_train,
        test_shots=test_shots,
        allocator=method.allocator,
        schedule=schedule_of(prepared.study),
        learner=method.learner or DEFAULT_LEARNER,
        ridge=method.ridge,
        C=method.C,
    )
    return spending, words


def _candidates(
    study: Study, circuit: "QuantumCircuit | None", fitted: DataTable, pool: FloatArray, width: int
) -> list[Candidate]:
    """Return the study's own settings, then other ranges and, for a built-in map, other maps."""
    section = study.feature_map

    def candidate(name: str, qubits: int | None, reps: int | None, ends: list[float]) -> Candidate:
        size = width if reps is None or qubits is None else qubits
        angles = Encoding.fit(fitted.X, fitted.columns, size, ends).features(pool)
        settings = {f"{TABLE}.map": name, f"{TABLE}.qubits": qubits, f"{TABLE}.range": ends}
        if reps is None:  # a circuit of one's own has no repetitions
            assert circuit is not None
            return Candidate(settings, angles, circuit)
        return Candidate(settings | {f"{TABLE}.reps": reps}, angles, name, reps)

    is_built_in = section.map in BUILT_IN_MAPS
    own = (section.map, section.qubits, section.reps if is_built_in else None)
    candidates = [candidate(*own, list(section.range))]
    for form in _forms(study, fitted) if is_built_in else [own]:
        for ends in RANGES:
            if form != own or not np.allclose(ends, section.range, atol=1e-3):
                candidates.append(candidate(*form, list(ends)))
    return candidates


def _forms(study: Study, fitted: DataTable) -> list[tuple[str, int, int]]:
    section = study.feature_map
    assert section.qubits is not None  # by the section's own check
    if section.qubits > MAX_QUBITS:  # each kernel takes a second: other ranges alone are tried
        return [(section.map, section.qubits, section.reps)]
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
