"""Cancels what a run has in a queue, also while another process works on it; it can be resumed.

A file in the run's directory asks the process at work, if there is one, to stop before its next
submission. The jobs that wait are then cancelled at the service, and the ledger notes it.
"""

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from aqka._util.files import as_json, read_bytes, write_atomically
from aqka.backends.base import JobState, job_ids_of
from aqka.errors import InputError, LedgerError
from aqka.runs.audit import begun_history
from aqka.runs.history import History
from aqka.runs.ledger import LEDGER_NAME, Ledger
from aqka.study.backends import StudyBackends, make_backends
from aqka.study.directory import (
    MAP_TRAINING_NAME,
    NEW_POINTS_NAME,
    PREDICTIONS_NAME,
    Prepared,
    hold_run,
    is_held,
)
from aqka.study.map_training import MapRun
from aqka.study.quoting import settle_design
from aqka.study.store import RunStore

CANCEL_NAME = "cancel.json"
MAX_CANCEL_BYTES = 2**20
PATIENCE = 30.0  # seconds for the process at work to notice
LOOK = 0.2


@dataclass(frozen=True)
class Cancellation:
    """What came of a cancellation."""

    jobs: list[JobState]  # that were open, as they stand now
    stopped: bool  # no process works on the run any more; else it stops at its next submission


def cancelled_jobs(directory: Path) -> list[str] | None:
    """Return the jobs that were cancelled, for the process at work; None without a request."""
    path = directory / CANCEL_NAME
    if not path.exists():
        return None
    try:
        content = json.loads(read_bytes(path, MAX_CANCEL_BYTES, "cancellation"))
        return [str(job) for job in content["jobs"]]
    except (ValueError, KeyError, TypeError, InputError):
        return []  # that there is one is what counts


def forget_cancel(directory: Path) -> None:
    """Take back a request to stop: to start or resume the run is to want it to go on."""
    (directory / CANCEL_NAME).unlink(missing_ok=True)


def cancel_run(
    directory: Path, *, allow_code: bool = False, patience: float = PATIENCE
) -> Cancellation:
    """Cancel the jobs of a run that wait in a queue, and stop the process that works on it.

    A job that is being run is left alone: it is paid for, and a resumed run collects it.
    """
    store = RunStore(directory)
    prepared = store.prepared(allow_code=allow_code)
    if not _open_rounds(directory) and not is_held(directory):
        return Cancellation([], stopped=True)
    _ask_to_stop(directory, [])
    prepared = settle_design(prepared, store.results)
    backends = make_backends(prepared)
    found: dict[str, JobState] = {}
    end = time.monotonic() + patience
    while True:
        # Again at every look: the process at work may just have been submitting.
        for place, history in _open_rounds(directory):
            for state in _cancel_round(place, history, prepared, backends):
                found[state.job_id] = state
        _ask_to_stop(directory, list(found))
        with suppress(LedgerError), hold_run(directory):
            _note(directory, found)
            forget_cancel(directory)
            return Cancellation(list(found.values()), stopped=True)
        if time.monotonic() > end:
            return Cancellation(list(found.values()), stopped=False)
        time.sleep(LOOK)


def _ask_to_stop(directory: Path, jobs: list[str]) -> None:
    try:
        write_atomically(directory / CANCEL_NAME, as_json({"jobs": jobs}))
    except OSError as error:
        raise InputError(f"cannot write in {directory}: {error.strerror}.") from None


def _open_rounds(directory: Path) -> list[tuple[Path, History]]:
    """Return the ledgers with a round that waits for its answer, and what they say."""
    new = directory / NEW_POINTS_NAME
    runs = sorted(new.iterdir()) if new.is_dir() else []
    parts = [directory / name for name in (MAP_TRAINING_NAME, PREDICTIONS_NAME)]
    places = [place / LEDGER_NAME for place in (directory, *parts, *runs)]
    found = [(path, begun_history(path)) for path in places if path.exists()]
    return [(path, one) for path, one in found if one is not None and one.open_plan is not None]


def _cancel_round(
    path: Path, history: History, prepared: Prepared, backends: StudyBackends
) -> list[JobState]:
    assert history.open_plan is not None
    ticket = history.ticket
    if ticket is None and path.parent.parent.name == NEW_POINTS_NAME:
        return []  # without its points, its jobs cannot be found
    if ticket is not None and not job_ids_of(ticket):
        return []  # a simulator's
    predicts = path.parent.name == PREDICTIONS_NAME and backends.test is not None
    backend = backends.test if predicts else backends.train
    if path.parent.name == MAP_TRAINING_NAME:
        backend = MapRun(prepared, history.budget or 0).backend()
    assert backend is not None
    return backend.cancel(history.open_plan, history.open_tag, ticket)


def _note(directory: Path, found: dict[str, JobState]) -> None:
    """Write to the ledgers with an open round which jobs were cancelled, unless it stands there."""
    for path, history in _open_rounds(directory):
        if history.last_kind != "cancelled":
            named = job_ids_of(history.ticket) if history.ticket else list(found)
            gone = [job for job in named if job in found and found[job].state == "CANCELLED"]
            with Ledger(path, write=True) as ledger:
                ledger.append("cancelled", body={"jobs": gone})
