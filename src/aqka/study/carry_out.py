"""Carries a study out: budget, training kernel, head, predictions, results; and cancels it.

A file in the run's directory asks the process at work, if there is one, to stop before its next
submission. The jobs that wait are then cancelled at the service, and the ledger notes it.
"""

import json
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from aqka._util.files import as_json, explained, write_atomically
from aqka.backends.base import JobState, job_ids_of
from aqka.errors import LedgerError
from aqka.learners import FittedHead
from aqka.planning.quotes import PREDICTIONS, Quote
from aqka.runs.audit import begun_history
from aqka.runs.driver import Run, new_run_id, part_of
from aqka.runs.history import History, fold
from aqka.runs.ledger import LEDGER_NAME, Ledger
from aqka.runs.spend import Spend
from aqka.sessions import Training, Values
from aqka.study import quoting
from aqka.study.backends import StudyBackends, circuit_facts, make_backends
from aqka.study.directory import (
    MAP_NAME,
    MAP_TRAINING_NAME,
    NEW_POINTS_NAME,
    PREDICTIONS_NAME,
    Prepared,
    hold_run,
    is_held,
    write_run,
)
from aqka.study.feature_maps import as_qpy
from aqka.study.map_training import MAP_TRAINING, MapRun
from aqka.study.method import answers_of, fit_head, new_session, prediction_session
from aqka.study.results import results_of, wall_seconds
from aqka.study.store import (
    RunStore,
    StudyRun,
    begin_predictions,
    digest_files,
    final_digests,
    write_results,
)
from aqka.version import __version__

CANCEL_NAME = "cancel.json"
PATIENCE = 30.0  # seconds for the process at work to notice


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


def carry_out(prepared: Prepared, directory: Path, watcher: Watcher = SILENT) -> StudyRun:
    """Run a study in a directory that holds nothing yet; its results are written at the end."""
    spending = _Spending(quoting.make_offer(prepared), None, new=True)
    spending.confirm(watcher)
    with ExitStack() as held:
        # First of all, so that an account without the wanted mode leaves nothing behind.
        held.enter_context(spending.first_backend)
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
    """Resume a study's run, from its directory alone; a ``ceiling`` replaces the study's."""
    prepared = store.prepared(allow_code=allow_code)
    spending = _Spending(quoting.make_offer(prepared, store.results), ceiling, new=False)
    spending.confirm(watcher)
    with hold_run(store.directory):
        forget_cancel(store.directory)
        store.refresh()  # another process may have gone on until the run was held
        with ExitStack() as held:
            held.enter_context(spending.first_backend)
            spending.take_up(store)
            spending.train_map(store, watcher, held)
            return spending.spend(store, watcher)


class _Spending:
    """A study on its backends, under its ceiling, with its training session."""

    def __init__(self, offer: quoting.Offer, ceiling: str | None, *, new: bool) -> None:
        self.prepared, self.backends, quoted = offer
        study = self.prepared.study
        self.ceiling, self.quoted = quoting.under_ceiling(study, quoted, ceiling, new=new)
        self.test_shots = self.quoted.part(PREDICTIONS).shots
        # Made before anything is opened or written, so that what cannot work is refused.
        self.session = self._session(self.quoted.shots + study.method.points.calibration_shots)
        map_shots = self.quoted.part(MAP_TRAINING).shots
        self.map_run = MapRun(self.prepared, map_shots) if map_shots else None
        self.map_backend = None if self.map_run is None else self.map_run.backend()
        self.map_history: History | None = None
        self.first_backend = self.map_backend or self.backends.train

    def _session(self, budget: int) -> Training:
        session = new_session(self.prepared, budget)
        session.design.check_backend(self.backends.train, len(self.prepared.points.train))
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
        """Train the map on shots, where it is, and then use it; a resumed run trains the rest.

        Its file is written last: a run that has it has a trained map.
        """
        watcher.on_start(self.prepared, self.quoted, self.test_shots)
        if self.map_run is None or self.map_backend is None:
            return
        directory, known = store.directory, store.map_training
        spend = self.spend_in(directory, watcher, MAP_TRAINING_NAME)
        known_id = store.results.get("run_id") if known is None else known.parent
        run_id = str(known_id or new_run_id())  # the results may be lost
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
        self.first_backend.close()
        self.backends = make_backends(self.prepared)
        held.enter_context(self.backends.train)
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
        directory = store.directory
        run_id = store.results.get("run_id")
        begin_with = {"files": digest_files(directory)} | ({"run_id": run_id} if run_id else {})
        spend = self.spend_in(directory, watcher)
        known = store.training or fold(())
        with Run(self.session, self.backends.train, spend, begin_with, known) as train:
            train.spend()
            history = train.history()
            if history.sealed is None and self.test_shots:
                train.seal(begin_predictions(directory))
            head, noise = fit_head(self.prepared, self.session, history)
            found, predictions, end = self.predict(head, store, history)
            self.backends.train.close()  # billed while open, and no longer needed
            ledgers = {"training": history, "map training": self.map_history}
            ledgers |= {"predictions": predictions}
            done = StudyRun(
                **vars(self.prepared),
                directory=directory,
                session=self.session,
                history=history,
                head=head,
                found=found,
                ledgers={name: one for name, one in ledgers.items() if one is not None},
                results=self.start() | {"run_id": history.run_id},
            )
            done.results.update(results_of(done, noise, self.quoted))
            content = as_json(done.results)
            train.seal(final_digests(content, end))
            write_results(directory, content)
        watcher.on_results(done)
        return done

    def predict(
        self, head: FittedHead, store: RunStore, history: History
    ) -> tuple[Values | None, History | None, str | None]:
        """Predict the test points; return also what their ledger says, and how it ends."""
        points, backend = self.prepared.points, self.backends.test
        if backend is None or self.test_shots == 0:
            return None, None, None
        session = prediction_session(self.prepared, head, points.test, self.test_shots)
        spend = self.spend_in(store.directory, SILENT, PREDICTIONS_NAME)
        begin_with = part_of(history.run_id, PREDICTIONS_NAME)
        with Run(session, backend, spend, begin_with, store.predictions or fold(())) as run:
            run.spend()
            return answers_of(session, points), run.history(), run.end()


