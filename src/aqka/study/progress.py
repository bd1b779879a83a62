"""How far a run is: read from its directory, never in the way of the process that writes it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.text import inert
from aqka.core.pairs import PairTable
from aqka.core.plans import Landmarks
from aqka.core.problem import Problem
from aqka.errors import InputError, LedgerError
from aqka.estimates.pairs import estimate_kernel
from aqka.insight.diagnostics import diagnose
from aqka.readouts import Readout
from aqka.runs.audit import audit
from aqka.runs.driver import LEDGER_NAME, recorded_plan
from aqka.runs.ledger import Entry, Ledger
from aqka.study.directory import (
    RESULTS_NAME,
    STUDY_NAME,
    check_directory,
    is_held,
    read_points,
    read_results,
)

MAX_ESTIMATED_POINTS = 500  # cross-validation takes longer than a second above

Estimate = Callable[[PairTable, Landmarks | None], tuple[float, float | None]]
"""From what is measured, the Gini of the sensitivities and the accuracy by cross-validation."""


@dataclass(frozen=True)
class Round:
    """One round that ended.

    Attributes
    ----------
    round
        Its number, from 0.
    failed
        Whether its job was lost.
    shots
        Shots of the run when it ended.
    pairs_seen
        Pairs with at least one shot by then.
    gini, accuracy
        Estimates from the counts by then; None where there are none.
    qpu_seconds
        What the backend reported for it.
    seconds
        From its plan to its result.
    ended_at
        Seconds since 1970, UTC.
    """

    round: int
    failed: bool
    shots: int
    pairs_seen: int
    gini: float | None
    accuracy: float | None
    qpu_seconds: float | None
    seconds: float
    ended_at: float


@dataclass(frozen=True)
class Progress:
    """Where a run stands.

    Attributes
    ----------
    state
        ``starting``, ``running``, ``waiting`` for a job, ``predicting``, ``finished``,
        ``interrupted`` or ``stopped``; ``open`` where it cannot be known whether a process
        works on it.
    backend
        Who runs the shots.
    rounds, rounds_planned
        Rounds that ended, and that there will be if none fails; None where it is not known.
    shots, budget
        Shots spent, of how many.
    pairs_seen, pairs
        Pairs with at least one shot, of how many.
    gini, accuracy
        Estimates from the counts so far; the accuracy is by cross-validation.
    qpu_seconds
        QPU time the backend reported; None if it never did.
    started_at, updated_at
        Of the first and the last entry, in seconds since 1970.
    seconds_left
        Rounds left times the mean duration of a round; None before the first.
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

    @property
    def shots_left(self) -> int:
        """Shots of the budget that are not spent."""
        return self.budget - self.shots

    @property
    def resumable(self) -> bool:
        """Whether ``aqka resume`` has something to do."""
        return self.state in ("interrupted", "stopped", "open")


def estimator(problem: Problem, labels: NDArray[Any], readout: Readout) -> Estimate:
    """Return what estimates the Gini and the accuracy from counts."""
    from aqka.insight.cross_validation import cross_validated_accuracy

    def estimate(table: PairTable, landmarks: Landmarks | None) -> tuple[float, float | None]:
        kernel = estimate_kernel(table, problem, landmarks)
        accuracy = cross_validated_accuracy(kernel, labels, readout, problem)
        return diagnose(table, problem).gini, accuracy

    return estimate


