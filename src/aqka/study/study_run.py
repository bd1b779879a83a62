"""StudyRun: a study's run in memory, as carried out just now or as read from its directory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqka._util.text import inert
from aqka.errors import InputError, LedgerError
from aqka.insight.validation import Validation, validate_points
from aqka.learners import FittedHead
from aqka.runs.audit import Audit
from aqka.runs.driver import check_parent, replay
from aqka.runs.history import History, fold
from aqka.runs.ledger import LEDGER_NAME, Ledger, is_there
from aqka.sessions import Training, Values
from aqka.study.directory import PREDICTIONS_NAME
from aqka.study.method import answers_of, begun_session, fit_head, prediction_session
from aqka.study.points import Points
from aqka.study.schema import Study
from aqka.study.store import RunStore


@dataclass(frozen=True, eq=False)
class StudyRun:
    """All that a report or a table of results needs of a run."""

    directory: Path
    study: Study
    text: str  # of the study file
    points: Points
    session: Training  # with all that was measured
    history: History  # what its ledger says
    head: FittedHead | None
    found: Values | None  # classes or values of the test points; None before they are predicted
    predictions: History | None  # what the ledger of the test points says
    audits: dict[str, Audit]  # what the check of each ledger says, by name
    results: dict[str, Any]  # what stands in results.json


def validate_run(store: RunStore, n_points: int = 20) -> Validation:
    """Compare some of a run's training points with their exact states."""
    where = inert(store.directory, 300)
    if store.training is None:
        raise InputError(f"{where} has measured nothing yet; 'aqka resume' goes on with it.")
    session = begun_session(store.begun(), store.training)
    if session.design.counts_entries:
        raise InputError(
            f"{where} measured pairs, and only points have states to compare; 'aqka report' shows "
            "its kernel. For points, set method.design = 'points'."
        )
    circuit = store.circuit or "zz"  # None where the statevector has the map itself
    return validate_points(session.table, store.points.train, circuit, n_points)


def chip_places(store: RunStore) -> list[int]:
    """Return where each of a run's qubits stands on its chip."""
    places: list[int] = store.results.get("circuit", {}).get("places")
    if not places or store.study.backend.tiles != 1:
        raise InputError(
            "a picture needs a run of one tile on a device with a chip (backend.name = 'ibm'); "
            "leave it out."
        )
    return places


def load_study_run(store: RunStore) -> StudyRun:
    """Read a run of a study that has begun, finished or not."""
    prepared, history = store.begun(), store.training
    assert history is not None, "the run has not begun"
    session, audits = begun_session(prepared, history), {"training": Audit.of(history)}
    head, found, made = None, None, None
    has_predictions = (store.directory / PREDICTIONS_NAME).is_dir()
    if has_predictions and session.done:
        try:
            made = _read_predictions(store.directory / PREDICTIONS_NAME / LEDGER_NAME, history)
            audits |= {} if made is None else {"predictions": Audit.of(made)}
        except LedgerError as error:
            audits["predictions"] = Audit.of_unreadable(error)
    predicted = made is not None and made.sound and made.finished
    if predicted or (session.done and history.sealed is not None and not has_predictions):
        head, _ = fit_head(prepared, session, history)
    if head is not None and made is not None and predicted:
        assert made.budget is not None
        tests = prediction_session(prepared, head, store.points.test, made.budget)
        if tests.extent().items() <= made.facts.items():  # else it is of other points
            replay(tests, made)
            found = answers_of(tests, store.points)
    return StudyRun(
        directory=store.directory,
        study=prepared.study,
        text=store.text,
        points=store.points,
        session=session,
        history=history,
        head=head,
        found=found,
        predictions=made,
        audits=audits,
        results=store.results,
    )


def _read_predictions(path: Path, training: History) -> History | None:
    """Return what the predictions' ledger says, sound or not; None where they are to begin."""
    if not is_there(path):
        return None
    with Ledger(path) as ledger:
        history = fold(ledger.entries())
    if history.empty:
        return None
    check_parent(history, training.run_id, path)
    return history
