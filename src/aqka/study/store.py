"""RunStore: a run's directory, whose files are read once and checked against each other.

The ledger holds the digests of all other files. What a run begins with is sealed in the ledger's
first entry, what it ends with in the last one; each digest is written before its file. That there
are predictions is sealed before the first of their shots.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqka._util.files import explained, read_bytes, write_atomically
from aqka._util.text import inert
from aqka.backends.feature_maps import BUILT_IN_MAPS
from aqka.errors import InputError, LedgerError
from aqka.insight.validation import Validation, validate_points
from aqka.learners import FittedHead
from aqka.runs.audit import begun_history
from aqka.runs.driver import check_parent, replay
from aqka.runs.head import Head, make_head, read_head
from aqka.runs.history import History
from aqka.runs.ledger import LEDGER_NAME, Ledger
from aqka.sessions import Training, Values
from aqka.study.directory import (
    DATA_NAME,
    MAP_NAME,
    MAP_TRAINING_NAME,
    PREDICTIONS_NAME,
    RESULTS_NAME,
    STUDY_NAME,
    UNTRAINED_NAME,
    Prepared,
    backend_code,
    check_directory,
)
from aqka.study.feature_maps import feature_map, load_circuit, trainable_of
from aqka.study.method import answers_of, begun_session, fit_head, prediction_session, runs_inverse
from aqka.study.points import Points, load_points
from aqka.study.schema import Study, load_study

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

MAX_RESULTS_BYTES = 2**24
BEGUN_WITH = (STUDY_NAME, DATA_NAME, UNTRAINED_NAME, MAP_NAME, RESULTS_NAME)
BEGUN = "begun"  # stands for the end of predictions that have none yet


class RunStore:
    """A run's directory; each file is read when it is first needed, and once.

    A directory that holds no run, or a link that leads elsewhere, is refused.
    """

    def __init__(self, directory: Path) -> None:
        check_directory(directory)
        self.directory = directory
        self._heads = self._read_heads()  # of the ledgers, before they are read

    def refresh(self) -> None:
        """Forget what was read of ledgers and results that a process has written to since."""
        heads = self._read_heads()
        if heads != self._heads:
            self._heads = heads
            for name in ("results", "training", "predictions", "map_training"):
                self.__dict__.pop(name, None)

    def _read_heads(self) -> list[Head | None]:
        places = (".", PREDICTIONS_NAME, MAP_TRAINING_NAME)
        return [read_head(self.directory / place / LEDGER_NAME) for place in places]

    @cached_property
    def has_study(self) -> bool:
        """Whether the run was begun from a study file, not from Python."""
        return (self.directory / STUDY_NAME).exists()

    @cached_property
    def _study_file(self) -> tuple[Study, str]:
        if not self.has_study:
            raise InputError(
                f"{inert(self.directory, 300)} has no {STUDY_NAME}: the run was begun from Python. "
                "Call acquire() again with the same arguments to go on."
            )
        return load_study(self.directory / STUDY_NAME)

    @property
    def study(self) -> Study:
        """The study, with the design that its results say it was settled on."""
        study, design = self._study_file[0], self.results.get("design")
        return study.changed("method", design=design) if design else study

    def begun(self) -> Prepared:
        """Return the run with its ledger's design, to be read: nothing makes its backend."""
        assert self.training is not None, "the run has not begun"
        study = self.study.changed("method", design=self.training.extent.design)
        trained = self.results.get("map_training")
        circuit = None if study.feature_map.is_built_in else self.circuit()
        return Prepared(study, self._study_file[1], self.points, circuit, map_training=trained)

    @cached_property
    def points(self) -> Points:
        """The encoded points."""
        return load_points(self.directory / DATA_NAME)

    @cached_property
    def results(self) -> dict[str, Any]:
        """What stands in the results so far; nothing where there are none."""
        path = self.directory / RESULTS_NAME
        if not path.exists():
            return {}
        try:
            content = json.loads(read_bytes(path, MAX_RESULTS_BYTES, "results"))
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            raise InputError(
                f"{RESULTS_NAME} is damaged; remove it and resume the run to write it anew."
            )
        return content

    @cached_property
    def training(self) -> History | None:
        """What the run's ledger says, if its files can be believed; None if it has not begun."""
        path = self.directory / LEDGER_NAME
        while True:
            head = read_head(path)  # before the ledger, which is made after it
            if not path.exists() or path.stat().st_size == 0:
                if head is None or head.certain > 0:  # every run begins with a head
                    raise LedgerError(
                        f"{inert(self.directory, 300)} has lost its {LEDGER_NAME}, with the shots "
                        "that were paid for. Restore it from a copy; nothing was bought again."
                    )
                return None
            history = begun_history(path)
            try:
                if history is not None:
                    check_seal(self.directory, history)
                return history
            except (InputError, LedgerError):
                # Another process may have gone on since the ledger was read.
                now = read_head(path)
                if history is None or now is None or now.certain <= history.entries:
                    raise
                self.__dict__.pop("results", None)

    @cached_property
    def predictions(self) -> History | None:
        """What the ledger of the test points says; None if it has not begun."""
        return begun_history(self.directory / PREDICTIONS_NAME / LEDGER_NAME)

    @property
    def complete(self) -> bool:
        """Whether nothing is left to do: the results are there, and they are the run's own."""
        history = self.training
        if history is None:
            return False
        if not self.has_study:
            return history.finished  # a run begun from Python ends with its ledger
        path = self.directory / RESULTS_NAME
        if history.sealed is None or not path.exists():
            return False
        return digest_of(path.read_bytes()) == history.sealed.get(RESULTS_NAME)

    @cached_property
    def map_training(self) -> History | None:
        """What the ledger of the feature map's training says; None if it has not begun."""
        return begun_history(self.directory / MAP_TRAINING_NAME / LEDGER_NAME)

    def circuit(self, name: str = MAP_NAME) -> "QuantumCircuit | None":
        """Return the feature map; None where the backend has the map itself."""
        section = self.study.feature_map
        if section.is_built_in or (name != MAP_NAME and section.map in BUILT_IN_MAPS):
            return feature_map(self.study, self.directory, allow_code=False)
        return load_circuit(self.directory / name, backwards=runs_inverse(self.study))

    def prepared(self, *, allow_code: bool = False) -> Prepared:
        """Return all that the run needs to go on; only code that makes its backend lies elsewhere.

        The least busy device may be another one by now: a begun run stays with its own.
        """
        study, made, untrained = self.study, None, None
        if (self.directory / MAP_TRAINING_NAME).is_dir():
            untrained = self.circuit(UNTRAINED_NAME)
            assert untrained is not None  # a map that is trained is not built in as it is
            made = trainable_of(study, untrained)
        if made is None or (self.directory / MAP_NAME).exists():
            circuit = self.circuit()
        else:
            circuit = made.bind(made.first_theta(study.seed))
        code = backend_code(study, self.directory, allow_code)
        study, text = study.on(self.results.get("backend")), self._study_file[1]
        more: Any = {name: self.results.get(name) for name in ("design_reason", "map_training")}
        more |= {"trainable": made, "untrained": untrained}
        return Prepared(study, text, self.points, circuit, code, **more)


