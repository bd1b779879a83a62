"""How far a run is, round by round: read without disturbing the process that writes it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from aqka._util.text import inert
from aqka.backends.base import JobState, job_ids_of
from aqka.backends.runtime import ask_service
from aqka.core.plans import Landmarks, UnitTable
from aqka.designs import Design, PairEstimate, as_design
from aqka.errors import InputError, JobError, TransientError
from aqka.insight.diagnostics import Diagnostics, cross_validated_accuracy, diagnose
from aqka.runs.export import empty_table
from aqka.runs.history import History, fold
from aqka.study import backends
from aqka.study.directory import REPORT_NAME, RESULTS_NAME, is_held
from aqka.study.method import class_labels_of, learner_of, problem_of, schedule_of
from aqka.study.points import Points
from aqka.study.quoting import stored_quote
from aqka.study.schema import Study
from aqka.study.store import RunStore

UNKNOWN = "not known, the service could not be asked"


@dataclass(frozen=True)
class Progress:
    """Where a run stands; what is not known is None."""

    # "starting", "running", "waiting" for a job, "predicting", "reporting" while the report is
    # written, "finished", "interrupted", "cancelled", "stopped", or "open": it cannot be known
    # whether a process works on it.
    state: str
    backend: str
    rounds: int = 0
    rounds_planned: int | None = None  # if none fails
    shots: int = 0
    budget: int = 0
    seen: int = 0  # pairs or points with at least one shot
    units: int = 0
    gini: float | None = None  # both from the counts so far
    accuracy: float | None = None  # by cross-validation
    qpu_seconds: float | None = None
    started_at: float | None = None  # the first and the last entry, in seconds since 1970
    updated_at: float | None = None
    seconds_left: float | None = None
    prediction_shots: int = 0
    prediction_budget: int | None = None
    predicted: bool = False
    jobs: tuple[JobState, ...] = ()  # of the round that waits; see :func:`ask_jobs`
    unit: str = "pairs"
    trains_map: bool = False
    later: int = 0  # shots of the kernel, while the map is trained

    @property
    def shots_left(self) -> int:
        """Shots that may still be spent: on the map, the training kernel and predictions."""
        predictions = (self.prediction_budget or 0) - self.prediction_shots
        left = self.budget - self.shots + self.later
        return left + (0 if self.predicted else max(0, predictions))

    @property
    def resumable(self) -> bool:
        """Whether ``aqka resume`` has something to do."""
        return self.state in ("interrupted", "cancelled", "stopped", "open")


class ProgressReader:
    """Looks at a run again and again; its study is read once, its ledgers at every look."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._assess: Assess | None = None
        if store.has_study and len(store.points.train) <= MAX_ASSESSED_POINTS:
            self._assess = make_assess(store.study, store.points)

    def look(self) -> Progress:
        """Return where the run stands."""
        store, name, most = self._store, "", None
        held = is_held(store.directory)  # before the ledger: a run that ends now was at work
        store.refresh()
        if store.has_study:
            section = store.study.backend
            name = inert(section.device or section.name)
            most = store.results.get("test_shots")
        history, planned = store.training, self._planned_rounds()
        if history is None:
            state = {True: "starting", False: "stopped", None: "open"}[held]
            trained = store.map_training or fold(())
            quoted = stored_quote(store.results)
            if trained.entries:
                state = _state_of(trained, held)
            return Progress(
                *(state, name),
                trains_map=trained.entries > 0,
                later=quoted.shots if trained.entries and quoted is not None else 0,
                rounds=trained.ended,
                rounds_planned=None if trained.entries else planned,
                shots=trained.spent,
                budget=trained.budget or 0,
                unit=trained.extent.design,
                qpu_seconds=trained.qpu_seconds,
                started_at=trained.started_at,
                updated_at=trained.updated_at,
                prediction_budget=most,
                jobs=tuple(map(JobState, job_ids_of(trained.ticket or ""))),
            )
        assert history.budget is not None
        predictions, rounds, units = store.predictions, [], 0
        if not history.predicts:  # else it has no training points to assess
            table = empty_table(history)
            rounds, units = summarise_rounds(history, table, self._assess), len(table.unit_shots)
        last, left = rounds[-1] if rounds else None, None
        if rounds and history.shots < history.budget:
            remaining = max(1, (planned or 0) - len(rounds))
            left = remaining * float(np.mean([r.seconds for r in rounds]))
        waiting = predictions if history.finished and predictions is not None else history
        jobs = job_ids_of(waiting.ticket) if waiting.ticket else []
        return Progress(
            state=run_state(store, held),
            # What a study calls it, unless the device was left open.
            backend=history.backend if history.backend and name in ("", "ibm") else name,
            rounds=history.ended,
            rounds_planned=planned,
            shots=history.spent if history.predicts else history.shots,
            budget=history.budget,
            seen=0 if last is None else last.seen,
            units=units,
            unit=history.extent.design,
            gini=None if last is None else last.gini,
            accuracy=None if last is None else last.accuracy,
            qpu_seconds=history.qpu_seconds,
            started_at=history.started_at,
            updated_at=history.updated_at,
            seconds_left=left,
            prediction_shots=0 if predictions is None else predictions.spent,
            prediction_budget=most,
            predicted=predictions is not None and predictions.finished,
            jobs=tuple(map(JobState, jobs)),
        )

    def _planned_rounds(self) -> int | None:
        """Return the number of rounds if none fails, where the results have a quote."""
        quoted = stored_quote(self._store.results) if self._store.has_study else None
        if quoted is None:
            return None
        study = self._store.begun_study
        calibration = 1 if study.method.points.calibration_shots else 0
        return calibration + len(schedule_of(study).milestones(quoted.shots))


