"""The runs below a folder: which there are, what the pages say about each, and what was read."""

import math
import os
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from aqka._util.arrays import text_digest
from aqka._util.text import inert
from aqka.errors import InputError, LedgerError
from aqka.planning.quotes import Quote
from aqka.report.run_page import run_page
from aqka.report.run_report import run_report
from aqka.runs.ledger import LEDGER_NAME
from aqka.study.directory import (
    MAP_TRAINING_NAME,
    PREDICTIONS_NAME,
    REPORT_NAME,
    RESULTS_NAME,
    STUDY_NAME,
    is_held,
)
from aqka.study.progress import ProgressReader
from aqka.study.schema import read_stored
from aqka.study.store import RunStore

MAX_DEPTH = 5
MAX_DIRECTORIES = 20_000  # looked at; a home directory has more, and nobody's runs lie there
MAX_RUNS = 500
MAX_JOBS = 200  # the last ones, of each ledger
SHOWN = ("backend", "rounds", "rounds_planned", "shots", "budget", "accuracy", "updated_at")
JOB_FACTS = ("purpose", "round", "state", "shots", "seconds", "qpu_seconds", "ticket")
KEPT_PAGES = 8  # reports of large runs have megabytes
CANNOT_BE_READ = (InputError, LedgerError, OSError)  # raised for a damaged run, or one not begun

Version = tuple[object, ...]


def find_runs(folder: Path) -> dict[str, Path]:
    """Return the runs below a folder by a short name that is safe in an address.

    A run is a directory with a ledger, or with a study and its results where no shot is measured
    yet. What lies inside a run belongs to it. Links are not followed.
    """
    if not folder.is_dir():
        raise InputError(f"there is no folder {str(folder)[:300]!r}; name one that holds runs.")
    found: dict[str, Path] = {}
    level, looked_at = [folder], 0  # level by level: what lies near is found first
    for _ in range(MAX_DEPTH + 1):
        below: list[Path] = []
        for directory in level:
            looked_at += 1
            if looked_at > MAX_DIRECTORIES or len(found) == MAX_RUNS:
                return found
            parts = (directory / name for name in (STUDY_NAME, RESULTS_NAME))
            if (directory / LEDGER_NAME).is_file() or all(part.is_file() for part in parts):
                found[run_key(folder, directory)] = directory
                continue
            with suppress(OSError):  # not ours to read
                below += sorted(
                    Path(entry.path)
                    for entry in os.scandir(directory)
                    if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
                )
        level = below
    return found


def run_key(folder: Path, directory: Path) -> str:
    """Return the short name of a run, the same for the same place in the folder."""
    return text_digest(os.fsencode(directory.relative_to(folder)).hex())


def job_rows(store: RunStore) -> list[dict[str, Any]]:
    """Return the submissions of a run, the last first: those that ended, and what is out."""
    found: list[tuple[object, ...]] = []
    purposes = {
        "map training": store.map_training,
        "training": store.training,
        "predictions": store.predictions,
    }
    for purpose, history in purposes.items():
        if history is None:
            continue
        for one in history.rounds[-MAX_JOBS:]:
            state, seconds = "failed" if one.failed else "collected", one.ended_at - one.planned_at
            used = one.qpu_seconds or None  # a device that runs in this process reports 0
            found.append((purpose, one.number, state, one.measured.total, seconds, used, ""))
        if history.open_plan is not None:
            since = None if history.updated_at is None else time.time() - history.updated_at
            state = "planned" if history.ticket is None else "sent"
            ticket, shots = inert(history.ticket or "", 60), history.open_plan.total
            found.append((purpose, history.ended, state, shots, since, None, ticket))
    return [dict(zip(JOB_FACTS, row, strict=True)) for row in found[::-1]]


def _known(value: Any) -> Any:
    """Return a figure that JSON can hold; a ledger may say anything."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float) else None


def version_of(directory: Path) -> Version:
    """Return what changes whenever something happens to a run, and costs next to nothing."""
    parts = (".", PREDICTIONS_NAME, MAP_TRAINING_NAME)
    ledgers = [f"{part}/{LEDGER_NAME}" for part in parts]
    names = (*ledgers, *(f"{name}-wal" for name in ledgers), RESULTS_NAME, REPORT_NAME)
    found: list[object] = [is_held(directory)]
    for name in names:
        with suppress(OSError):
            status = (directory / name).stat()
            found.append((name, status.st_mtime_ns, status.st_size, status.st_ino))
    return tuple(found)


def look_at(directory: Path, name: str) -> dict[str, Any]:
    """Return all that the pages say about a run around its report; ``words`` say what is wrong.

    Or, where nothing is, they are the command that continues it or knows more.
    """
    now, words, results, jobs = None, "", {}, []
    try:
        store = RunStore(directory)
        now = ProgressReader(store).look()
        results, jobs = store.results, job_rows(store)
    except CANNOT_BE_READ as error:
        now, words = None, inert(error, 300)
    if now is not None and now.resumable:
        words = f"aqka resume {inert(directory, 300)}"
    elif now is not None and now.jobs:  # this page asks no service
        words = f"aqka status {inert(directory, 300)} asks the service for their place in the queue"
    scores, quoted = results.get("results"), read_stored(Quote, results.get("quote"))
    scores = scores if isinstance(scores, dict) else {}
    return {
        "name": inert(name, 120),
        "state": "damaged" if now is None else now.state,
        "words": words,
        "design": None if now is None else now.unit,
        **{figure: _known(getattr(now, figure, None)) for figure in SHOWN},
        "test_accuracy": _known(scores.get("accuracy")),
        "test_error": _known(scores.get("rmse")),
        "jobs": jobs,
        "queue_seconds": None if quoted is None else quoted.queue_seconds,
    }


class FolderWatch:
    """The runs of a folder; what was read is kept until the run's files change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        find_runs(self.folder)  # better to refuse now what is no folder
        # One reader at a time: a second one would only compute the same.
        self._reading, self._rendering = Lock(), Lock()
        self._look = lru_cache(MAX_RUNS)(self._look_at_version)
        self._page = lru_cache(KEPT_PAGES)(lambda place, version: run_page(run_report(place)))

    def runs(self) -> dict[str, dict[str, Any]]:
        """Return what is said about every run there is now, by its key."""
        with self._reading:
            places = find_runs(self.folder).items()
            return {key: self._look(place, version_of(place)) for key, place in places}

    def run(self, key: str) -> dict[str, Any] | None:
        """Return a run with its version, a word that changes when it does; None: no such run."""
        with self._reading:
            place = find_runs(self.folder).get(key)
            if place is None:
                return None
            version = version_of(place)
            return self._look(place, version) | {"version": f"{hash(version) & 0xFFFFFFFFFFFF:x}"}

    def report(self, key: str) -> str | None:
        """Return the report of a run as a page; None if there is no such run."""
        place = find_runs(self.folder).get(key)
        if place is None:
            return None
        with self._rendering:
            return self._page(place, version_of(place))

    def _look_at_version(self, place: Path, version: Version) -> dict[str, Any]:
        name = place.relative_to(self.folder).as_posix()
        return look_at(place, self.folder.name if name == "." else name)
