"""The runs below a folder: which there are, what the pages say about each, and what was read."""

import math
import os
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from aqka._util.arrays import text_digest
from aqka._util.text import inert
from aqka.errors import InputError, LedgerError
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
from aqka.study.progress import Progress, ProgressReader
from aqka.study.quoting import stored_quote
from aqka.study.store import RunStore

MAX_DEPTH = 5
MAX_DIRECTORIES = 20_000  # looked at; a home directory has more, and nobody's runs lie there
MAX_RUNS = 500
MAX_NAME = 120
MAX_JOBS = 200  # the last ones, of each ledger
MAX_TICKET = 60
SHOWN = ("backend", "rounds", "rounds_planned", "shots", "budget", "accuracy", "updated_at")
KEPT_PAGES = 8  # reports of large runs have megabytes
DAMAGED = "damaged"
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
            if _is_run(directory):
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


def _is_run(directory: Path) -> bool:
    if (directory / LEDGER_NAME).is_file():
        return True
    return (directory / STUDY_NAME).is_file() and (directory / RESULTS_NAME).is_file()


def run_key(folder: Path, directory: Path) -> str:
    """Return the short name of a run, the same for the same place in the folder."""
    return text_digest(os.fsencode(directory.relative_to(folder)).hex())


@dataclass(frozen=True)
class JobState:
    """One submission of a run."""

    purpose: str  # training of the map, training or predictions
    round: int
    state: str  # collected, failed, sent or planned
    shots: int  # that it asks for; once it ended, those that were run
    seconds: float | None  # from its plan to its end, or to now
    qpu_seconds: float | None = None  # as the backend reported
    ticket: str = ""  # its jobs, as the backend calls them, while they are out


def job_states(store: RunStore) -> list[JobState]:
    """Return the submissions of a run, the last first: those that ended, and what is out."""
    found: list[JobState] = []
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
            shots = one.measured.total
            found.append(JobState(purpose, one.number, state, shots, seconds, used))
        if history.open_plan is not None:
            since = None if history.updated_at is None else time.time() - history.updated_at
            state = "planned" if history.ticket is None else "sent"
            ticket, shots = inert(history.ticket or "", MAX_TICKET), history.open_plan.total
            found.append(JobState(purpose, history.ended, state, shots, since, ticket=ticket))
    return found[::-1]


@dataclass(frozen=True, eq=False)
class RunLook:
    """A run as it was found."""

    name: str  # its place in the folder
    progress: Progress | None  # None if it cannot be read
    words: str = ""  # what is wrong with it, or the command that continues it or knows more
    jobs: list[JobState] = field(default_factory=list)  # the last first
    results: dict[str, Any] = field(default_factory=dict)  # which may say anything

    @property
    def state(self) -> str:
        """Where it stands, in a word."""
        return DAMAGED if self.progress is None else self.progress.state

    def row(self) -> dict[str, Any]:
        """Return its line of the list of runs."""
        scores = self.results.get("results")
        scores = scores if isinstance(scores, dict) else {}
        return {
            "name": self.name,
            "state": self.state,
            "words": self.words,
            "design": None if self.progress is None else self.progress.unit,
            **{name: _known(getattr(self.progress, name, None)) for name in SHOWN},
            "test_accuracy": _known(scores.get("accuracy")),
            "test_error": _known(scores.get("rmse")),
        }

    def facts(self) -> dict[str, Any]:
        """Return all that its own page shows around the report."""
        quoted = stored_quote(self.results)
        return self.row() | {
            "jobs": [asdict(job) for job in self.jobs],
            "queue_seconds": None if quoted is None else quoted.queue_seconds,
        }


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


def look_at(directory: Path, name: str) -> RunLook:
    """Read a run; one that cannot be read says why."""
    name = inert(name, MAX_NAME)
    try:
        store = RunStore(directory)
        now = ProgressReader(store).look()
        results, jobs = store.results, job_states(store)
    except CANNOT_BE_READ as error:
        return RunLook(name, None, inert(error, 300))
    words = f"aqka resume {inert(directory, 300)}" if now.resumable else ""
    if now.jobs and not words:  # this page asks no service
        words = f"aqka status {inert(directory, 300)} asks the service for their place in the queue"
    return RunLook(name, now, words, jobs, results)


class FolderWatch:
    """The runs of a folder; what was read is kept until the run's files change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        find_runs(self.folder)  # better to refuse now what is no folder
        self._looks: dict[str, tuple[Version, RunLook]] = {}
        self._pages: OrderedDict[str, tuple[Version, str]] = OrderedDict()
        # One reader at a time: a second one would only compute the same.
        self._reading, self._rendering = Lock(), Lock()

    def runs(self) -> dict[str, RunLook]:
        """Return every run there is now, by its key."""
        with self._reading:
            places = find_runs(self.folder)
            self._looks = {key: self._look(key, place) for key, place in places.items()}
            return {key: look for key, (_, look) in self._looks.items()}

    def run(self, key: str) -> tuple[str, RunLook] | None:
        """Return a run with a word that changes when it does; None if there is no such run."""
        with self._reading:
            place = find_runs(self.folder).get(key)
            if place is None:
                return None
            self._looks[key] = version, look = self._look(key, place)
            return f"{hash(version) & 0xFFFFFFFFFFFF:x}", look

    def report(self, key: str) -> str | None:
        """Return the report of a run as a page; None if there is no such run."""
        place = find_runs(self.folder).get(key)
        if place is None:
            return None
        with self._rendering:
            version = version_of(place)
            kept = self._pages.get(key)
            if kept is None or kept[0] != version:
                self._pages[key] = kept = version, run_page(run_report(place))
            self._pages.move_to_end(key)
            while len(self._pages) > KEPT_PAGES:
                self._pages.popitem(last=False)
            return kept[1]

    def _look(self, key: str, place: Path) -> tuple[Version, RunLook]:
        """Return a run as it is now, read anew if its files have changed."""
        version = version_of(place)
        kept = self._looks.get(key)
        if kept is not None and kept[0] == version:
            return kept
        name = place.relative_to(self.folder).as_posix()
        return version, look_at(place, self.folder.name if name == "." else name)
