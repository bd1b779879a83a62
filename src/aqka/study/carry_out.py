"""Carries a study out: budget, training kernel, head, predictions, results."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from aqka._util.files import as_json, write_atomically
from aqka.learners import FittedHead
from aqka.planning.quotes import Quote
from aqka.runs.audit import Audit
from aqka.runs.driver import Run, new_run_id, part_of
from aqka.runs.history import History, fold
from aqka.runs.spend import Ceiling, Spend
from aqka.sessions import Training
from aqka.study.backends import StudyBackends, circuit_facts, make_backends
from aqka.study.cancel import cancelled_jobs, forget_cancel
from aqka.study.directory import (
    MAP_NAME,
    MAP_TRAINING_NAME,
    PREDICTIONS_NAME,
    Prepared,
    hold_run,
    write_run,
)
from aqka.study.feature_maps import as_qpy
from aqka.study.map_training import MAP_TRAINING, MapRun, map_usage
from aqka.study.method import answers_of, fit_head, new_session, prediction_session, prior_of
from aqka.study.quoting import (
    Offer,
    check_ceiling,
    make_offer,
    prediction_shots,
    study_ceiling,
)
from aqka.study.results import Predicted, quote_versus_actual, results_of, wall_seconds
from aqka.study.store import (
    RunStore,
    begin_predictions,
    digest_files,
    final_digests,
    write_results,
)
from aqka.study.study_run import StudyRun
from aqka.version import __version__


@dataclass(frozen=True)
class Watcher:
    """What is called while a study is carried out."""

    # With the quote and the device before anything is opened or written, if shots cost money; it
    # stops the run by raising.
    confirm: Callable[[Quote, str], None] = lambda quoted, device: None
    # With the study, its quote and the shots for predictions, before the first shot.
    on_start: Callable[[Prepared, Quote, int], None] = lambda prepared, quoted, test_shots: None
    on_round: Callable[[], None] = lambda: None  # after every training round
    on_results: Callable[[StudyRun], None] = lambda done: None  # while the run is still held


SILENT = Watcher()


def carry_out(
    prepared: Prepared, directory: Path, watcher: Watcher = SILENT, *, ceiling: str | None = None
) -> StudyRun:
    """Run a study in a directory that holds nothing yet; its results are written at the end.

    ``ceiling`` takes the place of the study's own.
    """
    spending = _Spending(make_offer(prepared), ceiling, new=True)
    spending.confirm(watcher)
    with ExitStack() as held:
        # First of all, so that an account without the wanted mode leaves nothing behind.
        held.enter_context(spending.first_backends)
        write_run(spending.prepared, directory, spending.start() | {"run_id": new_run_id()})
        held.enter_context(hold_run(directory))
        store = RunStore(directory)
        spending.train_map(store, watcher, held)
        return spending.spend(store, watcher)


def resume(
    store: RunStore,
    watcher: Watcher = SILENT,
    *,
    ceiling: str | None = None,
    allow_code: bool = False,
) -> StudyRun:
    """Go on with a study's run, from its directory alone; see :func:`carry_out`."""
    prepared = store.prepared(allow_code=allow_code)
    spending = _Spending(make_offer(prepared, store.results), ceiling, new=False)
    spending.confirm(watcher)
    with hold_run(store.directory):
        forget_cancel(store.directory)
        store.refresh()  # another process may have gone on until the run was held
        with ExitStack() as held:
            held.enter_context(spending.first_backends)
            spending.take_up(store)
            spending.train_map(store, watcher, held)
            return spending.spend(store, watcher)


