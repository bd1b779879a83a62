"""How a session's budget is spent: where its ledger is, what limits it, who watches it."""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from aqka.backends.base import Backend, Workload
from aqka.errors import CeilingError, TransientError
from aqka.runs.history import RecordedRound

ATTEMPTS = 6  # of a step that fails for a passing reason
FIRST_WAIT = 2.0  # seconds before the second attempt; each later wait is twice as long
NOTHING = Workload(shots=0, executions=0, jobs=0)
Answer = TypeVar("Answer")
_SHOWN: ContextVar[bool] = ContextVar("shown", default=False)


@contextmanager
def show_progress() -> Iterator[None]:
    """Show progress for every run that spends shots inside the block.

    A bar in a terminal or a notebook, otherwise lines on standard error. This covers runs inside
    pipelines, searches and other libraries' models, in the thread that uses it.
    """
    before = _SHOWN.set(True)
    try:
        yield
    finally:
        _SHOWN.reset(before)


@dataclass
class Ceiling:
    """What all runs that share it may use together; :func:`aqka.planning.make_ceiling` makes one.

    A round counts by the QPU time that the backend reported, a failed one too, and by its quote
    where it reported none: a simulator never does, and IBM not before it has settled a job.

    Parameters
    ----------
    shots : int, default=None
        Most shots, sentinels and lost ones among them; None sets no limit.
    seconds : float, default=None
        Most seconds of QPU time; None sets no limit.
    job_seconds, execution_seconds : float, default=0.0
        Quoted QPU time of a job before its first execution, and of an execution.
    max_executions : int, default=10_000_000
        Most executions in one job.
    words : str, default=""
        The limit as its user wrote it, for messages.
    """

    shots: int | None = None
    seconds: float | None = None
    job_seconds: float = 0.0
    execution_seconds: float = 0.0
    max_executions: int = 10_000_000
    words: str = ""
    _used: dict[str, list[tuple[Workload, float]]] = field(
        default_factory=dict, init=False, repr=False
    )

    def quote(self, work: Workload) -> float:
        """Return the QPU time that a submission is expected to take."""
        jobs = max(work.jobs, -(-work.executions // self.max_executions))
        return jobs * self.job_seconds + work.executions * self.execution_seconds

    @property
    def used_shots(self) -> int:
        """Shots that were run so far."""
        return sum(work.shots for rounds in self._used.values() for work, _ in rounds)

    @property
    def used_seconds(self) -> float:
        """QPU time so far: as reported, or else as quoted."""
        return math.fsum(seconds for rounds in self._used.values() for _, seconds in rounds)

    def take_up(self, run: str, rounds: Iterable[RecordedRound], backend: Backend) -> None:
        """Count what a run's ledger says that it has used; the same run counts once."""
        self._used[run] = []
        for round in rounds:
            work = backend.workload(round.planned)
            ran = round.measured.total + round.lost
            self.record(run, work, ran, round.planned.total, round.qpu_seconds)

    def record(
        self, run: str, work: Workload, ran: int, planned: int, reported: float | None
    ) -> None:
        """Count a round that ended, in which ``ran`` of the ``planned`` shots were run.

        Nothing reported for shots that were run means that the job is not settled yet.
        """
        known = reported is not None and (reported > 0 or ran == 0)
        seconds = reported if known and reported is not None else self.quote(work)
        self._used.setdefault(run, []).append((work.part(ran, planned), seconds))

    @property
    def seconds_left(self) -> float | None:
        """QPU time that is left; None where it has no limit."""
        return None if self.seconds is None else max(0.0, self.seconds - self.used_seconds)

    def check(self, work: Workload, rest: Workload = NOTHING) -> None:
        """Refuse work that does not fit; the message counts the ``rest`` that comes after it."""
        if self.shots is not None and self.used_shots + work.shots > self.shots:
            self._refuse(
                f"{work.shots:,} shots",
                f"{max(0, self.shots - self.used_shots):,} of {self.words or f'{self.shots:,}'}",
                f"{self.used_shots + work.shots:,} shots",
                f"{self.used_shots + work.shots + rest.shots:,} shots",
            )
        needed = self.quote(work)
        if self.seconds is not None and self.used_seconds + needed > self.seconds * (1 + 1e-12):
            self._refuse(
                f"{needed:,.4g} s of QPU time",
                f"{self.seconds_left:,.4g} s of {self.words or f'{self.seconds:,.6g} s'}",
                f"{self.used_seconds + needed:,.4g} s",
                f"{self.used_seconds + needed + self.quote(rest):,.4g} s",
            )

    def _refuse(self, needed: str, left: str, now: str, in_all: str) -> None:
        raise CeilingError(
            f"the ceiling is reached: the next round needs {needed}, but {left} are left. Nothing "
            f"was submitted, and what was measured is kept. This round needs a ceiling of {now} "
            f"in all, and to finish takes about {in_all}"
        )


def patiently(step: Callable[[], Answer]) -> Answer:
    """Return what ``step`` returns, repeating it while it fails for a passing reason."""
    for attempt in range(ATTEMPTS - 1):
        try:
            return step()
        except TransientError:
            time.sleep(FIRST_WAIT * 2**attempt)
    return step()


@dataclass(frozen=True)
class Spend:
    """How to spend a session's budget; passed as one thing to whatever spends shots.

    Parameters
    ----------
    directory : str or path, default=None
        Keeps the ledger here, and resumes the run that it holds. None keeps nothing.
    ceiling : Ceiling, default=None
        Limits this and every other run that shares it: a round that does not fit is not submitted,
        and a CeilingError says what it would need. None sets no limit.
    on_round : callable, default=None
        Called with the session after every round.
    verbose : bool, default=False
        Shows progress: in a terminal, in a notebook, else as lines on the standard error. Inside
        :func:`~aqka.show_progress` the default is True.
    cancel : callable, default=None
        Called before every submission; returns None to go on, or the jobs it cancelled to stop.
    """

    directory: str | Path | None = None
    ceiling: Ceiling | None = None
    on_round: Callable[[Any], None] | None = None
    verbose: bool = field(default_factory=_SHOWN.get)
    cancel: Callable[[], list[str] | None] | None = None
