"""How far a run is: read from its directory, never in the way of the process that writes it."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from aqka._util.text import inert
from aqka.backends.base import JobState, job_ids_of
from aqka.core.pairs import PairTable
from aqka.core.point_plans import PointPlan
from aqka.core.points import PointTable
from aqka.errors import InputError, LedgerError
from aqka.runs.audit import begun_history
from aqka.runs.head import Head, read_head
from aqka.runs.history import History
from aqka.runs.ledger import LEDGER_NAME
from aqka.study.directory import (
    REPORT_NAME,
    check_directory,
    is_held,
    read_points,
    read_results,
)
from aqka.study.method import class_labels_of, problem_of, readout_of, schedule_of
from aqka.study.rounds import (
    MAX_ASSESSED_POINTS,
    Assess,
    RoundSummary,
    make_assess,
    summarise_point_rounds,
    summarise_rounds,
)
from aqka.study.schema import Study, load_study
from aqka.study.seal import PREDICTIONS_NAME, RESULTS_NAME, STUDY_NAME, check_seal, is_complete


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
        Who runs the shots.
    rounds, rounds_planned
        Rounds that ended, and that there will be if none fails; None where it is not known.
    shots, budget
        Shots spent on the training kernel, of how many.
    prediction_shots, prediction_budget
        Shots spent on predictions, of at most how many; None where the run does not say.
    predicted
        Whether the predictions are made: they may need less than their budget.
    pairs_seen, pairs, unit
        Pairs with at least one shot, of how many; or points, as ``unit`` says.
    gini, accuracy
        Estimates from the counts so far; the accuracy is by cross-validation.
    qpu_seconds
        QPU time the backend reported; None if it never did.
    started_at, updated_at
        Of the first and the last entry, in seconds since 1970.
    seconds_left
        Rounds left times the mean duration of a round; None before the first.
    jobs
        The jobs of the round that waits, if they have ids; how they stand only the service knows,
        see :func:`~aqka.study.job_progress.ask_jobs`.
    """

    state: str
    backend: str
    rounds: int
    rounds_planned: int | None
    shots: int
    budget: int
    pairs_seen: int
    pairs: int
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
    """Looks at a run again and again; its study is read once, its ledger at every look."""

    def __init__(self, directory: Path) -> None:
        check_directory(directory)
        self._directory = directory
        self._study: Study | None = None  # a run begun from Python has none
        self._assess: Assess | None = None
        if (directory / STUDY_NAME).exists():
            self._study, _ = load_study(directory / STUDY_NAME)
            points = read_points(directory)
            if len(points.train) <= MAX_ASSESSED_POINTS:
                problem = problem_of(self._study, points)
                self._assess = make_assess(
                    problem, class_labels_of(self._study, points), readout_of(self._study)
                )

    def look(self) -> Progress:
        """Return where the run stands."""
        held = is_held(self._directory)
        history = read_begun_history(self._directory)
        name, planned = self._backend_name(), self._planned_rounds()
        most = self._prediction_budget()
        if history is None:
            state = {True: "starting", False: "stopped", None: "open"}[held]
            begun = Progress(
                state, name, 0, planned, 0, 0, 0, 0, None, None, None, None, None, None
            )
            return replace(begun, prediction_budget=most)
        predictions = _predictions(self._directory)
        check_extent(history)
        assert history.budget is not None
        rounds, unit, size = self._rounds(history)
        last = rounds[-1] if rounds else None
        left = None
        if rounds and history.shots < history.budget:
            remaining = max(1, (planned or 0) - len(rounds))
            left = remaining * float(np.mean([r.seconds for r in rounds]))
        return Progress(
            state=run_state(self._directory, history, held),
            # What a study calls it, unless the device was left open.
            backend=history.backend if history.backend and name in ("", "ibm") else name,
            rounds=len(rounds),
            rounds_planned=planned,
            shots=history.shots,
            budget=history.budget,
            pairs_seen=last.pairs_seen if last else 0,
            pairs=size,
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
            jobs=tuple(JobState(job_id) for job_id in open_jobs(self._directory, history)),
        )

    def _rounds(self, history: History) -> tuple[list[RoundSummary], str, int]:
        """Return the rounds, and how many of what there are to measure."""
        if history.extent.pauli is None:
            pairs = _empty_table(history)
            found = summarise_rounds(history, pairs, self._assess, assessed=1)
            return found, "pairs", pairs.n_pairs
        points = empty_point_table(history)
        return summarise_point_rounds(history, points), "points", points.n_points

    def _backend_name(self) -> str:
        if self._study is None:
            return ""
        return inert(self._study.backend.device or self._study.backend.name)

    def _prediction_budget(self) -> int | None:
        most = read_results(self._directory).get("test_shots") if self._study else None
        return most if isinstance(most, int) and 0 <= most < 2**50 else None

    def _planned_rounds(self) -> int | None:
        """Return the number of rounds if none fails, where the results have a quote."""
        if self._study is None:
            return None
        quoted = read_results(self._directory).get("quote")
        shots = quoted.get("shots") if isinstance(quoted, dict) else None
        if not isinstance(shots, int) or not 0 < shots < 2**50:
            return None
        calibration = 1 if self._study.method.calibration_shots else 0
        return calibration + len(schedule_of(self._study).milestones(shots))


