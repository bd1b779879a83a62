"""How often each half of the task suite was run: a file that is committed beside the pages."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aqka._util.files import as_json, write_atomically
from aqka.errors import InputError
from aqka.version import __version__

RECORD = "runs.json"


def read_runs(directory: Path) -> list[dict[str, Any]]:
    """Return all runs on the record of a directory."""
    path = directory / RECORD
    if not path.exists():
        return []
    try:
        runs = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        runs = None
    if not isinstance(runs, list):
        raise InputError(f"{path} must hold a list of runs; restore it from the repository.")
    return runs


def count_run(directory: Path, page: str, half: str, **facts: Any) -> None:
    """Add a run that is about to begin: a look counts even if nobody likes what it shows."""
    run: Mapping[str, Any] = {
        "page": page,
        "half": half,
        "begun": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": __version__,
        **facts,
    }
    directory.mkdir(parents=True, exist_ok=True)
    write_atomically(directory / RECORD, as_json([*read_runs(directory), run]))


def times_run(directory: Path, half: str, page: str | None = None) -> int:
    """Return how often a half was run, for one page or for all together."""
    return sum(run["half"] == half and page in (None, run["page"]) for run in read_runs(directory))
