"""How often the confirmation half was run: a file that is committed beside the page."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aqka._util.files import as_json, write_atomically
from aqka.errors import InputError
from aqka.version import __version__


def count_path(page: Path) -> Path:
    """Return the file that counts the runs of a page."""
    return page.with_name(f"{page.stem}-runs.json")


def runs_so_far(page: Path) -> list[dict[str, Any]]:
    """Return the runs of the confirmation half that the file beside a page tells of."""
    path = count_path(page)
    if not path.exists():
        return []
    try:
        runs = json.loads(path.read_text())
    except ValueError:
        runs = None
    if not isinstance(runs, list):
        raise InputError(f"{path} must hold a list of runs; restore it from the repository.")
    return runs


def count_run(page: Path, default: str, seeds: int, tasks: int) -> None:
    """Add a run that is about to begin: a look counts even if nobody likes what it shows."""
    run = {
        "begun": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": __version__,
        "default": default,
        "seeds": seeds,
        "tasks": tasks,
    }
    path = count_path(page)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, as_json([*runs_so_far(page), run]))