@dataclass(frozen=True)
class Cancellation:
    """What came of a cancellation."""

    jobs: list[JobState]  # that were open, as they stand now
    stopped: bool  # no process works on the run any more; else it stops at its next submission


def cancelled_jobs(directory: Path) -> list[str] | None:
    """Return the jobs that were cancelled, for the process at work; None without a request."""
    try:
        content = json.loads((directory / CANCEL_NAME).read_bytes())
        return [str(job) for job in content["jobs"]]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, OSError):
        return []  # that there is one is what counts


def forget_cancel(directory: Path) -> None:
    """Take back a request to stop: to start or resume the run is to want it to go on."""
    (directory / CANCEL_NAME).unlink(missing_ok=True)


def cancel_run(directory: Path, *, allow_code: bool = False) -> Cancellation:
    """Cancel what waits in a queue, and stop the process at work; a job that runs is left alone."""
    store = RunStore(directory)
    prepared = store.prepared(allow_code=allow_code)
    if not _open_rounds(directory) and not is_held(directory):
        return Cancellation([], stopped=True)
    _ask_to_stop(directory, [])
    prepared = quoting.settle_design(prepared)
    backends = make_backends(prepared)
    found: dict[str, JobState] = {}
    end = time.monotonic() + PATIENCE
    while True:
        # Again at every look: the process at work may just have been submitting.
        for place, history in _open_rounds(directory):
            for state in _cancel_round(place, history, prepared, backends):
                found[state.job_id] = state
        _ask_to_stop(directory, list(found))
        with suppress(LedgerError), hold_run(directory):
            _note(directory, found)
            forget_cancel(directory)
            return Cancellation(list(found.values()), stopped=True)
        if time.monotonic() > end:
            return Cancellation(list(found.values()), stopped=False)
        time.sleep(0.2)


def _ask_to_stop(directory: Path, jobs: list[str]) -> None:
    with explained(f"cannot write in {directory}"):
        write_atomically(directory / CANCEL_NAME, as_json({"jobs": jobs}))


def _open_rounds(directory: Path) -> list[tuple[Path, History]]:
    """Return the ledgers with a round that waits for its answer, and what they say."""
    new = directory / NEW_POINTS_NAME
    runs = sorted(new.iterdir()) if new.is_dir() else []
    parts = [directory / name for name in (MAP_TRAINING_NAME, PREDICTIONS_NAME)]
    places = [place / LEDGER_NAME for place in (directory, *parts, *runs)]
    found = [(path, begun_history(path)) for path in places if path.exists()]
    return [(path, one) for path, one in found if one is not None and one.open_plan is not None]


def _cancel_round(
    path: Path, history: History, prepared: Prepared, backends: StudyBackends
) -> list[JobState]:
    assert history.open_plan is not None
    ticket = history.ticket
    if ticket is None and path.parent.parent.name == NEW_POINTS_NAME:
        return []  # without its points, its jobs cannot be found
    if ticket is not None and not job_ids_of(ticket):
        return []  # a simulator's
    predicts = path.parent.name == PREDICTIONS_NAME and backends.test is not None
    backend = backends.test if predicts else backends.train
    if path.parent.name == MAP_TRAINING_NAME:
        backend = MapRun(prepared, history.budget or 0).backend()
    assert backend is not None
    return backend.cancel(history.open_plan, history.open_tag, ticket)


def _note(directory: Path, found: dict[str, JobState]) -> None:
    """Write to the ledgers with an open round which jobs were cancelled, unless it stands there."""
    for path, history in _open_rounds(directory):
        if history.last_kind != "cancelled":
            named = job_ids_of(history.ticket) if history.ticket else list(found)
            gone = [job for job in named if job in found and found[job].state == "CANCELLED"]
            with Ledger(path, write=True) as ledger:
                ledger.append("cancelled", body={"jobs": gone})
