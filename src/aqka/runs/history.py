"""The one fold of a ledger's entries: what was run, what is still open, and what is wrong with it.

Whoever wants to know something of a run folds its entries and looks at the result: a run that is
resumed, its audit, its progress, its export and its report cannot disagree about what happened.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from aqka._util.arrays import IntArray
from aqka._util.text import inert
from aqka.core.calibration import CalibrationPlan
from aqka.core.extent import Extent, as_number
from aqka.core.plans import Answer, Landmarks, Plan, ShotPlan, UnitTable
from aqka.core.point_plans import PointPlan
from aqka.errors import InputError, LedgerError
from aqka.runs.ledger import Entry

MAX_PROBLEMS = 20  # listed; a ledger with more is no better known for it
MAX_PROBLEM_CHARACTERS = 300


@dataclass(frozen=True, eq=False)
class RecordedRound:
    """One round that ended."""

    number: int  # from 0
    planned: Plan
    measured: Plan  # what was run of it: less in a round that failed
    answer: Answer  # the hits of each pair, or the outcomes of points
    failed: bool  # its job was lost
    lost: int  # shots that were run, but whose hits cannot be had
    qpu_seconds: float | None  # as the backend reported
    planned_at: float  # since 1970, UTC
    ended_at: float
    remarks: dict[str, Any] = field(default_factory=dict)  # what else the backend had to say

    def add_to(self, table: UnitTable) -> None:
        """Count the round in a table, unless that has another kind of counts."""
        if isinstance(self.measured, table.PLAN):
            table.add(self.measured, self.answer)


@dataclass(eq=False)
class History:
    """All that the entries of a ledger say; None where it does not."""

    problems: list[str] = field(default_factory=list)  # what is wrong; at most the first 20
    entries: int = 0  # that could be read
    facts: dict[str, Any] = field(default_factory=dict)  # the fingerprint that the run began with
    version: str = "unknown"  # of the aqka that began it
    run_id: str = ""
    parent: str | None = None  # name of the run that it is a part of
    backend: str | None = None  # that ran the last shots
    files: dict[str, str] | None = None  # digests of the files that it began with
    sealed: dict[str, str] | None = None  # and of those that came after training
    decisions: dict[str, IntArray] = field(default_factory=dict)  # computed before the first shot
    budget: int | None = None  # shots in all
    extent: Extent = field(default_factory=Extent)
    rounds: list[RecordedRound] = field(default_factory=list)  # unless they were not to be kept
    ended: int = 0  # rounds
    shots: int = 0  # with their hits
    lost: int = 0  # shots that were run for nothing
    qpu_seconds: float | None = None
    open_plan: Plan | None = None  # waits for its hits
    open_tag: str = ""
    ticket: str | None = None  # of the open plan, if it was submitted
    last_kind: str | None = None  # of entry
    started_at: float | None = None
    updated_at: float | None = None
    idle_seconds: float = 0.0  # in which no process was at work
    calibrations: list[str] = field(default_factory=list)  # moments of the device's
    finished: bool = False
    end: str = ""  # of the ledger when it was read, see Ledger.end
    take: Callable[[Entry], None] = field(default=lambda entry: None, repr=False)  # goes on with it

    @property
    def sound(self) -> bool:
        """Whether the ledger can be believed: it says something, and every invariant holds."""
        return self.entries > 0 and not self.problems

    @property
    def summary(self) -> str:
        """What the ledger says, and whether it can be believed, in one line."""
        problems = self.audit()["problems"]
        if problems:
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            return f"NOT sound: {problems[0]}{more}"
        plural = "" if self.ended == 1 else "s"
        state = "finished" if self.finished else "not finished"
        return f"sound: {self.ended} round{plural}, {self.shots} of {self.budget} shots, {state}"

    def audit(self) -> dict[str, Any]:
        """Return whether the ledger can be believed, and what it says of its run, for JSON."""
        nothing = ["the ledger has no entry that can be read"] if self.empty else []
        return {
            "sound": self.sound,
            "problems": nothing or self.problems,
            "budget": self.budget,
            "shots": self.shots,  # collected, those of failed rounds included
            "rounds": self.ended,
            "finished": self.finished,
            "qpu_seconds": self.qpu_seconds,
        }

    @property
    def spent(self) -> int:
        """Shots of the budget that were run, whether their hits could be had or not."""
        return self.shots + self.lost

    @property
    def empty(self) -> bool:
        """Whether nothing was ever written, which is no damage."""
        return self.entries == 0 and not self.problems

    @property
    def landmarks(self) -> Landmarks | None:
        """The landmarks chosen last, of the rounds that were kept."""
        chosen = (round.planned.landmarks for round in reversed(self.rounds))
        return next((landmarks for landmarks in chosen if landmarks is not None), None)

    @property
    def predicts(self) -> bool:
        """Whether it is a prediction, which may end before its budget does."""
        return self.extent.block is not None or self.extent.new_points is not None


def fold(entries: Iterable[Entry], *, keep_rounds: bool = True) -> History:
    """Follow a run from entry to entry; an error while reading them is a problem like others.

    ``keep_rounds=False`` holds one round's counts at a time.
    """
    folding = _Fold(keep_rounds)
    try:
        for entry in entries:
            folding.take(entry)
    except LedgerError as error:
        folding.note(str(error))
    folding.history.take = folding.take
    return folding.history


def as_seconds(given: Any) -> float | None:
    """Return QPU seconds as a backend or a ledger states them; None: not known.

    A service that cannot be asked for the bill says anything; the counts are no worse for it.
    """
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or not 0 <= given < math.inf:
        return None
    return float(min(given, 1e300))  # a whole number beyond a float's range would overflow


class _Unsound(Exception):
    """One entry breaks an invariant; the message says which."""


class _Fold:
    """Takes one entry after the other, and goes on as well as can be after a wrong one."""

    def __init__(self, keep_rounds: bool) -> None:
        self.history = History()
        self._keep_rounds = keep_rounds
        self._round = 0  # the open round, or the next
        self._last: str | None = None  # kind of the open round's last entry
        self._planned_at = 0.0
        self._tickets: set[str] = set()
        self._steps = {
            "started": self._start,
            "planned": self._plan,
            "submitted": self._submit,
            "collected": self._end,
            "failed": self._end,
            "resumed": _check_between,
            "interrupted": _check_between,
            "cancelled": _check_between,
            "finished": self._finish,
            "sealed": self._seal,
        }

    def note(self, problem: str) -> None:
        if len(self.history.problems) < MAX_PROBLEMS:
            self.history.problems.append(inert(problem, MAX_PROBLEM_CHARACTERS))

    def take(self, entry: Entry) -> None:
        """Check one entry and keep what it says."""
        history = self.history
        history.entries += 1
        try:
            if history.entries == 1:
                history.started_at = entry.at
                if entry.kind != "started":
                    raise _Unsound("a ledger begins with 'started'")
            if history.finished and entry.kind != "sealed":
                raise _Unsound("nothing may follow 'finished'")
            if entry.kind not in self._steps:
                raise _Unsound("this kind of entry is unknown")
            self._steps[entry.kind](entry)
        except (_Unsound, InputError) as error:
            where = "" if entry.round is None else f", round {entry.round}"
            self.note(f"entry {entry.number} ({inert(entry.kind)}{where}): {error}")
        if entry.kind == "resumed" and history.updated_at is not None:
            history.idle_seconds += max(0.0, entry.at - history.updated_at)
        history.last_kind, history.updated_at = entry.kind, entry.at

    def _start(self, entry: Entry) -> None:
        history = self.history
        if history.entries > 1:
            raise _Unsound("a run starts once")
        _check_between(entry)
        history.version = inert(entry.body.get("version", "unknown"))
        history.run_id = str(entry.body.get("run_id"))
        if "parent" in entry.body:
            history.parent = inert(entry.body["parent"])
        if "files" in entry.body:
            history.files = _digests(entry.body["files"])
        facts = entry.body.get("fingerprint")
        if not isinstance(facts, dict):
            raise _Unsound("it has no fingerprint")
        history.facts, history.decisions = facts, entry.arrays
        history.budget = as_number(facts.get("budget"))
        if not history.budget:
            raise _Unsound("its fingerprint names no budget")
        history.extent = Extent.of(facts)

    def _plan(self, entry: Entry) -> None:
        history = self.history
        after, expected = self._last, self._round
        self._last, self._planned_at, history.open_plan = "planned", entry.at, None
        # After a gap go on from there, so that it is reported once and not for every later round.
        self._round = expected if entry.round is None else entry.round
        if after is not None:
            raise _Unsound(f"round {expected} is still open")
        if entry.round != expected:
            raise _Unsound(f"round {expected} comes next")
        # What a row measures tells the kinds of plans apart.
        kinds = (kind for kind in (PointPlan, CalibrationPlan) if kind.ROWS[0] in entry.arrays)
        try:
            plan = next(kinds, ShotPlan).from_ledger(entry.body, entry.arrays)
        except KeyError as error:
            raise _Unsound(f"it has no {error}") from error
        history.open_plan, history.open_tag = plan, str(entry.body.get("tag", ""))
        planned = plan.total
        if history.budget is not None and planned > history.budget - history.spent:
            left = history.budget - history.spent
            raise _Unsound(f"it plans {planned} shots, but {left} of the budget are left")

    def _submit(self, entry: Entry) -> None:
        after, self._last = self._last, "submitted"
        _check_order(entry, after, "planned", self._round)
        ticket = entry.body.get("ticket")
        if not isinstance(ticket, str):
            raise _Unsound("it has no ticket")
        if "backend" in entry.body:
            self.history.backend = inert(entry.body["backend"])
        moment = entry.body.get("calibrated_at")
        if moment is not None and inert(moment) not in self.history.calibrations[-1:]:
            self.history.calibrations.append(inert(moment))
        if ticket in self._tickets:
            raise _Unsound(f"ticket {inert(ticket)} belongs to an earlier round")
        self._tickets.add(ticket)
        self.history.ticket = ticket

    def _end(self, entry: Entry) -> None:
        history = self.history
        after, plan, current = self._last, history.open_plan, self._round
        self._last, history.open_plan, history.ticket = None, None, None
        self._round += 1
        _check_order(entry, after, "submitted", current)
        history.ended += 1
        if plan is None:
            return  # what is wrong with it has been said
        if entry.kind == "failed" and "shots" not in entry.arrays:
            raise _Unsound("a failed round must say which shots were run")
        measured = plan.cut_to(entry.arrays.get("shots", plan.shots))
        history.shots += measured.total
        try:
            answer = measured.answer_from_ledger(entry.arrays)
        except KeyError as error:
            raise _Unsound(f"it has no {error.args[0]!s}") from error
        lost = entry.body.get("lost", 0)
        if not isinstance(lost, int) or not 0 <= lost <= plan.total - measured.total:
            raise _Unsound("the shots it lost must be a number of those that brought no hits")
        history.lost += lost
        if history.budget is not None and history.spent > history.budget:
            raise _Unsound(f"{history.spent} shots are collected of a budget of {history.budget}")
        seconds = as_seconds(entry.body.get("qpu_seconds"))
        if seconds is not None:
            history.qpu_seconds = (history.qpu_seconds or 0.0) + seconds
        remarks = entry.body.get("remarks", {})
        if not isinstance(remarks, dict):
            raise _Unsound("its remarks cannot be read")
        if self._keep_rounds:
            failed, begun = entry.kind == "failed", self._planned_at
            ended = RecordedRound(
                current, plan, measured, answer, failed, lost, seconds, begun, entry.at, remarks
            )
            history.rounds.append(ended)

    def _finish(self, entry: Entry) -> None:
        history = self.history
        history.finished = True
        _check_between(entry)
        if self._last is not None:
            raise _Unsound(f"round {self._round} is still open")
        # A prediction ends when every point is settled, which the counts alone do not show.
        if history.spent != history.budget and not history.predicts:
            raise _Unsound(f"{history.spent} shots of {history.budget} are collected")

    def _seal(self, entry: Entry) -> None:
        _check_between(entry)
        if not self.history.finished:
            raise _Unsound("what is not finished cannot be sealed")
        self.history.sealed = _digests(entry.body.get("files"))


def _check_between(entry: Entry) -> None:
    if entry.round is not None:
        raise _Unsound("it belongs to the run, not to a round")


def _check_order(entry: Entry, after: str | None, expected: str, current: int) -> None:
    """Refuse an entry that does not come after the ``expected`` kind, in the open round."""
    if after != expected:
        raise _Unsound(f"it must come after '{expected}'")
    if entry.round != current:
        raise _Unsound(f"round {current} is the open one")


def _digests(given: Any) -> dict[str, str]:
    """Return the digests of files by their names."""
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise _Unsound("the digests of its files cannot be read")
    return {str(name): value for name, value in given.items()}
