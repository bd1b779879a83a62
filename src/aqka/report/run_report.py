"""All that the report of a run says, worked out from what was measured without a new shot."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aqka._util.arrays import FloatArray, digest, text_digest
from aqka._util.text import inert
from aqka.core.pairs import PairTable
from aqka.core.reading import FAIR, PAPER
from aqka.errors import InputError
from aqka.estimates.pairs import estimate_kernel
from aqka.insight.diagnostics import Diagnostics, count_sensitivity, diagnose_sensitivity
from aqka.insight.hindsight import FewerShots, Steering, fewer_shots, steering
from aqka.insight.redraw import noise_floor
from aqka.maths.spectrum import Spectrum
from aqka.readouts import FittedHead
from aqka.readouts.ridge_noise import RidgeNoise
from aqka.report.point_results import PointResults, point_results
from aqka.runs.audit import Audit
from aqka.runs.history import History
from aqka.study.carry_out import stored_quote
from aqka.study.directory import check_directory, is_held
from aqka.study.method import readout_of
from aqka.study.progress import check_extent, read_begun_history, run_state
from aqka.study.results import measured_spectrum, quote_versus_actual
from aqka.study.rounds import MAX_ASSESSED_POINTS, RoundSummary, make_assess, summarise_rounds
from aqka.study.seal import STUDY_NAME
from aqka.study.study_run import StudyRun, load_study_run

ASSESSED_ROUNDS = 12  # with a Gini and an accuracy
MAX_ROUNDS_POINTS = 1000  # above it only the last round has a Gini: each takes seconds
MAX_SETTING = 200  # characters


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
        Counts, shots that may be spent, and what happened round by round.
    labels, data
        Classes of the training points, as text, empty where they are not recorded; and a digest
        of the test points, by which two runs know that they have the same.
    sensitivity, diagnostics
        |g| per pair, and what it says; None without labels.
    eigenvalues, noise_floor
        Of the kernel estimate, falling; and what shot noise alone can reach.
    steering, fewer
        Looking back: see :mod:`aqka.insight.hindsight`.
    point_results
        The test points; None before they are predicted.
    usage
        Quoted against used, a row per figure.
    ledgers
        What the check of each ledger says.
    notes
        What was left out, and why.
    """

    name: str
    state: str
    backend: str
    version: str
    study_text: str
    settings: dict[str, str]
    table: PairTable
    budget: int
    rounds: list[RoundSummary]
    labels: list[str]
    data: str
    sensitivity: FloatArray | None
    diagnostics: Diagnostics | None
    eigenvalues: FloatArray
    noise_floor: float
    steering: Steering | None
    fewer: list[FewerShots]
    point_results: PointResults | None
    usage: list[dict[str, Any]]
    ledgers: dict[str, Audit]
    notes: list[str]


def run_report(directory: Path) -> RunReport:
    """Read a run's directory, finished or not."""
    check_directory(directory)
    held = is_held(directory)
    history = read_begun_history(directory)
    if history is None:
        raise InputError(
            f"{inert(directory, 300)} has not measured anything yet; there is nothing to report."
        )
    check_extent(history)
    state = run_state(directory, history, held)
    if (directory / STUDY_NAME).exists():
        return study_report(load_study_run(directory, history), state)
    return _python_report(directory, history, state)


def study_report(run: StudyRun, state: str = "finished") -> RunReport:
    """Return the report of a study's run, carried out just now or read from its directory."""
    table, problem = run.session.table, run.session.problem
    points = run.points
    noise_head = _noise_head(run)
    spectrum = measured_spectrum(run.session, noise_head or run.head)
    sensitivity = count_sensitivity(table, problem, spectrum)
    diagnostics = diagnose_sensitivity(table, problem, sensitivity)
    assess = make_assess(problem, points.train_labels, readout_of(run.study), diagnostics)
    assessed = ASSESSED_ROUNDS if table.n_points <= MAX_ROUNDS_POINTS else 1
    return RunReport(
        **_common(run.directory, run.history, state, _backend_name(run)),
        study_text=run.text,
        settings=_settings(run.study.model_dump()),
        table=table,
        rounds=summarise_rounds(run.history, problem.new_table(), assess, assessed),
        labels=[inert(label) for label in points.train_labels],
        data=f"{digest(points.test)} {text_digest(repr(points.test_labels.tolist()))}",
        sensitivity=sensitivity,
        diagnostics=diagnostics,
        eigenvalues=_falling_eigenvalues(run, spectrum),
        noise_floor=noise_floor(table),
        steering=_steering(run, noise_head),
        fewer=_fewer_shots(run),
        point_results=point_results(run, total=_is_small(run)),
        usage=_usage(run),
        ledgers=run.audits,
        notes=_notes(run),
    )


