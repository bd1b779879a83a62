"""Spends a budget on a backend, with every step in the ledger before it is relied on.

What happens in a round, and what a crash in between costs:

1. ``planned`` is written, then the plan is submitted under its tag. A resumed run first looks for
   the jobs of every tag on a backend whose jobs outlive the process, so nothing is bought twice.
2. ``submitted`` is written with the ticket. After a crash the ticket is collected.
3. ``collected`` is written with the hits, and only then does the session see them.
"""

import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from aqka._util.arrays import IntArray, text_digest
from aqka._util.progress_bar import ProgressBar, progress_bar
from aqka._util.text import inert, without_secrets
from aqka.backends import Backend
from aqka.core.plans import Plan
from aqka.errors import CancelledError, CeilingError, InputError, JobError, LedgerError
from aqka.runs.audit import check_sound
from aqka.runs.history import History, as_seconds, fold
from aqka.runs.ledger import LEDGER_NAME, Ledger
from aqka.runs.session import Session
from aqka.runs.spend import Spend, patiently
from aqka.version import __version__

MAX_EVIDENCE_CHARACTERS = 2000
FAILED_ROUNDS = 3  # in a row, after which the run stops; it can be resumed


def drive(session: Session[Any], backend: Backend, spend: Spend | None = None) -> None:
    """Run a session on a backend until it is done.

    Parameters
    ----------
    session, backend, spend
        See :class:`~aqka.runs.Run`.
    """
    with Run(session, backend, spend) as run:
        run.spend()