def write_results(directory: Path, results: bytes) -> None:
    """Replace a run's results, complete or not at all."""
    remedy = f". No shot is lost: correct that and resume {inert(directory, 300)}"
    with explained(f"{RESULTS_NAME} cannot be written", remedy, LedgerError):
        write_atomically(directory / RESULTS_NAME, results)


def digest_of(content: bytes) -> str:
    """Return the digest of a file's content."""
    return hashlib.sha256(content).hexdigest()


def digest_files(directory: Path) -> dict[str, str]:
    """Return the digests of the files that a run begins with, by their names."""
    paths = (directory / name for name in BEGUN_WITH)
    found = {path.name: digest_of(path.read_bytes()) for path in paths if path.exists()}
    trained = directory / MAP_TRAINING_NAME / LEDGER_NAME
    if trained.exists():  # it ends before the run begins
        with Ledger(trained) as ledger:
            found[MAP_TRAINING_NAME] = ledger.end()
    return found


def begin_predictions(directory: Path) -> dict[str, str]:
    """Make the head of the predictions' ledger, and return what seals that there is one."""
    ledger = directory / PREDICTIONS_NAME / LEDGER_NAME
    words = f"cannot write in {inert(ledger.parent, 300)}"
    with explained(words, "; free some space and resume", LedgerError):
        ledger.parent.mkdir(exist_ok=True)
        if read_head(ledger) is None:
            make_head(ledger)
    return {PREDICTIONS_NAME: BEGUN}