def progress(directory: Path) -> Progress:
    """Return where a run stands, from its directory alone."""
    return ProgressReader(RunStore(directory)).look()


def ask_jobs(store: RunStore, now: Progress) -> Progress:
    """Return the progress with the state of its jobs; a service out of reach is no error."""
    if not now.jobs or not store.has_study or store.study.backend.name != "ibm":
        return now
    try:
        device = backends.ibm_device(store.same_device())
        found = ask_service(device, [job.job_id for job in now.jobs])
    except (InputError, JobError, TransientError):
        found = [JobState(job.job_id, UNKNOWN) for job in now.jobs]
    return replace(now, jobs=tuple(found))


def run_state(store: RunStore, held: bool | None) -> str:
    """Return the state of a begun run, which was ``held`` or not before its ledger was read."""
    history = store.training
    assert history is not None, "the run has not begun"
    if store.complete:
        return "reporting" if held and lacks_report(store) else "finished"
    return "predicting" if held and history.finished else _state_of(history, held)


def _state_of(history: History, held: bool | None) -> str:
    """Return the state of a run that spends the budget of a ledger."""
    last = history.last_kind
    if held is None:
        return "open"
    if not held:
        return last if last in ("interrupted", "cancelled") else "stopped"
    return "waiting" if last in ("planned", "submitted") else "running"


def lacks_report(store: RunStore) -> bool:
    """Return whether a study's run has results but no report of them yet."""
    results, report = store.directory / RESULTS_NAME, store.directory / REPORT_NAME
    try:
        return report.stat().st_mtime_ns < results.stat().st_mtime_ns
    except OSError:
        return results.exists()


MAX_ASSESSED_POINTS = 500  # cross-validation takes longer than a second above

Assess = Callable[[Any, Landmarks | None], tuple[float, float | None]]
"""From what is measured, the Gini of the sensitivities and the accuracy by cross-validation."""


@dataclass(frozen=True)
class RoundSummary:
    """One round that ended, numbered from 0."""

    round: int
    failed: bool  # its job was lost
    shots: int  # of the run when it ended
    seen: int  # pairs or points with at least one shot by then
    gini: float | None  # both from the counts by then
    accuracy: float | None
    qpu_seconds: float | None  # as the backend reported
    seconds: float  # from its plan to its result
    ended_at: float  # since 1970, UTC


def make_assess(study: Study, points: Points, last: Diagnostics | None = None) -> Assess:
    """Return what works out Gini and, for few points of classes, accuracy; ``last`` is known."""
    problem, learner = problem_of(study, points), learner_of(study)
    labels = class_labels_of(study, points)

    def assess(table: Any, landmarks: Landmarks | None) -> tuple[float, float | None]:
        # Counts only grow: with as many shots as the last table it is the last one.
        is_last = last is not None and table.total / table.n_pairs == last.shots_per_pair
        gini = last.gini if last is not None and is_last else diagnose(table, problem).gini
        if labels is None or table.n_points > MAX_ASSESSED_POINTS:
            return gini, None
        kernel = PairEstimate(table, problem, landmarks).kernel
        return gini, cross_validated_accuracy(kernel, labels, learner, problem)

    return assess


def recorded_design(history: History) -> Design:
    """Return the design of a run."""
    design = as_design(history.extent.design)
    assert design is not None
    return design


def summarise_rounds(
    history: History, table: UnitTable, assess: Assess | None = None, assessed: int = 1
) -> list[RoundSummary]:
    """Return the rounds of a sound ledger, filling an empty table with their counts.

    At most ``assessed`` rounds, evenly spread up to the last, have a Gini and an accuracy, where
    entries of the kernel have counts.
    """
    count, spent = len(history.rounds), 0
    if not recorded_design(history).counts_entries:
        assess = None
    step = -(-count // assessed)
    landmarks: Landmarks | None = None
    found: list[RoundSummary] = []
    for round in history.rounds:
        round.add_to(table)
        spent += round.measured.total
        landmarks = round.measured.landmarks or landmarks
        gini, accuracy = None, None
        if assess is not None and (count - 1 - round.number) % step == 0:
            gini, accuracy = assess(table, landmarks)
        found.append(
            RoundSummary(
                round=round.number,
                failed=round.failed,
                shots=spent,
                seen=int(np.count_nonzero(table.unit_shots)),
                gini=gini,
                accuracy=accuracy,
                qpu_seconds=round.qpu_seconds,
                seconds=max(0.0, round.ended_at - round.planned_at),
                ended_at=round.ended_at,
            )
        )
    return found