class Run:
    """A session, a backend, and the ledger between them; a block in which the ledger is open.

    Parameters
    ----------
    session, backend : Session and Backend
        What plans the shots, and what runs them.
    spend : Spend, default=None
        Where the ledger is kept, what limits the run and what watches it; None is ``Spend()``.
    begin_with : mapping, default=None
        More facts for the first entry of a new ledger: ``run_id``, the run's name; ``files``,
        digests of what lies beside it; ``parent``, the name of the run it belongs to. A ledger of
        another parent is refused.
    known : History, default=None
        What the ledger was just found to say by somebody who holds the run, ``fold(())`` of a new
        one: it is not read again, and ``history`` follows what is written.
    """

    def __init__(
        self,
        session: Session[Any],
        backend: Backend,
        spend: Spend | None = None,
        begin_with: Mapping[str, Any] | None = None,
        known: History | None = None,
    ) -> None:
        self._session = session
        self._backend = backend
        self._spend = spend or Spend()
        is_new = "run_id" not in (begin_with or {})
        self._begin_with = {"run_id": new_run_id()} | dict(begin_with or {})
        self._ledger: Ledger | None = None
        self._known = known
        self._run_id = str(self._begin_with["run_id"])
        self._planned = False  # whether the pending plan stands in the ledger already
        self._ticket: str | None = None  # of the pending plan, if it was submitted
        self._finished = False  # whether the ledger says so
        # Whether a process before this one may have submitted a plan. Even a round that it does not
        # know of may have been: the directory may be an older copy of the one that sent it.
        self._may_be_sent = not is_new
        self._spent = session.shots_spent  # by our own count

    def __enter__(self) -> Self:
        if self._spend.directory is None:
            return self
        directory = Path(self._spend.directory)
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"directory {str(directory)!r} cannot be made: {error.strerror}; name another."
            ) from error
        ledger = Ledger(directory / LEDGER_NAME, write=True)
        try:
            self._keep(ledger)
        except BaseException:
            ledger.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        if self._ledger is not None:
            self._ledger.close()

    def history(self) -> History:
        """Return what the ledger says, checked."""
        assert self._ledger is not None, "a run without a directory has no history"
        history = self._known or fold(self._ledger.entries())
        check_sound(history, self._ledger.path)
        return history

    def end(self) -> str:
        """Return how many entries the ledger has and the digest of the last."""
        assert self._ledger is not None, "a run without a directory has no ledger"
        return self._ledger.end()

    def seal(self, files: Mapping[str, str]) -> None:
        """Write the digests of the files that the run ends with, before these are written."""
        self._write("sealed", {"files": dict(files)})

    def _keep(self, ledger: Ledger) -> None:
        """Write to a ledger from now on, after taking up what it holds."""
        history = self._known
        if history is None or not ledger.follow(history.end):
            history = fold(ledger.entries())
            self._known = None if self._known is None else history
        facts = fingerprint(self._session, self._backend)
        self._ledger = ledger
        if history.empty:
            start = {"fingerprint": facts, "version": __version__} | self._begin_with
            self._write("started", start, **self._session.decisions())
            return
        check_sound(history, ledger.path)
        check_parent(history, self._begin_with.get("parent"), ledger.path)
        check_fingerprint(history, facts)
        replay(self._session, history)
        self._run_id, self._finished = history.run_id, history.finished
        self._planned, self._ticket = history.open_plan is not None, history.ticket
        self._spent = history.spent
        if self._spend.ceiling is not None:
            self._spend.ceiling.take_up(self._run_id, history.rounds, self._backend)
        self._may_be_sent = True
        if not self._session.done:
            self._write("resumed", {"version": __version__})

    def spend(self) -> None:
        """Run rounds until the budget is spent."""
        failures = 0
        try:
            with _show_rounds(self._session, self._spend) as show:
                while not self._session.done:  # lines 3 and 4
                    failures = 0 if self._round() else failures + 1
                    if failures == FAILED_ROUNDS:
                        raise JobError(
                            f"{failures} rounds in a row gave no shots; the run stops. Resume it "
                            "once the cause is gone."
                        )
                    show()
        except (KeyboardInterrupt, CeilingError):
            self._write("interrupted")
            raise
        if not self._finished:
            self._write("finished")

    def _round(self) -> bool:
        """Plan, submit and collect one round; return whether it brought any shots."""
        plan = self._session.ask()
        ticket = self._ticket_of(plan)
        facts: dict[str, Any] = {}
        try:
            given = patiently(lambda: self._backend.collect(ticket))
            try:
                answer = plan.checked(given)  # before anything is written or believed
            except InputError as wrong:
                facts["evidence"] = as_evidence(given)
                # The shots were run, so they count against the budget.
                reason = f"the backend's answer cannot be used: {wrong}"
                raise JobError(reason, lost=plan.total) from wrong
        except JobError as error:
            facts["qpu_seconds"] = as_seconds(self._backend.usage.get(ticket))
            brought = self._fail(plan, error, facts)
        else:
            usage = as_seconds(self._backend.usage.get(ticket))
            remarks = self._backend.remarks(ticket)
            facts = {"qpu_seconds": usage} | ({"remarks": dict(remarks)} if remarks else {})
            self._write("collected", facts, **plan.answer_to_ledger(answer))
            self._session.tell(answer)  # line 11
            self._spent += plan.total
            self._record_use(plan, plan.total, usage)
            brought = True
        self._planned, self._ticket = False, None
        return brought

    def _fail(self, plan: Plan, error: JobError, facts: dict[str, Any]) -> bool:
        """Keep what a failed round did bring and what it used; return whether it brought any shots.

        Nothing is run again: the rest of its shots goes to the next round, but for those that were
        run for nothing.
        """
        session = self._session
        # Whatever a service said may repeat a token, and ledgers are passed on.
        reason = without_secrets(error)
        warnings.warn(f"round {session.round} failed: {reason}", RuntimeWarning, stacklevel=5)
        facts["reason"] = reason
        none = plan.cut_to([0] * len(plan))
        measured, answer = none, none.no_answer()
        lost = error.lost
        if error.partial is not None:
            try:
                measured = plan.cut_to(error.partial[0])
                answer = measured.checked(error.partial[1])
            except (InputError, TypeError, IndexError) as wrong:
                facts["evidence"] = f"{inert(wrong, 300)} {as_evidence(error.partial)}"
                lost = plan.total  # whatever was run, nobody can say
                measured = none
        lost = max(0, min(int(lost), plan.total - measured.total))
        if lost:
            facts["lost"] = lost
        columns = measured.answer_to_ledger(answer)
        self._write("failed", facts, shots=measured.shots, **columns)
        session.tell(answer, measured.shots, lost)
        self._spent += measured.total + lost
        self._record_use(plan, measured.total + lost, facts["qpu_seconds"])
        return bool(measured.total)

    def _ticket_of(self, plan: Plan) -> str:
        """Return the ticket of the pending plan, submitting it only if nobody has."""
        backend, replayable = self._backend, self._backend.replayable
        if self._ticket is not None and not replayable:
            return self._ticket
        self._check_budget(plan)
        # Jobs outlive a run, so their tag names it; simulated hits must not depend on its name.
        tag = self._session.tag if replayable else f"{self._session.tag}-{self._run_id}"
        ticket: str | None = None
        if not self._planned:
            self._check_allowed(plan)  # so that nothing is open where the run stops
            body, columns = plan.to_ledger()
            self._write("planned", {"tag": tag} | body, **columns)
            self._planned = True
        if self._may_be_sent:
            ticket = patiently(lambda: backend.recover(plan, tag))
        if ticket is None:
            self._check_allowed(plan)
            ceiling = self._spend.ceiling
            backend.limit_seconds(None if ceiling is None else ceiling.seconds_left)
            ticket = patiently(lambda: backend.submit(plan, tag))
        if self._ticket is None:
            facts = {
                "ticket": ticket,
                "backend": backend.name,
                "calibrated_at": backend.calibrated_at,
            }
            self._write("submitted", facts)
        return ticket

    def _check_budget(self, plan: Plan) -> None:
        """Refuse a plan beyond the budget by the driver's count: others may change a table's."""
        if self._spent + plan.total > self._session.budget:
            raise InputError(
                f"the session plans {plan.total} shots, but {self._spent} of its budget of "
                f"{self._session.budget} have already run; nothing was submitted."
            )

    def _check_allowed(self, plan: Plan) -> None:
        """Stop before a submission that was cancelled, or does not fit under the ceiling."""
        jobs = None if self._spend.cancel is None else self._spend.cancel()
        if jobs is not None:
            self._write("cancelled", {"jobs": jobs})
            raise CancelledError("the run was cancelled; nothing more was submitted")
        if self._spend.ceiling is not None:
            work, left = self._backend.workload(plan), self._session.shots_left - plan.total
            self._spend.ceiling.check(work, work.part(left, plan.total))

    def _record_use(self, plan: Plan, ran: int, usage: float | None) -> None:
        if self._spend.ceiling is not None:
            work = self._backend.workload(plan)
            self._spend.ceiling.record(self._run_id, work, ran, plan.total, usage)

    def _write(self, kind: str, body: dict[str, Any] | None = None, **arrays: IntArray) -> None:
        if self._ledger is not None:
            belongs = kind in ("planned", "submitted", "collected", "failed")
            entry = self._ledger.append(
                kind, round=self._session.round if belongs else None, body=body, **arrays
            )
            if self._known is not None:
                self._known.take(entry)