def final_digests(results: bytes, predictions_end: str | None) -> dict[str, str]:
    """Return the digests of what a run ends with: its results, and the end of its predictions."""
    predictions = {} if predictions_end is None else {PREDICTIONS_NAME: predictions_end}
    return {RESULTS_NAME: digest_of(results)} | predictions


def check_seal(directory: Path, history: History) -> None:
    """Refuse a run with a file that is not the one its ledger knows."""
    if history.files is None:
        if (directory / STUDY_NAME).exists():
            raise LedgerError(
                f"{LEDGER_NAME} in {inert(directory, 300)} was not begun by the {STUDY_NAME} "
                "beside it: it knows none of its files. Restore the directory from a copy."
            )
        return  # a run begun from Python is its ledger alone
    now = digest_files(directory)
    for name, digest in history.files.items():
        if name != RESULTS_NAME and now.get(name) != digest:
            _refuse(directory, name, "the run began with")
    # Missing results are written anew when the run is resumed.
    sealed = (history.sealed or {}).get(RESULTS_NAME)
    if now.get(RESULTS_NAME, sealed) not in (history.files.get(RESULTS_NAME), sealed):
        _refuse(directory, RESULTS_NAME, "the run wrote")
    if history.sealed is not None:
        _check_predictions(directory, history.sealed)


def _check_predictions(directory: Path, sealed: dict[str, str]) -> None:
    ledger = directory / PREDICTIONS_NAME / LEDGER_NAME
    expected = sealed.get(PREDICTIONS_NAME)
    if expected == BEGUN:
        as_sealed = read_head(ledger) is not None  # the ledger itself knows the rest
    elif expected is None or not ledger.exists():
        as_sealed = expected is None and not ledger.exists()  # the run only trains
    else:
        with Ledger(ledger) as predictions:
            as_sealed = predictions.end() == expected
    if not as_sealed:
        _refuse(directory, f"{PREDICTIONS_NAME}/{LEDGER_NAME}", "the run has bought")


def _refuse(directory: Path, name: str, what: str) -> None:
    remedy = "Restore the directory from a copy."
    if name == RESULTS_NAME:
        remedy = "Remove it and resume the run, which writes it anew from the ledgers."
    raise LedgerError(
        f"{name} in {inert(directory, 300)} is not the one that {what}: its ledger knows another "
        f"digest. {remedy}"
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class StudyRun(Prepared):
    """What was prepared, and all that a report or a table of results needs of its run."""

    directory: Path
    session: Training  # with all that was measured
    history: History  # what its ledger says
    head: FittedHead | None
    found: Values | None  # classes or values of the test points; None before they are predicted
    ledgers: dict[str, History]  # what each says, by name; it may not be sound
    results: dict[str, Any]  # what stands in results.json


def validate_run(store: RunStore, n_points: int = 20) -> Validation:
    """Compare some of a run's training points with their exact states."""
    where = inert(store.directory, 300)
    if store.training is None:
        raise InputError(f"{where} has measured nothing yet; 'aqka resume' continues it.")
    session = begun_session(store.begun(), store.training)
    if session.design.counts_entries:
        raise InputError(
            f"{where} measured pairs, and only points have states to compare; 'aqka report' shows "
            "its kernel. For points, set method.design = 'points'."
        )
    circuit = store.circuit() or "zz"  # None where the statevector has the map itself
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
    session, ledgers = begun_session(prepared, history), {"training": history}
    if store.map_training is not None:
        ledgers["map training"] = store.map_training
    head, found, made = None, None, None
    has_predictions = (store.directory / PREDICTIONS_NAME).is_dir()
    if has_predictions and session.done:
        try:
            path = store.directory / PREDICTIONS_NAME / LEDGER_NAME
            kept = begun_history(path, sound=False)
            if kept is not None:
                check_parent(kept, history.run_id, path)
                made = ledgers["predictions"] = kept
        except LedgerError as error:
            ledgers["predictions"] = History(problems=[str(error)])
    predicted = made is not None and made.sound and made.finished
    if predicted or (session.done and history.sealed is not None and not has_predictions):
        head, _ = fit_head(prepared, session, history)
    if head is not None and made is not None:
        assert made.budget is not None
        tests = prediction_session(prepared, head, store.points.test, made.budget)
        replay(tests, made)
        found = answers_of(tests, store.points)
    return StudyRun(
        **vars(prepared),
        directory=store.directory,
        session=session,
        history=history,
        head=head,
        found=found,
        ledgers=ledgers,
        results=store.results,
    )
