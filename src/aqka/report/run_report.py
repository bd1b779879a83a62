"""All that the report of a run says, worked out from what was measured without a new shot."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aqka._util.arrays import FloatArray, text_digest
from aqka._util.text import inert
from aqka.core.pairs import PairTable
from aqka.core.points import PointTable
from aqka.core.reading import FAIR, PAPER
from aqka.errors import InputError
from aqka.estimates.pairs import estimate_kernel
from aqka.estimates.readout import known_confusion
from aqka.insight.diagnostics import Diagnostics, count_sensitivity, diagnose_sensitivity
from aqka.insight.hindsight import FewerShots, Steering, fewer_shots, noise_floor, steering
from aqka.maths.spectrum import Spectrum
from aqka.readouts import FittedHead
from aqka.readouts.ridge_noise import RidgeNoise
from aqka.report.bill import BillRow, bill
from aqka.report.exact_kernel import ExactKernel
from aqka.report.left_out import MAX_ROUNDS_POINTS, is_small, what_is_left_out
from aqka.report.measured_points import MeasuredPoints, measured_points
from aqka.report.point_results import PointResults, point_results, train_ids
from aqka.report.rivals import Rival
from aqka.report.run_circuit import RunCircuit, feature_map_of, run_circuit
from aqka.report.run_costs import bill_of, usage_of
from aqka.report.run_rivals import exact_kernel_of, rivals_of
from aqka.report.value_results import ValueResults, value_results
from aqka.runs.audit import Audit
from aqka.runs.export import calibration_in
from aqka.runs.history import History
from aqka.sessions.acquisition import Acquisition
from aqka.sessions.point_acquisition import PointAcquisition
from aqka.sessions.point_heads import PointHead
from aqka.study.directory import is_held
from aqka.study.method import class_labels_of, readout_of
from aqka.study.progress import check_extent, empty_point_table, run_state
from aqka.study.results import measured_spectrum, training_use
from aqka.study.rounds import (
    MAX_ASSESSED_POINTS,
    RoundSummary,
    make_assess,
    summarise_point_rounds,
    summarise_rounds,
)
from aqka.study.store import RunStore
from aqka.study.study_run import StudyRun, load_study_run

ASSESSED_ROUNDS = 12  # with a Gini and an accuracy
MAX_SETTING = 200  # characters
ZERO = 1e-9  # of the largest eigenvalue


@dataclass(frozen=True, eq=False)
class RunReport:
    """A run as its report tells it; what cannot be known is None or empty.

    Attributes
    ----------
    name, state, backend, version
        Its directory, where it stands, who ran the shots, the aqka that began it.
    study_text, settings
        The study file, and its settings by name; empty of a run begun from Python.
    table, budget, rounds
        Counts, shots that may be spent on them, and what happened round by round.
    calibration_shots
        Shots beside these that calibrated the readout.
    labels, ids, data
        Classes of the training points, as text, empty where they are not recorded; what the
        user's file calls them; and a digest of the test points, by which two runs know that they
        have the same.
    sensitivity, diagnostics
        |g| per pair, and what it says; None without labels.
    eigenvalues, noise_floor
        Of the kernel estimate, falling; and what shot noise alone can reach.
    steering, fewer
        Looking back: see :mod:`aqka.insight.hindsight`.
    point_results, values
        The test points, their classes or their values; None before they are predicted.
    exact
        The kernel without noise, or why it is not known.
    rivals
        Other models on the same test points; empty before those are predicted.
    usage, bill
        Quoted against used, a row per figure; and what training and predictions cost together.
    circuit
        The feature map, and what became of it on the device.
    ledgers
        What the check of each ledger says.
    notes
        What was left out, and why.
    measured
        Of a run of points: the kernel that follows from their counts; None of pairs, and where it
        is not worked out.
    """

    name: str
    state: str
    backend: str
    version: str
    study_text: str
    settings: dict[str, str]
    table: PairTable | PointTable
    budget: int
    calibration_shots: int
    rounds: list[RoundSummary]
    labels: list[str]
    ids: list[str]
    data: str
    sensitivity: FloatArray | None
    diagnostics: Diagnostics | None
    eigenvalues: FloatArray
    noise_floor: float
    steering: Steering | None
    fewer: list[FewerShots]
    point_results: PointResults | None
    values: ValueResults | None
    exact: ExactKernel | str
    rivals: list[Rival]
    usage: list[dict[str, Any]]
    bill: list[BillRow]
    circuit: RunCircuit
    ledgers: dict[str, Audit]
    notes: list[str]
    measured: MeasuredPoints | None = None

    @property
    def measures_points(self) -> bool:
        """Whether its shots were spent on points, so that there are no pairs to show."""
        return isinstance(self.table, PointTable)

    @property
    def pairs(self) -> PairTable:
        """The counts of a run of pairs."""
        assert isinstance(self.table, PairTable)
        return self.table


def run_report(directory: Path) -> RunReport:
    """Read a run's directory, finished or not."""
    store = RunStore(directory)
    held = is_held(directory)
    history = store.training
    if history is None:
        raise InputError(
            f"{inert(directory, 300)} has not measured anything yet; there is nothing to report."
        )
    check_extent(history)
    state = run_state(store, held)
    if state == "reporting":
        state = "finished"  # all that a report tells is there
    if store.has_study:
        return study_report(load_study_run(store), state)
    return _python_report(directory, history, state)


