"""The command ``aqka predict``: parse, call, print."""

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from aqka._util.text import inert, spreadsheet_cell
from aqka.cli.asking import AllowCode, Yes, ask_to_spend
from aqka.cli.options import AsJson, Run
from aqka.cli.stopping import leaving_resumable, this_command
from aqka.errors import InputError

if TYPE_CHECKING:
    from aqka.backends import Backend
    from aqka.study.new_points import NewPoints


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
            "point; default: the study's test_shots. Of a run of points, for each new point; "
            "default: what a training point got.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Write all points to this .csv or .json file.")
    ] = None,
    ceiling: Annotated[
        str | None,
        typer.Option(help="Most that these points may take: shots, QPU time or money."),
    ] = None,
    yes: Yes = False,
    allow_code: AllowCode = False,
    as_json: AsJson = False,
) -> None:
    """Predict new points with a finished run, on its backend. Exit codes: as run.

    Points are encoded as the run's own were. Other columns of the file, such as names, are kept;
    a column of the study's target scores the predictions. A ledger below the run's directory
    keeps what is measured: the same command goes on after a stop, and never buys a shot twice.
    """
    from threadpoolctl import threadpool_limits

    from aqka.cli.predictions_table import print_predictions
    from aqka.study.new_points import predict_new_points

    if output is not None and output.suffix.lower() not in (".csv", ".json"):
        raise InputError(f"--output must end in .csv or .json, got {inert(output.name)!r}.")
    with leaving_resumable(run, inert(this_command(), 1000)), threadpool_limits(1):
        found = predict_new_points(
            run,
            data,
            shots,
            _announce,
            confirm=lambda *asked: _confirm(yes, *asked),
            ceiling=ceiling,
            allow_code=allow_code,
        )
    if output is not None:
        _write_predictions(found, output)
    if as_json:
        typer.echo(json.dumps(_prediction_facts(found), indent=2))
    else:
        print_predictions(found, output, Console())


def _announce(points: int, budget: int) -> None:
    words = f"{points:,} points, at most {budget:,} shots"
    Console(stderr=True).print(words, highlight=False, markup=False)


def _confirm(yes: bool, backend: "Backend", budget: int, design: str) -> None:
    """Show what predictions on paid hardware cost at most, and ask."""
    from aqka.planning.budget import duration
    from aqka.planning.device import Usage
    from aqka.planning.quotes import prediction_part

    part = prediction_part(budget, design, Usage.on(backend, design))
    words = (
        f"at most {part.shots:,} shots in {part.jobs:,} jobs, about {duration(part.qpu_seconds)} "
        "of QPU time"
    )
    ask_to_spend(words, backend.name, yes)


def _write_predictions(found: "NewPoints", output: Path) -> None:
    from aqka._util.files import as_json, write_atomically

    if output.suffix.lower() == ".json":
        content = as_json(_prediction_facts(found))
    else:
        content = _as_csv(found).encode()
    try:
        write_atomically(output, content)
    except OSError as error:
        raise InputError(
            f"--output {inert(output, 300)} cannot be written: {error.strerror}; no shot is lost, "
            "give the command again with another name."
        ) from None


def _as_csv(found: "NewPoints") -> str:
    from aqka.cli.predictions_table import cell_text, one_column_per_class
    from aqka.sessions import Values

    # A value is one number, and only classes have several.
    classes: Any = [] if isinstance(found.prediction, Values) else found.prediction.head.classes
    rows = [one_column_per_class(row, classes) for row in found.records()]
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(map(spreadsheet_cell, rows[0]))
    for row in rows:
        writer.writerow([spreadsheet_cell(cell_text(value)) for value in row.values()])
    return stream.getvalue()


def _prediction_facts(found: "NewPoints") -> dict[str, Any]:
    from aqka.sessions import Prediction

    prediction = found.prediction
    classes = {}
    if isinstance(prediction, Prediction):
        classes = {"classes": [label.item() for label in prediction.head.classes]}
    return {
        "level": prediction.level,
        **classes,
        "scores": found.scores(),
        "shots": int(found.prediction.shots.sum()),
        "budget": found.budget,
        "qpu_seconds": found.qpu_seconds,
        "clipped": found.clipped,
        "ledger": str(found.directory),
        "points": found.records(),
    }
