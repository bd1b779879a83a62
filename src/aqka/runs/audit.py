"""Can a ledger be believed? Found from the ledger alone: neither backend nor labels are needed."""

from pathlib import Path

from aqka._util.text import inert
from aqka.errors import LedgerError
from aqka.runs.history import History, fold
from aqka.runs.ledger import Ledger, is_there, ledger_path


def verify(path: str | Path) -> History:
    """Check a run's ledger, without changing it and without its backend.

    What is returned says by ``sound``, ``problems`` and ``summary`` whether the ledger can be
    believed, and has the run's ``budget``, ``shots``, ``ended`` rounds, ``finished`` and
    ``qpu_seconds``, but not its rounds' counts.

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
        return fold(ledger.entries(), keep_rounds=False)


def sound_history(path: str | Path) -> History:
    """Return the history of a ledger that can be believed, read once; refuse any other."""
    history = begun_history(ledger_path(path))
    if history is None:
        raise LedgerError(f"{inert(path, 300)} holds a ledger without an entry: no run has begun.")
    return history


def begun_history(path: Path, *, sound: bool = True) -> History | None:
    """Return the same, and None where no entry was written yet; refuse a ledger that was lost.

    With ``sound=False`` a ledger that cannot be believed is not refused.
    """
    if not is_there(path):
        return None
    with Ledger(path) as ledger:
        history = fold(ledger.entries())
        if history.empty:
            return None
        if sound:
            check_sound(history, path)
        history.end = ledger.end()
    return history


def check_sound(history: History, path: Path) -> None:
    """Refuse the history of a ledger that cannot be believed."""
    if not history.sound:
        raise LedgerError(
            f"{inert(path, 300)} is {history.summary}. Its counts cannot be used; "
            "restore the file from a copy."
        )