def study_report(run: StudyRun, state: str = "finished") -> RunReport:
    """Return the report of a study's run, carried out just now or read from its directory."""
    if isinstance(run.session, PointAcquisition):
        return _points_report(run, run.session, state)
    assert isinstance(run.session, Acquisition)
    assert not isinstance(run.head, PointHead)
    table, problem = run.session.table, run.session.problem
    points = run.points
    noise_head = _noise_head(run)
    spectrum = measured_spectrum(run.session, noise_head or run.head)
    sensitivity = count_sensitivity(table, problem, spectrum)
    diagnostics = diagnose_sensitivity(table, problem, sensitivity)
    feature_map = feature_map_of(run)
    exact = exact_kernel_of(run, feature_map)
    # Intervals that count the training shots are those of a kernel as it was measured.
    found = point_results(run, total=is_small(run) and not run.study.sentinels.mitigate)
    assess = make_assess(
        problem, class_labels_of(run.study, points), readout_of(run.study), diagnostics
    )
    assessed = ASSESSED_ROUNDS if table.n_points <= MAX_ROUNDS_POINTS else 1
    return RunReport(
        **_common(run.directory, run.history, state, _backend_name(run)),
        study_text=run.text,
        settings=_settings(run.study.model_dump()),
        table=table,
        rounds=summarise_rounds(run.history, problem.new_table(), assess, assessed),
        labels=[inert(label) for label in points.train_labels],
        ids=train_ids(points),
        data=_test_digest(run),
        sensitivity=sensitivity,
        diagnostics=diagnostics,
        eigenvalues=_falling_eigenvalues(run, spectrum),
        noise_floor=noise_floor(table),
        steering=_steering(run, noise_head),
        fewer=_fewer_shots(run),
        point_results=found,
        values=value_results(run, total=is_small(run)),
        exact=exact,
        rivals=[] if found is None else rivals_of(run, found, exact),
        usage=usage_of(run),
        bill=bill_of(run),
        circuit=run_circuit(run, feature_map),
        ledgers=run.audits,
        notes=[*_design_note(run), *what_is_left_out(run, exact)],
    )


def _design_note(run: StudyRun) -> list[str]:
    """Return why pairs or points were measured, where the study left it open."""
    why = run.results.get("design_reason")
    return [inert(why, 300)] if isinstance(why, str) else []


