"""Predictions of new points as a table."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from aqka._util.text import inert
from aqka.sessions import Values
from aqka.study.new_points import NewPoints

SHOWN_POINTS = 20
SHOWN_OTHERS = 2  # columns of the file besides; --output has all


def print_predictions(found: NewPoints, output: Path | None, console: Console) -> None:
    """Print the first points, what they cost, and where all of them are."""
    records = found.records()
    left_out = list(found.others)[SHOWN_OTHERS:]
    columns = [name for name in records[0] if name not in left_out]
    table = Table()
    for name in columns:
        words = name in ("label", "truth") or name in found.others
        table.add_column(Text(inert(name)), justify="left" if words else "right")
    for row in records[:SHOWN_POINTS]:
        table.add_row(*(Text(inert(cell_text(row[name]))) for name in columns))
    console.print(table)
    for sentence in [*_score_sentences(found), *_sentences(found, output)]:
        console.print(sentence, highlight=False, markup=False, soft_wrap=True)


def _score_sentences(found: NewPoints) -> list[str]:
    scores = found.scores()
    if scores is None:
        return []
    if "accuracy" in scores:
        low, high = scores["interval"]
        return [
            f"accuracy {scores['accuracy']:.3f} on {scores['points']} points with a label (95 % "
            f"interval {low:.2f} to {high:.2f}), balanced {scores['balanced_accuracy']:.3f}"
        ]
    return [
        f"root mean square error {scores['rmse']:.4g} ± {scores['rmse_error']:.2g} on "
        f"{scores['points']} points with a target, R² {scores['r2']:.3f}; always answering the "
        f"training points' mean gives {scores['mean_rmse']:.4g}"
    ]


def _sentences(found: NewPoints, output: Path | None) -> list[str]:
    prediction, count = found.prediction, len(found.prediction.f)
    said = []
    if count > SHOWN_POINTS and output is None:
        said.append(f"… and {count - SHOWN_POINTS} more; --output or --json gives all")
    spent = f"{int(prediction.shots.sum()):,} of {found.budget:,} shots; low and high are "
    spent += f"{prediction.level:.0%} intervals"
    if isinstance(prediction, Values):
        said.append(f"{count} values with {spent}")
    else:
        said.append(f"{int(prediction.settled.sum())} of {count} settled with {spent}")
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
