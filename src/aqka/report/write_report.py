"""Writes the report of a run, or of several."""

from collections.abc import Sequence
from pathlib import Path

from aqka._util.files import write_atomically
from aqka._util.text import inert
from aqka.errors import InputError
from aqka.report.comparison_page import LOOKS, comparison_page
from aqka.report.run_page import run_page
from aqka.report.run_report import RunReport, run_report

MAX_COMPARED = len(LOOKS)  # more columns and colours than that cannot be told apart


def collect(directories: Sequence[Path]) -> list[RunReport]:
    """Read the runs; refuse more than can be compared."""
    if len(directories) > MAX_COMPARED:
        raise InputError(f"{len(directories)} runs are too many; compare at most {MAX_COMPARED}.")
    return [run_report(directory) for directory in directories]


def write_report(reports: Sequence[RunReport], target: Path) -> None:
    """Write one run's page, or a comparison of several, complete or not at all."""
    page = run_page(reports[0]) if len(reports) == 1 else comparison_page(reports)
    try:
        write_atomically(target, page.encode())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a usable path"
        raise InputError(
            f"the report {inert(target, 300)} cannot be written: {reason}; name another with "
            "--output."
        ) from None