def rounds_of(
    entries: list[Entry], table: PairTable, estimate: Estimate | None, estimates: int
) -> list[Round]:
    """Return the rounds of a sound ledger, filling an empty table with their counts.

    At most ``estimates`` rounds, evenly spread up to the last, have a Gini and an accuracy.
    """
    count = sum(entry.kind in ("collected", "failed") for entry in entries)
    step = -(-count // estimates)
    found: list[Round] = []
    for entry, landmarks, planned_at in _replayed(entries, table):
        gini, accuracy = None, None
        if estimate is not None and (count - 1 - len(found)) % step == 0:
            gini, accuracy = estimate(table, landmarks)
        seconds = entry.body.get("qpu_seconds")
        found.append(
            Round(
                round=len(found),
                failed=entry.kind == "failed",
                shots=table.total,
                pairs_seen=int(np.sum(~table.unseen)),
                gini=gini,
                accuracy=accuracy,
                qpu_seconds=seconds if isinstance(seconds, int | float) else None,
                seconds=max(0.0, entry.at - planned_at),
                ended_at=entry.at,
            )
        )
    return found


def _replayed(
    entries: list[Entry], table: PairTable
) -> Iterator[tuple[Entry, Landmarks | None, float]]:
    plan, planned_at, landmarks = None, 0.0, None
    for entry in entries:
        if entry.kind == "planned":
            plan, planned_at = recorded_plan(entry), entry.at
        elif plan is not None and entry.kind in ("collected", "failed"):
            table.add(plan.cut_to(entry.arrays.get("shots", plan.shots)), entry.arrays["hits"])
            landmarks = plan.landmarks or landmarks
            yield entry, landmarks, planned_at


def progress(directory: Path) -> Progress:
    """Return where a run stands, from its directory alone."""
    check_directory(directory)
    entries = read_entries(directory)
    estimate, planned, name = _from_study(directory)
    if not entries:
        held = is_held(directory)
        state = {True: "starting", False: "stopped", None: "open"}[held]
        return Progress(state, name, 0, planned, 0, 0, 0, 0, *[None] * 6)
    facts = entries[0].body["fingerprint"]
    if "points" not in facts or "diagonal" not in facts:
        raise LedgerError("this ledger was begun by an older aqka; see 'aqka ledger show'.")
    table = PairTable(int(facts["points"]), facts["diagonal"])
    if table.n_points > MAX_ESTIMATED_POINTS:
        estimate = None
    rounds = rounds_of(entries, table, estimate, estimates=1)
    last = rounds[-1] if rounds else None
    used = [r.qpu_seconds for r in rounds if r.qpu_seconds is not None]
    budget = int(facts["budget"])
    submitted = [str(e.body["backend"]) for e in entries if "backend" in e.body]
    left = None
    if rounds and table.total < budget:
        remaining = max(1, (planned or 0) - len(rounds))
        left = remaining * float(np.mean([r.seconds for r in rounds]))
    return Progress(
        state=_state(entries, directory),
        # What a study calls it, unless the device was left open.
        backend=inert(submitted[-1]) if submitted and name in ("", "ibm") else name,
        rounds=len(rounds),
        rounds_planned=planned,
        shots=table.total,
        budget=budget,
        pairs_seen=last.pairs_seen if last else 0,
        pairs=table.n_pairs,
        gini=last.gini if last else None,
        accuracy=last.accuracy if last else None,
        qpu_seconds=sum(used) if used else None,
        started_at=entries[0].at,
        updated_at=entries[-1].at,
        seconds_left=left,
    )


def read_entries(directory: Path, *, write: bool = False) -> list[Entry]:
    """Return the entries of a sound ledger; none where the run has not begun.

    Opened to ``write``, a ledger that a kill left in the middle of a write is mended first.
    """
    path = directory / LEDGER_NAME
    if not path.exists() or path.stat().st_size == 0:
        return []
    with Ledger(path, write=write) as ledger:
        entries = ledger.read()
    found = audit(entries)
    if entries and not found.sound:
        raise LedgerError(f"{inert(path, 300)} is {found.summary}; restore it from a copy.")
    return entries


def _from_study(directory: Path) -> tuple[Estimate | None, int | None, str]:
    """Return the estimator, the number of rounds and the backend's name, if there is a study."""
    if not (directory / STUDY_NAME).exists():
        return None, None, ""
    # Imported here: a run begun from Python has no study, and pydantic takes a moment.
    from aqka.study.method import problem_of, readout_of, schedule_of
    from aqka.study.schema import load_study

    study, _ = load_study(directory / STUDY_NAME)
    points = read_points(directory)
    problem = problem_of(study, points)
    readout = readout_of(study)
    quoted = read_results(directory).get("quote")
    shots = quoted.get("shots") if isinstance(quoted, dict) else None
    planned = None
    if isinstance(shots, int) and 0 < shots < 2**50:
        planned = len(schedule_of(study).milestones(shots))
    name = study.backend.device or study.backend.name
    return estimator(problem, points.train_labels, readout), planned, inert(name)


def _state(entries: list[Entry], directory: Path) -> str:
    last = entries[-1].kind
    if last == "finished" and _has_results(directory):
        return "finished"
    held = is_held(directory)
    if held is None:
        return "open"
    if not held:
        return "interrupted" if last == "interrupted" else "stopped"
    if last == "finished":
        return "predicting"
    return "waiting" if last in ("planned", "submitted") else "running"


def _has_results(directory: Path) -> bool:
    if not (directory / STUDY_NAME).exists():
        return True  # a run begun from Python ends with its ledger
    try:
        return isinstance(read_results(directory).get("results"), dict)
    except InputError:
        raise InputError(f"{RESULTS_NAME} is damaged; resume the run to write it anew.") from None
