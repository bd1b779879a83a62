"""What became of each submission of a run: planned, sent, collected or lost."""

import time
from dataclasses import dataclass
from pathlib import Path

from aqka._util.text import inert
from aqka.errors import LedgerError
from aqka.runs.audit import begun_history
from aqka.runs.history import History
from aqka.runs.ledger import LEDGER_NAME
from aqka.study.directory import PREDICTIONS_NAME

MAX_JOBS = 200  # the last ones, of each ledger
MAX_TICKET = 60


@dataclass(frozen=True)
class JobState:
    """One submission.

    Attributes
    ----------
    purpose
        ``training`` or ``predictions``.
    round
        Its number, from 0.
    state
        ``collected``, ``failed``, ``sent`` or ``planned``.
    shots
        Shots it asks for; of one that ended, those that were run.
    seconds
        From its plan to its end, or to now.
    qpu_seconds
        What the backend reported.
    ticket
        Its jobs, as the backend calls them, while they are out.
    """

    purpose: str
    round: int
    state: str
    shots: int
    seconds: float | None
    qpu_seconds: float | None
    ticket: str


def job_states(directory: Path) -> list[JobState]:
    """Return the submissions of a run, the last first."""
    found: list[JobState] = []
    places = {"training": directory, "predictions": directory / PREDICTIONS_NAME}
    for purpose, place in places.items():
        history = _history(place / LEDGER_NAME)
        if history is not None:
            found += _states_of(purpose, history)
    return found[::-1]


def _history(path: Path) -> History | None:
    try:
        return begun_history(path) if path.is_file() else None
    except LedgerError:
        return None  # the run's state says what is wrong


def _states_of(purpose: str, history: History) -> list[JobState]:
    states = [
        JobState(
            purpose,
            one.number,
            "failed" if one.failed else "collected",
            one.measured.total,
            one.ended_at - one.planned_at,
            one.qpu_seconds,
            "",
        )
        for one in history.rounds[-MAX_JOBS:]
    ]
    if history.open_plan is not None:
        since = None if history.updated_at is None else time.time() - history.updated_at
        states.append(
            JobState(
                purpose,
                history.ended,
                "planned" if history.ticket is None else "sent",
                history.open_plan.total,
                since,
                None,
                inert(history.ticket or "", MAX_TICKET),
            )
        )
    return states
