"""Predictions of new points as a table."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from aqka._util.text import inert
from aqka.study.new_points import NewPoints

SHOWN_POINTS = 20
COLUMNS = ("point", "label", "decision", "low", "high", "settled", "shots")


def print_predictions(found: NewPoints, output: Path | None, console: Console) -> None:
    """Print the first points, what they cost, and where all of them are."""
    rows = found.rows()
    table = Table()
    for name in COLUMNS:
        table.add_column(name, justify="left" if name == "label" else "right")
    for row in rows[:SHOWN_POINTS]:
        table.add_row(*(Text(inert(cell_text(row[name]))) for name in COLUMNS))
    console.print(table)
    for sentence in _sentences(found, output):
        console.print(sentence, highlight=False, markup=False, soft_wrap=True)


def _sentences(found: NewPoints, output: Path | None) -> list[str]:
    prediction, count = found.prediction, len(found.rows())
    said = []
    if count > SHOWN_POINTS and output is None:
        said.append(f"… and {count - SHOWN_POINTS} more; --output or --json gives all")
    said.append(
        f"{int(prediction.settled.sum())} of {count} settled with "
        f"{int(prediction.shots.sum()):,} of {found.budget:,} shots; low and high are "
        f"{prediction.level:.0%} intervals"
    )
    if found.clipped:
        said.append(
            f"{found.clipped} points lie outside the training points' range and were clipped to it"
        )
    if output is not None:
        said.append(f"All points are in {inert(output, 300)}")
    return said


def one_column_per_class(row: dict[str, Any], classes: Iterable[Any]) -> dict[str, Any]:
    """Return a row whose lists, one number for each of several classes, are columns of their own.

    Examples
    --------
    >>> one_column_per_class({"point": 0, "low": [-1.5, 2.0]}, ["a", "b"])
    {'point': 0, 'low_a': -1.5, 'low_b': 2.0}
    """
    columns: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, list):
            pairs = zip(classes, value, strict=True)
            columns |= {f"{name}_{label}": number for label, number in pairs}
        else:
            columns[name] = value
    return columns


def cell_text(value: Any) -> str:
    """Return a value for a table; of several classes the numbers of all."""
    if isinstance(value, list):
        return " ".join(f"{number:.4f}" for number in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
