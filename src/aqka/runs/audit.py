"""Can a ledger be believed? Found from the ledger alone: neither backend nor labels are needed."""

from dataclasses import dataclass
from pathlib import Path

from aqka._util.text import inert
from aqka.errors import LedgerError
from aqka.runs.history import History, fold
from aqka.runs.ledger import Ledger, is_there, ledger_path


@dataclass(frozen=True)
class Audit:
    """What a ledger says of its run, and whether it can be believed.

    Attributes
    ----------
    sound, problems
        Whether every invariant holds; what is wrong by entry, at most the first 20.
    budget, shots
        In shots, None where the ledger does not say; collected, those of failed rounds included.
    rounds, finished
        Rounds that ended, collected or failed; whether the run says that it is finished.
    qpu_seconds
        What the backend reported; None if it never did.
    """

    sound: bool
    problems: list[str]
    budget: int | None
    shots: int
    rounds: int
    finished: bool
    qpu_seconds: float | None

    @classmethod
    def of(cls, history: History) -> "Audit":
        """Return the audit of entries that were folded."""
        nothing = ["the ledger has no entry that can be read"] if history.empty else []
        return cls(
            history.sound,
            nothing or history.problems,
            history.budget,
            history.shots,
            history.ended,
            history.finished,
            history.qpu_seconds,
        )

    @classmethod
    def of_unreadable(cls, error: LedgerError) -> "Audit":
        """Return the audit of a ledger that cannot be opened."""
        return cls(False, [str(error)], None, 0, 0, False, None)

    @property
    def summary(self) -> str:
        """The audit in one line."""
        if self.problems:
            more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
            return f"NOT sound: {self.problems[0]}{more}"
        plural = "" if self.rounds == 1 else "s"
        state = "finished" if self.finished else "not finished"
        return f"sound: {self.rounds} round{plural}, {self.shots} of {self.budget} shots, {state}"


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
    >>> kernel = [[1, 0.5], [0.5, 1]]
    >>> session = acquire(MatrixBackend(kernel), [1, -1], 50, "aqka", directory=directory)
    >>> verify(directory).summary
    'sound: 5 rounds, 50 of 50 shots, finished'
    """
    with Ledger(ledger_path(path)) as ledger:
        return Audit.of(fold(ledger.entries(), keep_rounds=False))


def sound_history(path: str | Path) -> History:
    """Return the history of a ledger that can be believed, read once; refuse any other."""
    history = begun_history(ledger_path(path))
    if history is None:
        raise LedgerError(f"{inert(path, 300)} holds a ledger without an entry: no run has begun.")
    return history


def begun_history(path: Path) -> History | None:
    """Return the same, and None where no entry was written yet; refuse a ledger that was lost."""
    if not is_there(path):
        return None
    with Ledger(path) as ledger:
        history = fold(ledger.entries())
        if history.empty:
            return None
        check_sound(history, path)
        history.end = ledger.end()
    return history


def check_sound(history: History, path: Path) -> None:
    """Refuse the history of a ledger that cannot be believed."""
    if not history.sound:
        raise LedgerError(
            f"{inert(path, 300)} is {Audit.of(history).summary}. Its counts cannot be used; "
            "restore the file from a copy."
        )
