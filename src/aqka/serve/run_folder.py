"""Finds the runs below a folder; links are not followed."""

import os
from collections.abc import Iterator
from pathlib import Path

from aqka._util.arrays import text_digest
from aqka.errors import InputError
from aqka.runs.ledger import LEDGER_NAME
from aqka.study.directory import RESULTS_NAME, STUDY_NAME

MAX_DEPTH = 5
MAX_DIRECTORIES = 20_000  # looked at; a home directory has more, and nobody's runs lie there
MAX_RUNS = 500


def find_runs(folder: Path) -> dict[str, Path]:
    """Return the runs below a folder by a short name that is safe in an address.

    A run is a directory with a ledger, or with a study and its results where no shot is measured
    yet. What lies inside a run is its own.
    """
    if not folder.is_dir():
        raise InputError(f"there is no folder {str(folder)[:300]!r}; name one that holds runs.")
    found: dict[str, Path] = {}
    for directory in _directories(folder):
        if is_run(directory):
            found[run_key(folder, directory)] = directory
            if len(found) == MAX_RUNS:
                break
    return found


def is_run(directory: Path) -> bool:
    """Return whether a directory is a run's."""
    if (directory / LEDGER_NAME).is_file():
        return True
    return (directory / STUDY_NAME).is_file() and (directory / RESULTS_NAME).is_file()


def run_key(folder: Path, directory: Path) -> str:
    """Return the short name of a run, the same for the same place in the folder."""
    return text_digest(os.fsencode(directory.relative_to(folder)).hex())


def _directories(folder: Path) -> Iterator[Path]:
    """Return the folder and what is below it, level by level, without what is inside a run."""
    level, looked_at = [folder], 0
    for _ in range(MAX_DEPTH + 1):
        below: list[Path] = []
        for directory in level:
            yield directory
            looked_at += 1
            if looked_at >= MAX_DIRECTORIES:
                return
            if not is_run(directory):
                below += _children(directory)
        level = below


def _children(directory: Path) -> list[Path]:
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError:
        return []  # not ours to read
    return [
        Path(entry.path)
        for entry in entries
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
    ]