class _Spending:
    """A study on its backends, under its ceiling, with its training session."""

    def __init__(self, offer: Offer, ceiling: str | None, *, new: bool) -> None:
        self.prepared, self.backends = offer.prepared, offer.backends
        self.ceiling: Ceiling | None = study_ceiling(self.prepared.study, offer.quoted, ceiling)
        self.quoted = check_ceiling(offer.quoted, self.ceiling, new=new)
        self.test_shots = prediction_shots(self.quoted)
        # Made before anything is opened or written, so that what cannot work is refused.
        calibration = self.prepared.study.method.points.calibration_shots
        self.session = self._session(self.quoted.shots + calibration)
        part = self.quoted.part(MAP_TRAINING)
        self.map_run = None if part is None else MapRun(self.prepared, part.shots)
        self.map_backend = None if self.map_run is None else self.map_run.backend()
        self.map_history: History | None = None
        self.first_backends = self.backends
        if self.map_backend is not None:
            self.first_backends = StudyBackends(self.map_backend.backend, None)

    def _session(self, budget: int) -> Training:
        prepared = self.prepared
        study, points, circuit = prepared.study, prepared.points, prepared.circuit
        session = new_session(study, points, budget, prepared.n_qubits, circuit)
        session.design.check_backend(self.backends.train, len(prepared.points.train))
        return session

    def confirm(self, watcher: Watcher) -> None:
        if self.backends.train.is_paid:
            watcher.confirm(self.quoted, self.backends.train.name)

    def take_up(self, store: RunStore) -> None:
        """Keep to the shots that a begun run has promised its ledgers.

        A budget of QPU time buys another number of shots when a device was recalibrated meanwhile,
        and the quote that says how many it bought may be lost.
        """
        if store.training is not None and store.training.budget is not None:
            self.session = self._session(store.training.budget)
        if store.predictions is not None and store.predictions.budget is not None:
            self.test_shots = store.predictions.budget
        if store.map_training is not None and store.map_training.budget is not None:
            self.map_run = MapRun(self.prepared, store.map_training.budget)

    def spend_in(self, directory: Path, watcher: Watcher, part: str = ".") -> Spend:
        """Return how a ledger of the run is spent."""
        return Spend(
            directory / part,
            self.ceiling,
            on_round=lambda _: watcher.on_round(),
            cancel=lambda: cancelled_jobs(directory),
        )

    def train_map(self, store: RunStore, watcher: Watcher, held: ExitStack) -> None:
        """Train the map on shots, where it is, and go on with it; a resumed run trains the rest.

        Its file is written last: a run that has it has a trained map.
        """
        if self.map_run is None or self.map_backend is None:
            return
        directory, known = store.directory, store.map_training
        spend = self.spend_in(directory, watcher, MAP_TRAINING_NAME)
        run_id = str(store.results.get("run_id") if known is None else known.parent)
        trained, history = self.map_run.spend(self.map_backend, spend, run_id)
        self.map_history = history
        facts = trained.facts() | {
            "submissions": history.ended,
            "qpu_seconds": history.qpu_seconds or None,
            "wall_seconds": wall_seconds(history),
        }
        begun = store.training is not None
        circuit = self.prepared.circuit if begun else trained.bound
        self.prepared = replace(self.prepared, circuit=circuit, map_training=facts)
        self.first_backends.__exit__(None, None, None)
        self.backends = held.enter_context(make_backends(self.prepared))
        if not begun:
            write_results(directory, as_json(self.start() | {"run_id": run_id}))
            write_atomically(directory / MAP_NAME, as_qpy(circuit))
            store.refresh()

    def start(self) -> dict[str, Any]:
        """Return what the results hold before the first shot."""
        why, trained = self.prepared.design_reason, self.prepared.map_training
        return {
            "version": __version__,
            "backend": self.backends.train.name,
            "quote": asdict(self.quoted),
            "test_shots": self.test_shots,
            "design": self.quoted.design,
            **({} if why is None else {"design_reason": why}),
            **({} if trained is None else {"map_training": dict(trained)}),
            **circuit_facts(self.backends.train.circuit),
        }

    def spend(self, store: RunStore, watcher: Watcher) -> StudyRun:
        """Spend both budgets, and write the results down: the seal first, then the file."""
        study, points, directory = self.prepared.study, self.prepared.points, store.directory
        watcher.on_start(self.prepared, self.quoted, self.test_shots)
        run_id = store.results.get("run_id")
        begin_with = {"files": digest_files(directory)} | ({"run_id": run_id} if run_id else {})
        spend = self.spend_in(directory, watcher)
        known = store.training or fold(())
        with Run(self.session, self.backends.train, spend, begin_with, known) as train:
            train.spend()
            history = train.history()
            if history.sealed is None and self.test_shots:
                train.seal(begin_predictions(directory))
            head, noise = fit_head(study, self.session, history, self.prepared.n_qubits)
            made = _predict(self, head, store, history)
            self.backends.__exit__(None, None, None)  # billed while open, and no longer needed
            results = self.start() | {"run_id": history.run_id}
            feature_map = self.prepared.feature_map
            results |= results_of(
                study, points, self.session, history, head, made, noise, feature_map
            )
            results["actual"] |= map_usage(self.prepared.map_training)
            results["quote_versus_actual"] = quote_versus_actual(self.quoted, results["actual"])
            content = as_json(results)
            train.seal(final_digests(content, None if made is None else made.end))
            write_results(directory, content)
        audits = {"training": Audit.of(history)}
        if self.map_history is not None:
            audits["map training"] = Audit.of(self.map_history)
        if made is not None:
            audits["predictions"] = Audit.of(made.history)
        done = StudyRun(
            directory=directory,
            study=study,
            text=self.prepared.text,
            points=points,
            session=self.session,
            history=history,
            head=head,
            found=None if made is None else made.prediction,
            predictions=None if made is None else made.history,
            audits=audits,
            results=results,
        )
        watcher.on_results(done)
        return done


def _predict(
    spending: _Spending, head: FittedHead, store: RunStore, history: History
) -> Predicted | None:
    """Spend the predictions' shots on the test points, and predict them."""
    study, points = spending.prepared.study, spending.prepared.points
    backend, budget = spending.backends.test, spending.test_shots
    if backend is None or budget == 0:
        return None
    prepared = spending.prepared
    prior = prior_of(study, head, points, points.test, prepared.feature_map, prepared.n_qubits)
    session = prediction_session(study, head, len(points.test), budget, prior=prior)
    directory, known = store.directory, store.predictions or fold(())
    spend = spending.spend_in(directory, SILENT, PREDICTIONS_NAME)
    begin_with = part_of(history.run_id, PREDICTIONS_NAME)
    with Run(session, backend, spend, begin_with, known) as run:
        run.spend()
        return Predicted(answers_of(session, points), run.history(), run.end())