def _other_kernel_note(measured: MeasuredPoints | None, exact: ExactKernel | str) -> list[str]:
    """Return that a projected kernel is not the one that is simulated, where one is."""
    if measured is None or measured.is_fidelity or isinstance(exact, str):
        return []
    return ["The exact kernel shown beside it is the fidelity kernel, which is another one."]


def _readout_note(session: PointAcquisition) -> list[str]:
    """Return what a calibration says of the readout, in a sentence."""
    confusion = session.confusion
    if confusion is None:
        return []
    return [
        f"{session.calibration.total:,} more shots, on reference states, show that a 0 is read as "
        f"1 in {confusion[:, 1, 0].mean():.2%} of cases and a 1 as 0 in "
        f"{confusion[:, 0, 1].mean():.2%}, on average over the qubits; these errors are taken out."
    ]


def _points_report(run: StudyRun, session: PointAcquisition, state: str) -> RunReport:
    """Return the report of a run of points: no pair was measured, so none is drawn."""
    feature_map = feature_map_of(run)
    exact, found = exact_kernel_of(run, feature_map), point_results(run, total=False)
    table = session.table
    head = run.head if isinstance(run.head, PointHead) else None
    measured = measured_points(table, head, session.confusion, session.kernel)
    empty = PointTable(table.n_points, table.settings)
    return RunReport(
        **_common(run.directory, run.history, state, _backend_name(run)),
        study_text=run.text,
        settings=_settings(run.study.model_dump()),
        table=table,
        rounds=summarise_point_rounds(run.history, empty),
        labels=[inert(label) for label in run.points.train_labels],
        ids=train_ids(run.points),
        data=_test_digest(run),
        sensitivity=None,
        diagnostics=None,
        eigenvalues=_eigenvalues_of(measured),
        noise_floor=0.0,
        steering=None,
        fewer=[],
        point_results=found,
        values=value_results(run, total=False),
        exact=exact,
        rivals=[] if found is None else rivals_of(run, found, exact),
        usage=usage_of(run),
        bill=bill_of(run),
        circuit=run_circuit(run, feature_map),
        ledgers=run.audits,
        notes=[
            *_design_note(run),
            "Points were measured, not pairs: there is no comparison of allocators, and intervals "
            "count the new points' own shots.",
            *_why_unread(table, measured),
            *_other_kernel_note(measured, exact),
            *_readout_note(session),
        ],
        measured=measured,
    )


def _python_report(directory: Path, history: History, state: str) -> RunReport:
    """Return the report of a run begun from Python, whose labels are not recorded."""
    table: PairTable | PointTable
    measured: MeasuredPoints | None = None
    if history.extent.pauli is not None:
        table = empty_point_table(history)
        rounds = summarise_point_rounds(history, table)
        measured = measured_points(table, confusion=known_confusion(calibration_in(history)))
        eigenvalues, floor = _eigenvalues_of(measured), 0.0
        unread = _why_unread(table, measured)
    else:
        assert history.extent.points is not None
        assert history.extent.diagonal is not None
        table = PairTable(history.extent.points, history.extent.diagonal)
        rounds = summarise_rounds(history, table, None, 1)
        reading = FAIR if table.diagonal == "known" else PAPER
        eigenvalues, floor = _eigenvalues(reading.kernel(table)), noise_floor(table)
        unread = []
    return RunReport(
        **_common(directory, history, state, history.backend or ""),
        study_text="",
        settings={},
        table=table,
        rounds=rounds,
        labels=[],
        ids=[f"point {k}" for k in range(table.n_points)],
        data="",
        sensitivity=None,
        diagnostics=None,
        eigenvalues=eigenvalues,
        noise_floor=floor,
        steering=None,
        fewer=[],
        point_results=None,
        values=None,
        exact="the run was begun from Python",
        rivals=[],
        usage=[],
        bill=bill(Audit.of(history), None, None, None),
        circuit=RunCircuit({}),
        ledgers={"training": Audit.of(history)},
        notes=[
            "The run was begun from Python: its ledger holds no labels, so sensitivities, "
            "accuracy and test points cannot be told.",
            *unread,
        ],
        measured=measured,
    )


