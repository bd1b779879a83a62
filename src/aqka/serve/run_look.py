"""What the page says of a run at one moment."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aqka._util.text import inert
from aqka.errors import InputError, LedgerError
from aqka.runs.entries import Extent
from aqka.runs.ledger import LEDGER_NAME
from aqka.serve.job_states import JobState, job_states
from aqka.study.directory import PREDICTIONS_NAME, REPORT_NAME, RESULTS_NAME, is_held
from aqka.study.progress import Progress, ProgressReader, run_state
from aqka.study.quoting import stored_quote
from aqka.study.store import RunStore

DAMAGED = "damaged"
MAX_NAME = 120

Version = tuple[object, ...]


@dataclass(frozen=True, eq=False)
class RunLook:
    """A run as it was found.

    Attributes
    ----------
    name
        Its place in the folder.
    progress
        Where it stands; None of a run that cannot be read.
    words
        What is wrong with it, or the command that goes on with it or knows more.
    jobs
        Its submissions, the last first.
    queue_seconds
        What its quote expected to wait in queues; None without a quote.
    """

    name: str
    progress: Progress | None
    words: str = ""
    jobs: list[JobState] = field(default_factory=list)
    queue_seconds: float | None = None

    @property
    def state(self) -> str:
        """Where it stands, in a word."""
        return DAMAGED if self.progress is None else self.progress.state

    def row(self) -> dict[str, Any]:
        """Return its line of the list of runs."""
        now = self.progress
        row: dict[str, Any] = {"name": self.name, "state": self.state, "words": self.words}
        figures = ("backend", "rounds", "rounds_planned", "shots", "budget", "accuracy")
        times = ("qpu_seconds", "updated_at", "seconds_left")
        return row | {name: _known(getattr(now, name, None)) for name in (*figures, *times)}


def _known(value: Any) -> Any:
    """Return a figure that JSON can hold; a ledger may say anything."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _progress(store: RunStore) -> Progress:
    """Return where a run stands; a ledger of predictions has no training points to assess."""
    held = is_held(store.directory)
    history = store.training
    if history is None or history.budget is None or _trains(history.extent):
        return ProgressReader(store.directory).look()
    return Progress(
        state=run_state(store, held),
        backend=inert(history.backend or ""),
        rounds=history.ended,
        rounds_planned=None,
        shots=history.spent,
        budget=history.budget,
        seen=0,
        units=0,
        gini=None,
        accuracy=None,
        qpu_seconds=history.qpu_seconds,
        started_at=history.started_at,
        updated_at=history.updated_at,
        seconds_left=None,
    )


def _trains(extent: Extent) -> bool:
    """Return whether a run measured training points, or pairs of them, and says how many."""
    return extent.points is not None and (extent.diagonal is not None or extent.pauli is not None)


def version_of(directory: Path) -> Version:
    """Return what changes whenever something happens to a run, and costs next to nothing."""
    ledgers = (LEDGER_NAME, f"{PREDICTIONS_NAME}/{LEDGER_NAME}")
    names = (*ledgers, *(f"{name}-wal" for name in ledgers), RESULTS_NAME, REPORT_NAME)
    found: list[object] = [is_held(directory)]
    for path in (directory / name for name in names):
        try:
            status = path.stat()
        except OSError:
            found.append(None)
        else:
            found.append((status.st_mtime_ns, status.st_size, status.st_ino))
    return tuple(found)


def look_at(directory: Path, name: str) -> RunLook:
    """Read a run; one that cannot be read says why."""
    name = inert(name, MAX_NAME)
    try:
        store = RunStore(directory)
        now = _progress(store)
        quoted = stored_quote(store.results)
        jobs = job_states(directory)
    except (InputError, LedgerError, OSError) as error:
        return RunLook(name, None, inert(error, 300))
    words = f"aqka resume {inert(directory, 300)}" if now.resumable else ""
    if now.jobs and not words:  # this page asks nobody
        words = f"aqka status {inert(directory, 300)} asks the service for their place in the queue"
    return RunLook(name, now, words, jobs, None if quoted is None else quoted.queue_seconds)