def _python_report(directory: Path, history: History, state: str) -> RunReport:
    """Return the report of a run begun from Python, whose labels are not recorded."""
    assert history.extent.points is not None
    assert history.extent.diagonal is not None
    table = PairTable(history.extent.points, history.extent.diagonal)
    rounds = summarise_rounds(history, table, None, 1)
    reading = FAIR if table.diagonal == "known" else PAPER
    return RunReport(
        **_common(directory, history, state, history.backend or ""),
        study_text="",
        settings={},
        table=table,
        rounds=rounds,
        labels=[],
        data="",
        sensitivity=None,
        diagnostics=None,
        eigenvalues=_eigenvalues(reading.kernel(table)),
        noise_floor=noise_floor(table),
        steering=None,
        fewer=[],
        point_results=None,
        usage=[],
        ledgers={"training": Audit.of(history)},
        notes=[
            "The run was begun from Python: its ledger holds no labels, so sensitivities, "
            "accuracy and test points cannot be told."
        ],
    )


def _common(directory: Path, history: History, state: str, backend: str) -> dict[str, Any]:
    return {
        "name": inert("/".join(directory.resolve().parts[-2:]), 100),
        "state": state,
        "backend": backend,
        "version": history.version,
        "budget": history.budget,
    }


def _backend_name(run: StudyRun) -> str:
    """Return what the study calls the backend, unless it left the device open."""
    section = run.study.backend
    if section.name == "ibm" and section.device is None and run.history.backend:
        return run.history.backend
    return inert(section.device or section.name)


def _is_small(run: StudyRun) -> bool:
    return len(run.points.train) <= MAX_ASSESSED_POINTS


def _noise_head(run: StudyRun) -> FittedHead | None:
    """Return what the ridge-noise readout makes of the counts; None without counts of all rows."""
    session = run.session
    if not session.table.total or session.landmarks is not None:
        return None
    if run.head is not None and isinstance(readout_of(run.study), RidgeNoise):
        return run.head
    return session.fit(RidgeNoise())


def _steering(run: StudyRun, noise_head: FittedHead | None) -> Steering | None:
    if noise_head is None:
        return None
    redraws = max(5, min(10, 1000 // len(run.points.train))) if _is_small(run) else 0
    return steering(run.session.table, run.session.problem, repetitions=redraws, head=noise_head)


def _falling_eigenvalues(run: StudyRun, measured: Spectrum) -> FloatArray:
    """Return the eigenvalues of the kernel that the readout is given."""
    session = run.session
    if session.landmarks is None:
        return measured.measured[::-1]
    return _eigenvalues(estimate_kernel(session.table, session.problem, session.landmarks))


def _fewer_shots(run: StudyRun) -> list[FewerShots]:
    session = run.session
    if not session.table.total or not _is_small(run):
        return []
    labels, readout = run.points.train_labels, readout_of(run.study)
    return fewer_shots(session.table, session.problem, labels, readout, session.landmarks)


def _notes(run: StudyRun) -> list[str]:
    """Return what was left out, and why."""
    notes = []
    if not _is_small(run):
        notes.append(
            f"Above {MAX_ASSESSED_POINTS} training points accuracy by cross-validation, the "
            "curve of fewer shots, how sure the comparison with even shots is and intervals that "
            "count the training shots are left out: they take minutes."
        )
    if len(run.points.train) > MAX_ROUNDS_POINTS:
        notes.append(
            f"Above {MAX_ROUNDS_POINTS} training points only the last round has a Gini, for the "
            "same reason."
        )
    if run.session.table.total and run.session.landmarks is not None:
        notes.append(
            "The allocator completes rows from landmarks; how that compares with even shots is not "
            "worked out."
        )
    predictions = run.audits.get("predictions")
    if run.session.done and predictions is not None and not predictions.sound:
        notes.append("The test points are left out: the ledger of the predictions is not sound.")
    return notes


def _usage(run: StudyRun) -> list[dict[str, Any]]:
    """Return quoted against used, from the ledgers; the predictions' quote is an upper limit."""
    quoted = stored_quote(run.results)
    if quoted is None:
        return []
    rounds = run.history.rounds
    actual = {
        "shots": run.history.shots,
        "submissions": len(rounds),
        "qpu_seconds": run.history.qpu_seconds,
        "wall_seconds": sum(max(0.0, r.ended_at - r.planned_at) for r in rounds),
        "rate": run.study.budget.rate,
    }
    rows = quote_versus_actual(quoted, actual)
    predictions = run.audits.get("predictions")
    most = run.results.get("test_shots")
    if predictions is not None and isinstance(most, int):
        rows.append(
            {"figure": "shots for predictions", "quoted": most, "actual": predictions.shots}
        )
        if predictions.qpu_seconds is not None:
            used = predictions.qpu_seconds
            rows.append({"figure": "QPU seconds for predictions", "quoted": None, "actual": used})
    return rows


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