def _common(directory: Path, history: History, state: str, backend: str) -> dict[str, Any]:
    return {
        "name": inert("/".join(directory.resolve().parts[-2:]), 100),
        "state": state,
        "backend": backend,
        "version": history.version,
        # A calibration is no part of what the figures of points add up to.
        "budget": (history.budget or 0) - (history.extent.calibration or 0),
        "calibration_shots": training_use(history).get("calibration_shots", 0),
    }


def _backend_name(run: StudyRun) -> str:
    """Return what the study calls the backend, unless it left the device open."""
    section = run.study.backend
    if section.name == "ibm" and section.device is None and run.history.backend:
        return run.history.backend
    return inert(section.device or section.name)


def _noise_head(run: StudyRun) -> FittedHead | None:
    """Return what the ridge-noise readout makes of the counts; None without counts of all rows."""
    session = _of_pairs(run)
    if not session.table.total or session.landmarks is not None:
        return None
    if isinstance(run.head, FittedHead) and isinstance(readout_of(run.study), RidgeNoise):
        return run.head
    return session.fit(RidgeNoise())


def _steering(run: StudyRun, noise_head: FittedHead | None) -> Steering | None:
    if noise_head is None:
        return None
    redraws = max(5, min(10, 1000 // len(run.points.train))) if is_small(run) else 0
    return steering(_of_pairs(run).table, run.session.problem, repetitions=redraws, head=noise_head)


def _test_digest(run: StudyRun) -> str:
    """Return a digest of the test points: by their names in the user's file, where it has them.

    What circuits are given differs with the feature map, which runs are compared by.
    """
    points, labels = run.points, repr(run.points.test_labels.tolist())
    return text_digest(f"{run.study.data.source} {points.origin.test_ids} {labels}")


def _falling_eigenvalues(run: StudyRun, measured: Spectrum) -> FloatArray:
    """Return the eigenvalues of the kernel that the readout is given."""
    session = _of_pairs(run)
    if session.landmarks is None:
        return measured.measured[::-1]
    return _eigenvalues(estimate_kernel(session.table, session.problem, session.landmarks))


def _of_pairs(run: StudyRun) -> Acquisition:
    assert isinstance(run.session, Acquisition)
    return run.session


def _fewer_shots(run: StudyRun) -> list[FewerShots]:
    session = _of_pairs(run)
    if not session.table.total or not is_small(run):
        return []
    labels, readout = class_labels_of(run.study, run.points), readout_of(run.study)
    if labels is None:
        return []
    return fewer_shots(session.table, session.problem, labels, readout, session.landmarks)


def _eigenvalues_of(measured: MeasuredPoints | None) -> FloatArray:
    """Return the eigenvalues of a kernel of points but for zeros: 4ⁿ are all that states have."""
    if measured is None:
        return np.zeros(0)
    values = _eigenvalues(measured.kernel)
    return np.asarray(values[np.abs(values) > ZERO * values[0]])


def _why_unread(table: PointTable, measured: MeasuredPoints | None) -> list[str]:
    """Return why the kernel of points is not worked out, where it is not."""
    if measured is not None:
        return []
    if table.n_points > MAX_ASSESSED_POINTS:
        return [f"Above {MAX_ASSESSED_POINTS} points the kernel is not worked out here."]
    return ["Some points have no shots yet, or too few, so that there is no kernel to show."]


def _eigenvalues(kernel: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.eigvalsh(kernel)[::-1])


def _settings(study: dict[str, Any]) -> dict[str, str]:
    """Return all settings of a study by their full names, as text."""
    found: dict[str, str] = {}
    for section, values in study.items():
        if isinstance(values, dict):
            for key, value in values.items():
                text = "default" if value is None else inert(value, MAX_SETTING)
                found[f"{section}.{key}"] = text
    return found
