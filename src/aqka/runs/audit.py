"""Checks a ledger from the ledger alone: neither backend nor labels are needed."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aqka._util.arrays import exact_sum
from aqka._util.text import inert
from aqka.core.plans import ShotPlan, checked_hits
from aqka.errors import InputError, LedgerError
from aqka.runs.driver import LEDGER_NAME, recorded_plan
from aqka.runs.ledger import Entry, Ledger

MAX_PROBLEMS = 20  # listed; a ledger with more is no better known for it
MAX_PROBLEM_CHARACTERS = 300
MAX_POINTS = 2**16  # a table of more pairs fits no memory


@dataclass(frozen=True)
class Audit:
    """What a ledger says of its run, and whether it can be believed.

    Attributes
    ----------
    sound
        Whether every invariant holds.
    problems
        What is wrong, by entry; at most the first 20.
    budget
        The run's budget in shots; None where the ledger does not say.
    shots
        Shots collected, those of failed rounds included.
    rounds
        Rounds that ended, collected or failed.
    finished
        Whether the run says that it is finished.
    qpu_seconds
        QPU time the backend reported; None if it never did.
    """

    sound: bool
    problems: list[str]
    budget: int | None
    shots: int
    rounds: int
    finished: bool
    qpu_seconds: float | None

    @property
    def summary(self) -> str:
        """The audit in one line."""
        if self.problems:
            more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
            return f"NOT sound: {self.problems[0]}{more}"
        plural = "" if self.rounds == 1 else "s"
        state = "finished" if self.finished else "not finished"
        return f"sound: {self.rounds} round{plural}, {self.shots} of {self.budget} shots, {state}"


def ledger_path(path: str | Path) -> Path:
    """Return the ledger's file, given it or the run's directory."""
    file = Path(path)
    try:
        file = file / LEDGER_NAME if file.is_dir() else file
        is_there = file.is_file()  # nothing else: to open a pipe would wait for ever
    except (OSError, ValueError) as error:
        raise LedgerError(f"cannot open {inert(path, 300)}: {error}; name another path.") from error
    if not is_there:
        raise LedgerError(
            f"{inert(file, 300)} is not a file, so there is no run here; give the directory of a "
            f"run, or its {LEDGER_NAME}."
        )
    return file


def verify(path: str | Path) -> Audit:
    """Check a run's ledger, without changing it and without its backend.

    Parameters
    ----------
    path
        The run's directory, or the ledger in it.

    Raises
    ------
    LedgerError
        If there is no ledger at ``path`` or it cannot be opened. A ledger that opens but is
        damaged further in is reported as not sound.

    Examples
    --------
    >>> import tempfile
    >>> from aqka import MatrixBackend, acquire
    >>> directory = tempfile.mkdtemp()
    >>> session = acquire(MatrixBackend([[1, 0.5], [0.5, 1]]), [1, -1], 50, directory=directory)
    >>> verify(directory).summary
    'sound: 3 rounds, 50 of 50 shots, finished'
    """
    with Ledger(ledger_path(path)) as ledger:
        return audit(ledger.entries())


def audit(entries: Iterable[Entry]) -> Audit:
    """Check entries in their order; an error while reading them is a problem like others."""
    auditor = _Auditor()
    try:
        for entry in entries:
            auditor.take(entry)
    except LedgerError as error:
        auditor.note(str(error))
    return auditor.report()


class _Unsound(Exception):
    """One entry breaks an invariant; the message says which."""


class _Auditor:
    """Follows a run from entry to entry, holding one round's plan at a time."""

    def __init__(self) -> None:
        self._problems: list[str] = []
        self._budget: int | None = None
        self._points: int | None = None
        self._diagonal: Any = None
        self._block: tuple[int, int] | None = None  # rows and columns of a prediction
        self._shots = 0
        self._rounds = 0
        self._round = 0  # the open round, or the next
        self._finished = False
        self._qpu_seconds: float | None = None
        self._last: str | None = None  # kind of the open round's last entry
        self._plan: ShotPlan | None = None
        self._tickets: set[str] = set()
        self._count = 0

    def note(self, problem: str) -> None:
        if len(self._problems) < MAX_PROBLEMS:
            self._problems.append(inert(problem, MAX_PROBLEM_CHARACTERS))

    def report(self) -> Audit:
        if self._count == 0:
            self.note("the ledger has no entry that can be read")
        return Audit(
            sound=not self._problems,
            problems=self._problems,
            budget=self._budget,
            shots=self._shots,
            rounds=self._rounds,
            finished=self._finished,
            qpu_seconds=self._qpu_seconds,
        )

    def take(self, entry: Entry) -> None:
        """Check one entry, and go on as well as can be if it is wrong."""
        self._count += 1
        steps = {
            "started": self._started,
            "planned": self._planned,
            "submitted": self._submitted,
            "collected": self._ended,
            "failed": self._ended,
            "resumed": self._between,
            "interrupted": self._between,
            "finished": self._finish,
        }
        try:
            if self._count == 1 and entry.kind != "started":
                raise _Unsound("a ledger begins with 'started'")
            if self._finished:
                raise _Unsound("nothing may follow 'finished'")
            if entry.kind not in steps:
                raise _Unsound("this kind of entry is unknown")
            steps[entry.kind](entry)
        except (_Unsound, InputError) as error:
            where = "" if entry.round is None else f", round {entry.round}"
            self.note(f"entry {entry.number} ({inert(entry.kind)}{where}): {error}")

    def _started(self, entry: Entry) -> None:
        if self._count > 1:
            raise _Unsound("a run starts once")
        self._between(entry)
        facts = entry.body.get("fingerprint")
        if not isinstance(facts, dict):
            raise _Unsound("it has no fingerprint")
        self._budget = _number(facts.get("budget"))
        if not self._budget:
            raise _Unsound("its fingerprint names no budget")
        # The first ledgers name neither points nor diagonal; pairs are then not checked.
        if "points" in facts:
            self._points = _number(facts["points"])
            if self._points is None or not 2 <= self._points <= MAX_POINTS:
                raise _Unsound(f"points must be a number from 2 to {MAX_POINTS}")
        if "rows" in facts:
            rows, cols = _number(facts["rows"]), _number(facts.get("cols"))
            if not rows or not cols:
                raise _Unsound("rows and cols must be numbers of at least 1")
            self._block = rows, cols
        if "diagonal" in facts:
            self._diagonal = facts["diagonal"]
            if self._diagonal not in ("known", "measured"):
                raise _Unsound("diagonal must be 'known' or 'measured'")

    def _between(self, entry: Entry) -> None:
        if entry.round is not None:
            raise _Unsound("it belongs to the run, not to a round")

    def _planned(self, entry: Entry) -> None:
        after, expected = self._last, self._round
        self._last, self._plan = "planned", None
        # After a gap go on from there, so that it is told once and not for every later round.
        self._round = expected if entry.round is None else entry.round
        if after is not None:
            raise _Unsound(f"round {expected} is still open")
        if entry.round != expected:
            raise _Unsound(f"round {expected} comes next")
        try:
            plan = recorded_plan(entry)
        except KeyError as error:
            raise _Unsound(f"it has no {error}") from error
        self._check_pairs(plan)
        self._plan = plan
        planned = exact_sum(plan.shots)
        if self._budget is not None and planned > self._budget - self._shots:
            raise _Unsound(
                f"it plans {planned} shots, but {self._budget - self._shots} of the budget are left"
            )

    def _check_pairs(self, plan: ShotPlan) -> None:
        named = [plan.rows, plan.cols]
        if plan.landmarks is not None:
            points = plan.landmarks.points
            named.append(points)
            if not points.size or points.min() < 0 or np.unique(points).size != points.size:
                raise _Unsound("its landmarks are none, negative or repeated")
        largest = max(int(array.max(initial=-1)) for array in named)
        if self._points is not None and largest >= self._points:
            raise _Unsound(f"it names point {largest}, but the run has {self._points}")
        if self._block is not None:
            for name, array, size in zip(("row", "column"), named, self._block, strict=False):
                if array.max(initial=-1) >= size:
                    raise _Unsound(f"it names {name} {array.max()}, but the run has {size}")
        if self._diagonal == "known" and np.any(plan.rows == plan.cols):
            raise _Unsound("it measures the diagonal, which is known")

    def _submitted(self, entry: Entry) -> None:
        after, self._last = self._last, "submitted"
        _check_order(entry, after, "planned", self._round)
        ticket = entry.body.get("ticket")
        if not isinstance(ticket, str):
            raise _Unsound("it has no ticket")
        if ticket in self._tickets:
            raise _Unsound(f"ticket {inert(ticket)} belongs to an earlier round")
        self._tickets.add(ticket)

    def _ended(self, entry: Entry) -> None:
        after, plan, current = self._last, self._plan, self._round
        self._last, self._plan = None, None
        self._round += 1
        _check_order(entry, after, "submitted", current)
        self._rounds += 1
        if plan is None:
            return  # what is wrong with it has been said
        if entry.kind == "failed" and "shots" not in entry.arrays:
            raise _Unsound("a failed round must say which shots were run")
        if "hits" not in entry.arrays:
            raise _Unsound("it has no hits")
        done = plan.cut_to(entry.arrays.get("shots", plan.shots))
        self._shots += exact_sum(done.shots)
        checked_hits(done, entry.arrays["hits"])
        if self._budget is not None and self._shots > self._budget:
            raise _Unsound(f"{self._shots} shots are collected of a budget of {self._budget}")
        self._add_usage(entry.body.get("qpu_seconds"))

    def _add_usage(self, seconds: Any) -> None:
        if seconds is None:
            return
        if not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
            raise _Unsound("qpu_seconds must be a number of seconds")
        # A whole number beyond a float's range would overflow.
        self._qpu_seconds = (self._qpu_seconds or 0.0) + float(min(seconds, 1e300))

    def _finish(self, entry: Entry) -> None:
        self._finished = True
        self._between(entry)
        if self._last is not None:
            raise _Unsound(f"round {self._round} is still open")
        # A prediction ends when every point is settled, which the counts alone do not show.
        if self._shots != self._budget and self._block is None:
            raise _Unsound(f"{self._shots} shots of {self._budget} are collected")


def _check_order(entry: Entry, after: str | None, expected: str, current: int) -> None:
    """Refuse an entry that does not come after the ``expected`` kind, in the open round."""
    if after != expected:
        raise _Unsound(f"it must come after '{expected}'")
    if entry.round != current:
        raise _Unsound(f"round {current} is the open one")


def _number(text: Any) -> int | None:
    """Return a whole number as a fingerprint writes it, small enough for 64 bits."""
    is_number = isinstance(text, str) and re.fullmatch("[0-9]{1,18}", text) is not None
    return int(text) if is_number else None
