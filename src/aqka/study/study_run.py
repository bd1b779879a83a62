"""StudyRun: a study's run in memory, as carried out just now or as read from its directory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqka._util.text import inert
from aqka.backends.feature_maps import BUILT_IN_MAPS
from aqka.errors import InputError, LedgerError
from aqka.insight.validation import Validation, validate_points
from aqka.learners import FittedHead
from aqka.runs.audit import Audit
from aqka.runs.driver import check_parent, replay
from aqka.runs.head import read_head
from aqka.runs.history import History, fold
from aqka.runs.ledger import LEDGER_NAME, Ledger, ledger_path
from aqka.sessions import Prediction, Training, Values
from aqka.study.directory import MAP_NAME, PREDICTIONS_NAME
from aqka.study.feature_maps import load_circuit
from aqka.study.method import answers_of, fit_head, new_session, prediction_session, prior_of
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
    found: Values | None  # the predicted test points; None before they are predicted
    predictions: History | None  # what the ledger of the test points says
    audits: dict[str, Audit]  # what the check of each ledger says, by name
    results: dict[str, Any]  # what stands in results.json

    @property
    def prediction(self) -> Prediction | None:
        """The predicted classes of the test points; None for a regression."""
        return self.found if isinstance(self.found, Prediction) else None

    @property
    def values(self) -> Values | None:
        """The predicted values of the test points, in the target's units; None for classes."""
        return None if isinstance(self.found, Prediction) else self.found


def load_session(store: RunStore) -> Training:
    """Return the training of a run that has begun, with all that was measured."""
    study, points, history = store.begun_study, store.points, store.training
    assert history is not None, "the run has not begun"
    assert history.budget is not None
    own = None if study.feature_map.map in BUILT_IN_MAPS else store.circuit()
    session = new_session(study, points, history.budget, _n_qubits(store), own)
    replay(session, history)
    return session


def _n_qubits(store: RunStore) -> int:
    named = store.study.feature_map.qubits
    if named is not None:
        return named
    return int(load_circuit(store.directory / MAP_NAME, backwards=False).num_qubits)


def validate_run(store: RunStore, n_points: int = 20) -> Validation:
    """Compare some of a run's training points with their exact states."""
    where = inert(store.directory, 300)
    if store.training is None:
        raise InputError(f"{where} has measured nothing yet; 'aqka resume' goes on with it.")
    session = load_session(store)
    if session.design.counts_entries:
        raise InputError(
            f"{where} measured pairs, and only points have states to compare; 'aqka report' shows "
            "its kernel. For points, set method.design = 'points'."
        )
    circuit = store.circuit() or "zz"  # None where the statevector has the map itself
    return validate_points(session.table, store.points.train, circuit, n_points)


def chip_places(store: RunStore) -> list[int]:
    """Return where each of a run's qubits stands on its chip."""
    places = store.results.get("circuit", {}).get("places")
    if not places or store.study.backend.tiles != 1:
        raise InputError(
            "a picture needs a run of one tile on a device with a chip (backend.name = 'ibm'); "
            "leave it out."
        )
    return [int(place) for place in places]


def load_study_run(store: RunStore) -> StudyRun:
    """Read a run of a study that has begun, finished or not."""
    session = load_session(store)
    study, points, history = store.begun_study, store.points, store.training
    assert history is not None
    audits = {"training": Audit.of(history)}
    if store.map_training is not None:
        audits["map training"] = Audit.of(store.map_training)
    head, found = None, None
    place = store.directory / PREDICTIONS_NAME
    made = _read_predictions(place, history) if place.is_dir() and session.done else None
    if made is not None:
        audits["predictions"] = made if isinstance(made, Audit) else Audit.of(made)
    predicted = isinstance(made, History) and made.sound and made.finished
    only_trains = session.done and history.sealed is not None and not place.is_dir()
    if predicted or only_trains:
        head, _ = fit_head(study, session, history, _n_qubits(store))
        if isinstance(made, History) and predicted:
            assert made.budget is not None
            prior = prior_of(study, head, points, points.test)
            tests = prediction_session(study, head, len(points.test), made.budget, prior=prior)
            if tests.extent().items() <= made.facts.items():  # else it is of other points
                replay(tests, made)
                found = answers_of(tests, points)
    return StudyRun(
        directory=store.directory,
        study=study,
        text=store.text,
        points=points,
        session=session,
        history=history,
        head=head,
        found=found,
        predictions=made if isinstance(made, History) else None,
        audits=audits,
        results=store.results,
    )


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
