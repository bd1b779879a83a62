"""Spends a budget on a backend, with every step in the ledger before it is relied on.

What happens in a round, and what a crash in between costs:

1. ``planned`` is written, then the plan is submitted under its tag. After a crash a backend whose
   jobs outlive the process is asked for the tag's jobs first, so nothing is bought twice.
2. ``submitted`` is written with the ticket. After a crash the ticket is collected.
3. ``collected`` is written with the hits, and only then does the session see them.
"""

import time
import uuid
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from aqka._util.arrays import IntArray
from aqka.backends import Backend
from aqka.core.plans import ShotPlan
from aqka.errors import InputError, JobError, LedgerError, TransientError
from aqka.runs.audit import check_sound
from aqka.runs.history import History, fold, plan_columns
from aqka.runs.ledger import LEDGER_NAME, Ledger
from aqka.runs.session import Session
from aqka.version import __version__

Answer = TypeVar("Answer")


SessionType = TypeVar("SessionType", bound=Session)


@dataclass(frozen=True)
class Patience:
    """How long to bear with a failing backend.

    Attributes
    ----------
    attempts
        Tries of a step that fails for a passing reason.
    first_wait
        Seconds before the second try; each later wait is twice as long.
    failed_rounds
        Rounds in a row that may fail before the run stops. It can be resumed.
    """

    attempts: int = 6
    first_wait: float = 2.0
    failed_rounds: int = 3

    def call(self, step: Callable[[], Answer]) -> Answer:
        """Return what ``step`` returns, repeating it while it fails for a passing reason."""
        for attempt in range(self.attempts - 1):
            try:
                return step()
            except TransientError:
                time.sleep(self.first_wait * 2**attempt)
        return step()


def drive(
    session: SessionType,
    backend: Backend,
    directory: str | Path | None = None,
    patience: Patience | None = None,
    on_round: Callable[[SessionType], None] | None = None,
) -> History | None:
    """Run a session on a backend until it is done; with a directory, keep its ledger there.

    Returns what the ledger says at the end, read back and checked; None without a directory.
    """
    run = _Run(session, backend, patience or Patience(), on_round)
    if directory is None:
        run.spend()
        return None
    path = Path(directory)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"directory {str(path)!r} cannot be made: {error.strerror}; name another."
        ) from error
    with Ledger(path / LEDGER_NAME, write=True) as ledger:
        run.keep(ledger)
        run.spend()
        history = fold(ledger.entries())
        check_sound(history, ledger.path)
        return history