def run_state(directory: Path, history: History, held: bool | None) -> str:
    """Return the state of a run that has begun; see :class:`Progress`.

    ``held`` is what :func:`~aqka.study.directory.is_held` said before the ledger was read: a run
    that ends in between is then seen at work, not stopped.
    """
    last = history.last_kind
    if has_results(directory, history):
        return "reporting" if held and _lacks_report(directory) else "finished"
    if held is None:
        return "open"
    if not held:
        return last if last in ("interrupted", "cancelled") else "stopped"
    if history.finished:
        return "predicting"
    return "waiting" if last in ("planned", "submitted") else "running"


def _lacks_report(directory: Path) -> bool:
    """Return whether a study's run has results but no report of them yet."""
    results, report = directory / RESULTS_NAME, directory / REPORT_NAME
    try:
        return report.stat().st_mtime_ns < results.stat().st_mtime_ns
    except OSError:
        return results.exists()


def _predictions(directory: Path) -> History | None:
    """Return what the ledger of the predictions says; None where it does not say anything."""
    path = directory / PREDICTIONS_NAME / LEDGER_NAME
    try:
        return begun_history(path) if path.exists() else None
    except LedgerError:
        return None  # told by 'aqka ledger verify' and by the report


def open_jobs(directory: Path, training: History) -> list[str]:
    """Return the ids of the jobs that a run waits for: of its training, or of its predictions."""
    ledger = directory / PREDICTIONS_NAME / LEDGER_NAME
    history = training
    if training.finished and ledger.exists():
        history = begun_history(ledger) or training
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


def _empty_table(history: History) -> PairTable:
    assert history.extent.points is not None
    assert history.extent.diagonal is not None
    return PairTable(history.extent.points, history.extent.diagonal)


def has_results(directory: Path, history: History) -> bool:
    """Return whether a run has written its results, and they are its own."""
    if not (directory / STUDY_NAME).exists():
        return history.finished  # a run begun from Python ends with its ledger
    return is_complete(directory, history)


def progress(directory: Path) -> Progress:
    """Return where a run stands, from its directory alone."""
    return ProgressReader(directory).look()


def read_begun_history(directory: Path, *, write: bool = False) -> History | None:
    """Return what a run's ledger says, if its files can be believed; None if it has not begun.

    Opened to ``write``, a ledger that a kill left in the middle of a write is mended first.
    """
    path = directory / LEDGER_NAME
    while True:
        head = read_head(path)  # before the ledger, which is made after it
        if not path.exists() or path.stat().st_size == 0:
            _check_never_begun(directory, head)
            return None
        history = begun_history(path, write=write)
        if history is None:
            return None
        try:
            _check_files(directory, history)
        except (InputError, LedgerError):
            # Another process may have gone on since the ledger was read.
            now = read_head(path)
            if now is None or now.certain <= history.entries:
                raise
        else:
            return history


def _check_files(directory: Path, history: History) -> None:
    """Refuse files that are not those of the ledger beside them."""
    check_seal(directory, history)
    named = read_results(directory).get("run_id", history.run_id)
    if named != history.run_id:  # until the run has ended they have no name
        raise LedgerError(
            f"{inert(directory / LEDGER_NAME, 300)} belongs to run {inert(history.run_id)}, the "
            f"results beside it to {inert(named)}; restore the directory from a copy."
        )


def _check_never_begun(directory: Path, head: Head | None) -> None:
    """Refuse a run that has lost its ledger: every run begins with a head of no entry."""
    if head is None or head.certain > 0:
        raise LedgerError(
            f"{inert(directory, 300)} has lost its {LEDGER_NAME}, with the shots that were paid "
            "for. Restore it from a copy; nothing was bought again."
        )
