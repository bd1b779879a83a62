"""StudyRun: a study's run in memory, as carried out just now or as read from its directory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqka.errors import LedgerError
from aqka.readouts import FittedHead
from aqka.runs.audit import Audit
from aqka.runs.driver import check_parent, replay
from aqka.runs.head import read_head
from aqka.runs.history import History, fold
from aqka.runs.ledger import LEDGER_NAME, Ledger, ledger_path
from aqka.sessions import Training
from aqka.sessions.point_acquisition import PointAcquisition
from aqka.sessions.point_heads import PointHead
from aqka.sessions.point_prediction import PointPrediction, PredictedPoints
from aqka.sessions import Prediction
from aqka.sessions import Values
from aqka.study.circuit_files import load_circuit
from aqka.study.data import Points
from aqka.study.directory import read_points, read_results
from aqka.study.method import new_session, with_begun_design
from aqka.study.mitigated import fit_head
from aqka.study.schema import Study, load_study
from aqka.study.seal import MAP_NAME, PREDICTIONS_NAME, STUDY_NAME
from aqka.study.tested_points import Tested, session_for, tested


@dataclass(frozen=True, eq=False)
class StudyRun:
    """All that a report or a table of results needs of a run.

    Attributes
    ----------
    directory, study, text, points
        Where it is, the study, the file that was read, the encoded points.
    session, history
        The training session with all that was measured, and what its ledger says.
    head, prediction, values
        What was trained, and the test points: their classes, or their values in the target's units
        where the study is a regression. None before they are predicted.
    audits
        What the check of each ledger says, by name.
    results
        What stands in ``results.json``.
    """

    directory: Path
    study: Study
    text: str
    points: Points
    session: Training | PointAcquisition
    history: History
    head: FittedHead | PointHead | None
    prediction: Prediction | PredictedPoints | None
    values: Values | None
    audits: dict[str, Audit]
    results: dict[str, Any]


def load_study_run(directory: Path, history: History) -> StudyRun:
    """Read a run of a study, finished or not; ``history`` is that of its own ledger."""
    read, text = load_study(directory / STUDY_NAME)
    study = with_begun_design(read, history)
    points = read_points(directory)
    assert history.budget is not None
    n_qubits = _n_qubits(study, directory)
    session = new_session(study, points, history.budget, n_qubits)
    replay(session, history)
    audits = {"training": Audit.of(history)}
    head, found = None, None
    place = directory / PREDICTIONS_NAME
    only_trains = session.done and history.sealed is not None and not place.is_dir()
    if only_trains:
        head, _ = fit_head(study, session, history, n_qubits)
    if place.is_dir() and session.done:
        made = _read_predictions(place, history)
        if made is not None:
            audits["predictions"] = made if isinstance(made, Audit) else Audit.of(made)
        if isinstance(made, History) and made.sound and made.finished:
            head, noise = fit_head(study, session, history, n_qubits)
            as_measured = noise is not None and noise.applied
            found = _replay_prediction(head, made, points, study, as_measured)
    return StudyRun(
        directory=directory,
        study=study,
        text=text,
        points=points,
        session=session,
        history=history,
        head=head,
        prediction=found if isinstance(found, Prediction | PredictedPoints) else None,
        values=found if isinstance(found, Values) else None,
        audits=audits,
        results=read_results(directory),
    )


def _n_qubits(study: Study, directory: Path) -> int:
    """Return the qubits of a run's feature map, whose circuit is read only if need be."""
    qubits = study.feature_map.qubits
    if qubits is None and (study.sentinels.mitigate or study.method.design == "points"):
        return int(load_circuit(directory / MAP_NAME, backwards=False).num_qubits)
    return qubits or 1  # without mitigation nothing depends on it


def _read_predictions(place: Path, training: History) -> History | Audit | None:
    """Return what the predictions' ledger says; None where they are still to begin."""
    head = read_head(place / LEDGER_NAME)  # before the ledger, which is made after it
    if head is not None and head.certain == 0 and not (place / LEDGER_NAME).exists():
        return None
    try:
        path = ledger_path(place)
        with Ledger(path) as ledger:
            history = fold(ledger.entries())
        if history.empty:
            return None
        check_parent(history, training.run_id, path)
        return history
    except LedgerError as error:
        return Audit.of_unreadable(error)


def _replay_prediction(
    head: FittedHead | PointHead, history: History, points: Points, study: Study, as_measured: bool
) -> Tested | None:
    """Return the test points as their session had them; None where the ledger is of others."""
    assert history.budget is not None
    session = session_for(study, head, len(points.test), history.budget, study.method.seed)
    if isinstance(session, PointPrediction):
        fits = history.extent.new_points == session.table.n_points
    else:
        fits = history.extent.block == session.table.shots.shape
    if not fits:
        return None
    replay(session, history)
    return tested(session, points, as_measured=as_measured)