class _Run(Generic[SessionType]):
    """A session, a backend, and the ledger between them."""

    def __init__(
        self,
        session: SessionType,
        backend: Backend,
        patience: Patience,
        on_round: Callable[[SessionType], None] | None,
    ) -> None:
        self._session = session
        self._backend = backend
        self._patience = patience
        self._on_round = on_round
        self._ledger: Ledger | None = None
        self._run_id = new_run_id()
        self._planned = False  # whether the pending plan stands in the ledger already
        self._ticket: str | None = None  # of the pending plan, if it was submitted
        self._finished = False  # whether the ledger says so

    def keep(self, ledger: Ledger) -> None:
        """Write to a ledger from now on, after taking up what it holds."""
        history = fold(ledger.entries())
        facts = fingerprint(self._session, self._backend)
        self._ledger = ledger
        if history.empty:
            started = {"fingerprint": facts, "version": __version__, "run_id": self._run_id}
            self._write("started", started)
            return
        check_sound(history, ledger.path)
        check_fingerprint(history, facts)
        replay(self._session, history)
        self._run_id, self._finished = history.run_id, history.finished
        self._planned, self._ticket = history.open_plan is not None, history.ticket
        if not self._session.done:
            self._write("resumed", {"version": __version__})

    def spend(self) -> None:
        """Run rounds until the budget is spent."""
        failures = 0
        try:
            while not self._session.done:  # lines 3 and 4
                failures = 0 if self._round() else failures + 1
                if failures == self._patience.failed_rounds:
                    raise JobError(
                        f"{failures} rounds in a row gave no shots; the run stops and can be "
                        "resumed when the cause is mended."
                    )
                if self._on_round is not None:
                    self._on_round(self._session)
        except KeyboardInterrupt:
            self._write("interrupted")
            raise
        if not self._finished:
            self._write("finished")

    def _round(self) -> bool:
        """Plan, submit and collect one round; return whether it brought any shots."""
        session, plan = self._session, self._session.ask()
        ticket = self._ticket_of(plan)
        try:
            hits = self._patience.call(lambda: self._backend.collect(ticket))
        except JobError as error:
            # Nothing is run again. What the job did bring is kept, the rest of the round's
            # shots goes to the next one.
            warnings.warn(f"round {session.round} failed: {error}", RuntimeWarning, stacklevel=4)
            shots, hits = error.partial or (np.zeros_like(plan.shots), np.zeros_like(plan.shots))
            self._write("failed", {"reason": str(error)}, shots=shots, hits=hits)
            session.tell(hits, shots)
        else:
            usage = self._backend.usage.get(ticket)
            self._write("collected", {"qpu_seconds": usage}, hits=hits)
            session.tell(hits)  # line 11
            shots = plan.shots
        self._planned, self._ticket = False, None
        return bool(shots.any())

    def _ticket_of(self, plan: ShotPlan) -> str:
        """Return the ticket of the pending plan, submitting it only if nobody has."""
        backend, replayable = self._backend, self._backend.replayable
        if self._ticket is not None and not replayable:
            return self._ticket
        # Jobs outlive a run, so their tag names it; simulated hits must not depend on its name.
        tag = self._session.tag if replayable else f"{self._session.tag}-{self._run_id}"
        ticket: str | None = None
        if self._planned:
            ticket = self._patience.call(lambda: backend.recover(plan, tag))
        else:
            self._write_plan(plan, tag)
        if ticket is None:
            ticket = self._patience.call(lambda: backend.submit(plan, tag))
        if self._ticket is None:
            facts = {
                "ticket": ticket,
                "backend": backend.name,
                "calibrated_at": backend.calibrated_at,
            }
            self._write("submitted", facts)
        return ticket

    def _write_plan(self, plan: ShotPlan, tag: str) -> None:
        body, arrays = plan_columns(plan)
        self._write("planned", {"tag": tag} | body, **arrays)

    def _write(self, kind: str, body: dict[str, Any] | None = None, **arrays: IntArray) -> None:
        if self._ledger is not None:
            belongs = kind in ("planned", "submitted", "collected", "failed")
            self._ledger.append(
                kind, round=self._session.round if belongs else None, body=body, **arrays
            )


def new_run_id() -> str:
    """Return a name for a run that no other run has."""
    return uuid.uuid4().hex[:12]


def replay(session: Session, history: History) -> None:
    """Bring a fresh session to where the ledger ends."""
    number = 0
    try:
        for round in history.rounds:
            number = round.number
            session.take_up(round.planned)
            session.tell(round.hits, round.measured.shots if round.failed else None)
        if history.open_plan is not None:
            session.take_up(history.open_plan)
    except InputError as error:
        raise LedgerError(f"the ledger is not this session's: round {number}: {error}") from error


def fingerprint(session: Session, backend: Backend) -> dict[str, str]:
    """Return what makes a run this run; resuming needs all of it to be the same."""
    return {
        "backend": backend.fingerprint(),
        **session.settings(),
        **session.extent(),
    }


def check_fingerprint(history: History, facts: dict[str, str]) -> None:
    """Refuse to go on with another run's ledger, and say what differs."""
    differing = [
        f"{name} (there {history.facts.get(name, 'nothing')!r}, now {value!r})"
        for name, value in facts.items()
        if history.facts.get(name) != value
    ]
    if differing:
        raise LedgerError(
            f"the ledger belongs to another run; these differ: {'; '.join(differing)}. "
            "Resume with the same arguments, or give another directory."
        )
