"""How far a run is: read from its directory, without disturbing the process that writes it."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from aqka._util.text import inert
from aqka.backends.base import JobState, job_ids_of
from aqka.backends.runtime import ask_service
from aqka.core.pairs import PairTable
from aqka.core.point_plans import PointPlan
from aqka.core.points import PointTable
from aqka.errors import InputError, JobError, LedgerError, TransientError
from aqka.runs.history import History
from aqka.study import backends
from aqka.study.directory import REPORT_NAME, RESULTS_NAME, is_held
from aqka.study.method import class_labels_of, learner_of, problem_of, schedule_of
from aqka.study.rounds import (
    MAX_ASSESSED_POINTS,
    Assess,
    RoundSummary,
    make_assess,
    summarise_point_rounds,
    summarise_rounds,
)
from aqka.study.store import RunStore

UNKNOWN = "not known, the service could not be asked"


@dataclass(frozen=True)
class Progress:
    """Where a run stands.

    Attributes
    ----------
    state
        ``starting``, ``running``, ``waiting`` for a job, ``predicting``, ``reporting`` while the
        report is written, ``finished``, ``interrupted``, ``cancelled`` or ``stopped``; ``open``
        where it cannot be known whether a process works on it.
    backend
        What runs the shots.
    rounds, rounds_planned
        Rounds that ended, and that there will be if none fails; None where it is not known.
    shots, budget
        Shots spent on the training kernel, of how many.
    prediction_shots, prediction_budget
        Shots spent on predictions, of at most how many; None where the run does not say.
    predicted
        Whether the predictions are made: they may need less than their budget.
    seen, units, unit
        Pairs or points with at least one shot, of how many; ``unit`` says which.
    gini, accuracy
        Estimates from the counts so far; the accuracy is by cross-validation.
    qpu_seconds
        QPU time the backend reported; None if it never did.
    started_at, updated_at
        Times of the first and the last entry, in seconds since 1970.
    seconds_left
        Rounds left times the mean duration of a round; None before the first.
    jobs
        The jobs of the round that waits, if they have ids; only the service knows how they stand,
        see :func:`ask_jobs`.
    """

    state: str
    backend: str
    rounds: int
    rounds_planned: int | None
    shots: int
    budget: int
    seen: int
    units: int
    gini: float | None
    accuracy: float | None
    qpu_seconds: float | None
    started_at: float | None
    updated_at: float | None
    seconds_left: float | None
    prediction_shots: int = 0
    prediction_budget: int | None = None
    predicted: bool = False
    jobs: tuple[JobState, ...] = ()
    unit: str = "pairs"

    @property
    def shots_left(self) -> int:
        """Shots that may still be spent, on the training kernel and on predictions."""
        predictions = (self.prediction_budget or 0) - self.prediction_shots
        return self.budget - self.shots + (0 if self.predicted else max(0, predictions))

    @property
    def resumable(self) -> bool:
        """Whether ``aqka resume`` has something to do."""
        return self.state in ("interrupted", "cancelled", "stopped", "open")


class ProgressReader:
    """Looks at a run again and again; its study is read once, its ledgers at every look."""

    def __init__(self, directory: Path) -> None:
        self._store = RunStore(directory)
        self._assess: Assess | None = None
        if self._store.has_study and len(self._store.points.train) <= MAX_ASSESSED_POINTS:
            study, points = self._store.study, self._store.points
            self._assess = make_assess(
                problem_of(study, points), class_labels_of(study, points), learner_of(study)
            )

    def look(self) -> Progress:
        """Return where the run stands."""
        store = self._store
        held = is_held(store.directory)  # before the ledger: a run that ends now was at work
        store.refresh()
        history = store.training
        name, planned, most = self._backend_name(), self._planned_rounds(), self._most_test_shots()
        if history is None:
            state = {True: "starting", False: "stopped", None: "open"}[held]
            return Progress(
                *(state, name, 0, planned, 0, 0, 0, 0, None, None, None, None, None, None),
                prediction_budget=most,
            )
        predictions = store.predictions
        check_extent(history)
        assert history.budget is not None
        rounds, unit, size = self._rounds(history)
        last = rounds[-1] if rounds else None
        left = None
        if rounds and history.shots < history.budget:
            remaining = max(1, (planned or 0) - len(rounds))
            left = remaining * float(np.mean([r.seconds for r in rounds]))
        return Progress(
            state=run_state(store, held),
            # What a study calls it, unless the device was left open.
            backend=history.backend if history.backend and name in ("", "ibm") else name,
            rounds=len(rounds),
            rounds_planned=planned,
            shots=history.shots,
            budget=history.budget,
            seen=last.seen if last else 0,
            units=size,
            unit=unit,
            gini=last.gini if last else None,
            accuracy=last.accuracy if last else None,
            qpu_seconds=history.qpu_seconds,
            started_at=history.started_at,
            updated_at=history.updated_at,
            seconds_left=left,
            prediction_shots=0 if predictions is None else predictions.spent,
            prediction_budget=most,
            predicted=predictions is not None and predictions.finished,
            jobs=tuple(JobState(job_id) for job_id in open_jobs(store)),
        )

    def _rounds(self, history: History) -> tuple[list[RoundSummary], str, int]:
        """Return the rounds, and how many of what there are to measure."""
        if history.extent.pauli is None:
            assert history.extent.points is not None
            assert history.extent.diagonal is not None
            pairs = PairTable(history.extent.points, history.extent.diagonal)
            found = summarise_rounds(history, pairs, self._assess, assessed=1)
            return found, "pairs", pairs.n_pairs
        points = empty_point_table(history)
        return summarise_point_rounds(history, points), "points", points.n_points

    def _backend_name(self) -> str:
        if not self._store.has_study:
            return ""
        section = self._store.study.backend
        return inert(section.device or section.name)

    def _most_test_shots(self) -> int | None:
        most = self._store.results.get("test_shots") if self._store.has_study else None
        return most if isinstance(most, int) and 0 <= most < 2**50 else None

    def _planned_rounds(self) -> int | None:
        """Return the number of rounds if none fails, where the results have a quote."""
        if not self._store.has_study:
            return None
        study, quoted = self._store.begun_study, self._store.results.get("quote")
        shots = quoted.get("shots") if isinstance(quoted, dict) else None
        if not isinstance(shots, int) or not 0 < shots < 2**50:
            return None
        calibration = 1 if study.method.calibration_shots else 0
        return calibration + len(schedule_of(study).milestones(shots))


def progress(directory: Path) -> Progress:
    """Return where a run stands, from its directory alone."""
    return ProgressReader(directory).look()


def ask_jobs(directory: Path, now: Progress) -> Progress:
    """Return the progress with the state of its jobs; a service out of reach is no error."""
    store = RunStore(directory)
    if not now.jobs or not store.has_study or store.study.backend.name != "ibm":
        return now
    try:
        device = backends.ibm_device(store.same_device())
        found = ask_service(device, [job.job_id for job in now.jobs])
    except (InputError, JobError, TransientError):
        found = [JobState(job.job_id, UNKNOWN) for job in now.jobs]
    return replace(now, jobs=tuple(found))


def run_state(store: RunStore, held: bool | None) -> str:
    """Return the state of a run that has begun; see :class:`Progress`.

    ``held`` is what :func:`~aqka.study.directory.is_held` said before the ledger was read.
    """
    history = store.training
    assert history is not None, "the run has not begun"
    if store.complete:
        return "reporting" if held and lacks_report(store) else "finished"
    if held is None:
        return "open"
    last = history.last_kind
    if not held:
        return last if last in ("interrupted", "cancelled") else "stopped"
    if history.finished:
        return "predicting"
    return "waiting" if last in ("planned", "submitted") else "running"


def lacks_report(store: RunStore) -> bool:
    """Return whether a study's run has results but no report of them yet."""
    results, report = store.directory / RESULTS_NAME, store.directory / REPORT_NAME
    try:
        return report.stat().st_mtime_ns < results.stat().st_mtime_ns
    except OSError:
        return results.exists()


def open_jobs(store: RunStore) -> list[str]:
    """Return the ids of the jobs that a begun run waits for, for training or predictions."""
    history = store.training
    assert history is not None, "the run has not begun"
    if history.finished:
        history = store.predictions or history
    return job_ids_of(history.ticket) if history.ticket else []


def check_extent(history: History) -> None:
    """Refuse the ledger of a prediction, which is no run of its own."""
    if history.predicts:
        raise LedgerError("this is the ledger of a prediction; see 'aqka ledger show'.")


def empty_point_table(history: History) -> PointTable:
    """Return an empty table for the counts of a run of points."""
    assert history.extent.points is not None
    assert history.extent.pauli is not None
    settings, qubits = history.extent.pauli
    plans = [round.planned for round in history.rounds]
    letters = next((plan.letters for plan in plans if isinstance(plan, PointPlan)), None)
    if letters is None:  # nothing to count: any settings will do
        letters = np.arange(settings)[:, None] // 3 ** np.arange(qubits) % 3
    return PointTable(history.extent.points, letters)
