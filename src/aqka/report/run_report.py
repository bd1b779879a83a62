"""All that the report of a run says, worked out from its directory without a new shot."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aqka._util.arrays import FloatArray, digest, text_digest
from aqka._util.text import inert
from aqka.allocators.aqka import ridge_gradient
from aqka.core.pairs import PairTable
from aqka.core.reading import FAIR, PAPER
from aqka.errors import InputError, LedgerError
from aqka.estimates.pairs import estimate_kernel
from aqka.insight.diagnostics import Diagnostics, diagnose
from aqka.insight.hindsight import FewerShots, Steering, fewer_shots, steering
from aqka.insight.redraw import noise_floor
from aqka.report.point_results import PointResults, point_results
from aqka.runs.audit import Audit, verify
from aqka.runs.driver import replay
from aqka.runs.ledger import Entry
from aqka.sessions.acquisition import Acquisition
from aqka.study.directory import PREDICTIONS_NAME, STUDY_NAME, read_points, read_results
from aqka.study.progress import (
    MAX_ESTIMATED_POINTS,
    Round,
    estimator,
    progress,
    read_entries,
    rounds_of,
)

ESTIMATED_ROUNDS = 12  # with a Gini and an accuracy
REDRAWN_POINTS = 1000  # up to so many the counts are redrawn to know how sure the steering is
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
    rounds: list[Round]
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
    now = progress(directory)  # checks the directory and the ledger
    entries = read_entries(directory)
    if not entries:
        raise InputError(
            f"{inert(directory, 300)} has not measured anything yet; there is nothing to report."
        )
    version = inert(entries[0].body.get("version", "unknown"))
    facts = entries[0].body["fingerprint"]
    common: dict[str, Any] = {
        "name": inert("/".join(directory.resolve().parts[-2:]), 100),
        "state": now.state,
        "backend": now.backend,
        "version": version,
        "budget": now.budget,
    }
    ledgers = {"training": verify(directory)}
    predictions = directory / PREDICTIONS_NAME
    if predictions.is_dir():
        try:
            ledgers["predictions"] = verify(predictions)
        except LedgerError as error:
            ledgers["predictions"] = Audit(False, [str(error)], None, 0, 0, False, None)
    if not (directory / STUDY_NAME).exists():
        table = PairTable(int(facts["points"]), facts["diagonal"])
        rounds = rounds_of(entries, table, None, 1)
        reading = FAIR if table.diagonal == "known" else PAPER
        return RunReport(
            **common,
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
            ledgers=ledgers,
            notes=[
                "The run was begun from Python: its ledger holds no labels, so sensitivities, "
                "accuracy and test points cannot be told."
            ],
        )
    return _of_study(directory, entries, common, ledgers)


def _of_study(
    directory: Path, entries: list[Entry], common: dict[str, Any], ledgers: dict[str, Audit]
) -> RunReport:
    # Imported here: a run begun from Python has no study, and pydantic takes a moment.
    from aqka.study.method import problem_of, readout_of, schedule_of
    from aqka.study.schema import load_study

    study, text = load_study(directory / STUDY_NAME)
    points = read_points(directory)
    problem = problem_of(study, points)
    readout = readout_of(study)
    method, notes = study.method, list[str]()
    session = Acquisition(
        problem, common["budget"], method.allocator, schedule_of(study), method.seed
    )
    replay(session, entries)
    table, landmarks, n_points = session.table, session.landmarks, len(points.train)
    small = n_points <= MAX_ESTIMATED_POINTS
    if small:
        estimate = estimator(problem, points.train_labels, readout)
    else:
        notes.append(
            f"Above {MAX_ESTIMATED_POINTS} training points accuracy by cross-validation, the "
            "curve of fewer shots and intervals that count the training shots are left out: they "
            "take minutes."
        )

        def estimate(counts: PairTable, _: Any) -> tuple[float, float | None]:
            return diagnose(counts, problem).gini, None

    rounds = rounds_of(entries, problem.new_table(), estimate, ESTIMATED_ROUNDS)
    looked_back, fewer, judged = None, list[FewerShots](), None
    if table.total:
        if landmarks is None:
            redraws = max(5, min(10, 1000 // n_points)) if n_points <= REDRAWN_POINTS else 0
            looked_back = steering(table, problem, repetitions=redraws)
        else:
            notes.append(
                "The allocator completes rows from landmarks; how that compares with even shots "
                "is not worked out."
            )
        if small:
            fewer = fewer_shots(table, problem, points.train_labels, readout, landmarks)
    stored = read_results(directory)
    if session.done and ledgers.get("predictions") and ledgers["predictions"].sound:
        judged = point_results(directory, session, readout, points, stored, total=small)
    elif session.done and "predictions" in ledgers:
        notes.append("The test points are left out: the ledger of the predictions is not sound.")
    return RunReport(
        **common,
        study_text=text,
        settings=_settings(study.model_dump()),
        table=table,
        rounds=rounds,
        labels=[inert(label) for label in points.train_labels],
        data=f"{digest(points.test)} {text_digest(repr(points.test_labels.tolist()))}",
        sensitivity=np.abs(table.condense(ridge_gradient(problem.reading.kernel(table), problem))),
        diagnostics=diagnose(table, problem),
        eigenvalues=_eigenvalues(estimate_kernel(table, problem, landmarks)),
        noise_floor=noise_floor(table),
        steering=looked_back,
        fewer=fewer,
        point_results=judged,
        usage=_usage(directory, rounds, ledgers, stored, study.budget.rate),
        ledgers=ledgers,
        notes=notes,
    )


def _usage(
    directory: Path,
    rounds: list[Round],
    ledgers: dict[str, Audit],
    stored: dict[str, Any],
    rate: float | None,
) -> list[dict[str, Any]]:
    """Return quoted against used, from the ledgers; the predictions' quote is an upper limit."""
    from aqka.study.carry_out import stored_quote
    from aqka.study.results import quote_versus_actual

    offer = stored_quote(directory)
    if offer is None:
        return []
    actual = {
        "shots": rounds[-1].shots if rounds else 0,
        "submissions": len(rounds),
        "qpu_seconds": ledgers["training"].qpu_seconds,
        "wall_seconds": sum(r.seconds for r in rounds),
        "rate": rate,
    }
    rows = quote_versus_actual(offer, actual)
    predictions = ledgers.get("predictions")
    most = stored.get("test_shots")
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