@contextmanager
def _show_rounds(session: Session[Any], spend: Spend) -> Iterator[Callable[[], None]]:
    """Give what is called after every round: shows the progress if wanted, calls ``on_round``."""
    with ExitStack() as bars:
        bar: ProgressBar | None = None
        if spend.verbose:
            bar = bars.enter_context(progress_bar("shots", session.budget, lines=True))

        def show() -> None:
            if bar is not None:
                bar.text = f"shots, {session.round} {'round' if session.round == 1 else 'rounds'}"
                bar.reach(session.shots_spent)
            if spend.on_round is not None:
                spend.on_round(session)

        yield show


def as_evidence(answer: object) -> str:
    """Return what a backend said, as text that is safe to keep."""
    said = without_secrets(f"{type(answer).__name__} {answer!r}")
    return inert(said, MAX_EVIDENCE_CHARACTERS)


def new_run_id() -> str:
    """Return a name for a run that no other run has."""
    return uuid.uuid4().hex[:12]


def part_of(parent: str, name: str) -> dict[str, str]:
    """Return what the ledger of a run's part begins with, such as that of its predictions.

    Its name follows from the parent's, so that its jobs are found by an older copy of the parent.
    """
    return {"parent": parent, "run_id": text_digest(f"{parent} {name}")[:12]}


def replay(session: Session[Any], history: History) -> None:
    """Bring a fresh session to where the ledger ends."""
    number = 0
    try:
        session.take_up_decisions(history.decisions)
        for round in history.rounds:
            number = round.number
            session.take_up(round.planned)
            session.tell(round.answer, round.measured.shots if round.failed else None, round.lost)
        if history.open_plan is not None:
            session.take_up(history.open_plan)
    except InputError as error:
        raise LedgerError(f"the ledger is not this session's: round {number}: {error}") from error


def fingerprint(session: Session[Any], backend: Backend) -> dict[str, str]:
    """Return what makes a run this run; resuming needs all of it to be the same."""
    return {
        "backend": backend.fingerprint(),
        **session.settings(),
        **session.extent(),
    }


def check_parent(history: History, parent: str | None, path: Path) -> None:
    """Refuse the ledger of another run's predictions."""
    if parent is not None and history.parent != parent:
        other = "no run" if history.parent is None else f"run {inert(history.parent)}"
        raise LedgerError(
            f"{inert(path, 300)} belongs to {other}, not to {parent}; restore the directory from a "
            "copy."
        )


def check_fingerprint(history: History, facts: dict[str, str]) -> None:
    """Refuse to go on with another run's ledger, and say what differs."""
    differing = [
        f"{name} (there {history.facts.get(name, 'nothing')!r}, now {facts.get(name, 'nothing')!r})"
        for name in {**facts, **history.facts}
        if history.facts.get(name) != facts.get(name)
    ]
    if differing:
        raise LedgerError(
            f"the ledger belongs to another run; these differ: {'; '.join(differing)}. "
            "Resume with the same arguments, or give another directory."
        )
