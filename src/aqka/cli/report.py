"""The commands after a run: report, predict. They parse, call, print."""

import csv
import io
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from aqka._util.text import inert, spreadsheet_cell
from aqka.cli.run import AsJson, Run, leaving_resumable
from aqka.errors import InputError

if TYPE_CHECKING:
    from aqka.report.run_report import RunReport
    from aqka.study.new_points import NewPoints

COMPARISON_NAME = "comparison.html"
SHOWN_POINTS = 20
COLUMNS = ("point", "label", "decision", "low", "high", "settled", "shots")

app = typer.Typer()


@app.command(epilog="Example: aqka report runs/first")
def report(
    runs: Annotated[
        list[Path], typer.Argument(help="Directory of a run, or of several to compare.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(help="Where the page goes; default: report.html in the run's directory."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the figures as JSON, and where the page is.")
    ] = False,
) -> None:
    """Write one HTML file about a run that opens anywhere, offline; or compare several runs."""
    from threadpoolctl import threadpool_limits

    from aqka.report.write_report import collect, write_report
    from aqka.study.directory import REPORT_NAME

    default = Path(COMPARISON_NAME) if len(runs) > 1 else runs[0] / REPORT_NAME
    target = output or default
    with threadpool_limits(1):
        reports = collect(runs)
        write_report(reports, target)
    if as_json:
        from aqka._util.files import as_json as written

        typer.echo(written(_report_as_json(reports, target)), nl=False)
        return
    for sentence in _sentences(reports):
        typer.echo(sentence)
    typer.echo(f"\nThe report is in {inert(target, 300)}")


def _sentences(reports: "Sequence[RunReport]") -> list[str]:
    from aqka.report.answers import answer_questions
    from aqka.report.comparison import comparison_sentences, letter_names

    if len(reports) > 1:
        return [*letter_names(reports), *comparison_sentences(reports)]
    return [f"{one.question} {one.words}" for one in answer_questions(reports[0])]


def _report_as_json(reports: "Sequence[RunReport]", target: Path) -> dict[str, Any]:
    from aqka.report.summary import summary

    return {
        "file": str(target),
        "words": _sentences(reports),
        "runs": [summary(one) for one in reports],
    }


@app.command(epilog="Example: aqka predict runs/first new.csv --output labels.csv")
def predict(
    run: Run,
    data: Annotated[
        Path, typer.Argument(help="New points: .csv, .parquet or .npz with the run's columns.")
    ],
    shots: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=10**6,
            help="At most so many shots, on average, for each pair of a new and a training "
            "point; default: the study's test_shots.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Write all points to this .csv or .json file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Classify new points with a finished run, on its backend. Exit codes: as run.

    Points are encoded as the run's own were. A ledger below the run's directory keeps what is
    measured: the same command goes on after a stop, and never buys a shot twice.
    """
    from threadpoolctl import threadpool_limits

    from aqka.study.new_points import predict_new_points

    if output is not None and output.suffix.lower() not in (".csv", ".json"):
        raise InputError(f"--output must end in .csv or .json, got {inert(output.name)!r}.")
    errors = Console(stderr=True)

    def announce(points: int, budget: int) -> None:
        words = f"{points:,} points, at most {budget:,} shots"
        errors.print(words, highlight=False, markup=False)

    again = inert(shlex.join(["aqka", *sys.argv[1:]]), 1000)
    with leaving_resumable(run, again), threadpool_limits(1):
        found = predict_new_points(run, data, shots, announce)
    if output is not None:
        _write(found, output)
    if as_json:
        typer.echo(json.dumps(_predictions_as_json(found), indent=2))
    else:
        _print(found, output)


def _write(found: "NewPoints", output: Path) -> None:
    from aqka._util.files import as_json, write_atomically

    if output.suffix.lower() == ".json":
        content = as_json(_predictions_as_json(found))
    else:
        stream = io.StringIO(newline="")
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in found.rows():
            writer.writerow([spreadsheet_cell(_cell(row[name])) for name in COLUMNS])
        content = stream.getvalue().encode()
    try:
        write_atomically(output, content)
    except OSError as error:
        raise InputError(
            f"--output {inert(output, 300)} cannot be written: {error.strerror}; no shot is lost, "
            "give the command again with another name."
        ) from None


def _predictions_as_json(found: "NewPoints") -> dict[str, Any]:
    return {
        "level": found.prediction.level,
        "classes": [label.item() for label in found.prediction.head.classes],
        "shots": int(found.prediction.shots.sum()),
        "budget": found.budget,
        "qpu_seconds": found.qpu_seconds,
        "clipped": found.clipped,
        "ledger": str(found.directory),
        "points": found.rows(),
    }


def _print(found: "NewPoints", output: Path | None) -> None:
    from rich.table import Table
    from rich.text import Text

    rows = found.rows()
    table = Table()
    for name in COLUMNS:
        table.add_column(name, justify="left" if name == "label" else "right")
    for row in rows[:SHOWN_POINTS]:
        table.add_row(*(Text(inert(_cell(row[name]))) for name in COLUMNS))
    Console().print(table)
    if len(rows) > SHOWN_POINTS and output is None:
        typer.echo(f"… and {len(rows) - SHOWN_POINTS} more; --output or --json gives all")
    settled = int(found.prediction.settled.sum())
    typer.echo(
        f"{settled} of {len(rows)} settled with {int(found.prediction.shots.sum()):,} of "
        f"{found.budget:,} shots; low and high are {found.prediction.level:.0%} intervals"
    )
    if found.clipped:
        typer.echo(
            f"{found.clipped} points lie outside the training points' range and were clipped to it"
        )
    if output is not None:
        typer.echo(f"All points are in {inert(output, 300)}")


def _cell(value: Any) -> str:
    """Return a value for a table; of several classes the numbers of all."""
    if isinstance(value, list):
        return " ".join(f"{number:.4f}" for number in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
