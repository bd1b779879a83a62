"""How far a run is, round by round: read without disturbing the process that writes it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aqka._util.text import inert
from aqka.backends.base import JobState, job_ids_of
from aqka.backends.runtime import ask_service
from aqka.core.plans import Landmarks, UnitTable
from aqka.designs import PairEstimate, measured_by
from aqka.errors import InputError, JobError, TransientError
from aqka.insight.diagnostics import Diagnostics, cross_validated_right, gini
from aqka.planning.quotes import CALIBRATION, Quote
from aqka.runs.export import empty_table
from aqka.runs.history import History, fold
from aqka.study import backends
from aqka.study.directory import REPORT_NAME, RESULTS_NAME, is_held
from aqka.study.method import class_labels_of, learner_of, problem_of
from aqka.study.points import Points
from aqka.study.schema import Study, read_stored
from aqka.study.store import RunStore


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
        store = self._store
        held = is_held(store.directory)  # before the ledger: a run that ends now was at work
        store.refresh()
        begun, planned = store.training, None
        quoted = read_stored(Quote, store.results.get("quote"))
        if quoted is not None:  # if no round fails
            planned = quoted.submissions + quoted.part(CALIBRATION).submissions
        history = begun or store.map_training or fold(())
        trains_map = begun is None and history.entries > 0
        predictions, rounds, units, left, later = store.predictions, [], 0, None, 0
        if trains_map:
            planned, later = None, 0 if quoted is None else quoted.shots
        if begun is not None and not history.predicts:  # else it has no training points to assess
            table = empty_table(history)
            rounds, units = summarise_rounds(history, table, self._assess), len(table.unit_shots)
        last, budget = rounds[-1] if rounds else None, history.budget or 0
        if rounds and history.shots < budget:
            remaining = max(1, (planned or 0) - len(rounds))
            left = remaining * float(np.mean([r.seconds for r in rounds]))
        waiting = predictions if history.finished and predictions is not None else history
        return Progress(
            state=run_state(store, held),
            backend=backend_name(store.study if store.has_study else None, history),
            rounds=history.ended,
            rounds_planned=planned,
            shots=history.spent if history.predicts or trains_map else history.shots,
            budget=budget,
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
            prediction_budget=store.results.get("test_shots"),
            predicted=predictions is not None and predictions.finished,
            jobs=tuple(map(JobState, job_ids_of(waiting.ticket or ""))),
            trains_map=trains_map,
            later=later,
        )


def ask_jobs(store: RunStore, now: Progress) -> Progress:
    """Return the progress with the state of its jobs; a service out of reach is no error."""
    if not now.jobs or not store.has_study or store.study.backend.name != "ibm":
        return now
    try:
        device = backends.ibm_device(store.study.on(store.results.get("backend")).backend)
        found = ask_service(device, [job.job_id for job in now.jobs])
    except (InputError, JobError, TransientError):
        words = "not known, the service could not be reached"
        found = [JobState(job.job_id, words) for job in now.jobs]
    return replace(now, jobs=tuple(found))


def backend_name(study: Study | None, history: History) -> str:
    """Return what a study calls its backend, or the ledger where the device was left open."""
    name = "" if study is None else inert(study.backend.device or study.backend.name)
    return history.backend if history.backend and name in ("", "ibm") else name


def run_state(store: RunStore, held: bool | None) -> str:
    """Return the state of a run, which was ``held`` or not before its ledgers were read."""
    history = store.training or store.map_training or fold(())
    last = history.last_kind
    if store.complete:
        return "reporting" if held and lacks_report(store) else "finished"
    if held is None:
        return "open"
    if not held:
        return last if last in ("interrupted", "cancelled") else "stopped"
    if store.training is not None and history.finished:
        return "predicting"
    return {None: "starting", "planned": "waiting", "submitted": "waiting"}.get(last, "running")


def lacks_report(store: RunStore) -> bool:
    """Return whether a study's run has results but no report of them yet."""
    results, report = store.directory / RESULTS_NAME, store.directory / REPORT_NAME
    try:
        return report.stat().st_mtime_ns < results.stat().st_mtime_ns
    except OSError:
        return results.exists()


MAX_ASSESSED_POINTS = 500  # cross-validation takes longer than a second above

Assess = Callable[[Any, Landmarks | None], tuple[float | None, float | None]]
"""From counts of pairs, the Gini of the sensitivities and the accuracy by cross-validation."""


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

    def assess(table: Any, landmarks: Landmarks | None) -> tuple[float | None, float | None]:
        # Counts only grow: with as many shots as the last table it is the last one.
        if last is not None and table.total / table.n_pairs == last.shots_per_pair:
            spread = last.gini
        else:
            design = measured_by(table)
            sensitivity = None if design is None else design.sensitivity(table, problem)
            if sensitivity is None:
                return None, None
            spread = gini(sensitivity)
        if labels is None or table.n_points > MAX_ASSESSED_POINTS:
            return spread, None
        kernel = PairEstimate(table, problem, landmarks).kernel
        right = cross_validated_right(kernel, labels, learner, problem)
        return spread, float(right.mean()) if right.size else None

    return assess


def summarise_rounds(
    history: History, table: UnitTable, assess: Assess | None = None, assessed: int = 1
) -> list[RoundSummary]:
    """Return the rounds of a sound ledger, filling an empty table with their counts.

    At most ``assessed`` rounds, evenly spread up to the last, have a Gini and an accuracy.
    """
    count, spent = len(history.rounds), 0
    step = -(-count // assessed)
    landmarks: Landmarks | None = None
    found: list[RoundSummary] = []
    for round in history.rounds:
        round.add_to(table)
        spent += round.measured.total
        landmarks = round.measured.landmarks or landmarks
        spread, accuracy = None, None
        if assess is not None and (count - 1 - round.number) % step == 0:
            spread, accuracy = assess(table, landmarks)
        found.append(
            RoundSummary(
                round=round.number,
                failed=round.failed,
                shots=spent,
                seen=int(np.count_nonzero(table.unit_shots)),
                gini=spread,
                accuracy=accuracy,
                qpu_seconds=round.qpu_seconds,
                seconds=max(0.0, round.ended_at - round.planned_at),
                ended_at=round.ended_at,
            )
        )
    return found
