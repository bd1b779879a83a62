"""The command ``aqka predict``: parse, call, print."""

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from aqka._util.text import counted, figure_text, inert, spreadsheet_cell
from aqka.cli import options
from aqka.errors import InputError

if TYPE_CHECKING:
    from aqka.study.new_points import NewPoints, Start
    from aqka.study.tables import Columns

SHOWN_POINTS = 20
MODEL_SUFFIX = ".aqka"
SHOWN_UNSEEN = 5


def predict(
    run: options.Run,
    data: Annotated[
        Path, typer.Argument(help="New points: .csv, .parquet or .npz with the run's columns.")
    ],
    shots: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=10**6,
            help="Most shots to spend, on average, on each pair of a new and a training point; for "
            "a run of points, on each new point. Default: the study's test_shots, or what a "
            "training point got.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Write all points to this .csv or .json file.")
    ] = None,
    ceiling: Annotated[
        str | None, typer.Option(help="Limit for these points, in shots, QPU time or money.")
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(
            help="What answers points without a shot where it is sure: none or angles. Default: "
            "the study's method.prior."
        ),
    ] = None,
    yes: options.Yes = False,
    allow_code: options.AllowCode = False,
    as_json: options.AsJson = False,
) -> None:
    """Predict new points with a finished run, on its backend, or with a model file.

    A model file, which aqka export-model writes, needs no backend: it answers what its prior is
    sure of, and abstains from the rest. Exit codes: as run.

    Points are encoded as the run's own were. Other columns of the file, such as names, are kept;
    a column of the study's target scores the predictions. A ledger below the run's directory
    keeps what is measured: the same command resumes after a stop and never buys a shot twice.
    """
    from threadpoolctl import threadpool_limits

    from aqka.study.new_points import predict_new_points, with_others

    if output is not None and output.suffix.lower() not in (".csv", ".json"):
        raise InputError(f"--output must end in .csv or .json, got {inert(output.name)!r}.")
    if run.suffix == MODEL_SUFFIX:
        if any(given is not None for given in (shots, ceiling, prior)):
            raise InputError(
                "--shots, --ceiling and --prior are for a run's directory; a model file buys no "
                "shots. Leave them out, or give the directory."
            )
        _predict_by_model(run, data, output, as_json)
        return
    with options.leaving_resumable(run, inert(options.this_command(), 1000)), threadpool_limits(1):
        found = predict_new_points(
            run,
            data,
            shots,
            _announce,
            prior=prior,
            confirm=lambda part, device: options.ask_to_spend(
                options.describe_part(part), device, yes
            ),
            ceiling=ceiling,
            allow_code=allow_code,
        )
    rows = with_others(found.rows(), {}, found.truth)
    named = found.others, found.id
    _deliver(_facts(found), rows, named, found.classes, _sentences(found, output), output, as_json)


def export_model(
    run: options.Run,
    output: Annotated[Path, typer.Argument(help=f"File to write, ending in {MODEL_SUFFIX}.")],
    allow_code: options.AllowCode = False,
) -> None:
    """Write the model of a finished run to a file that answers points without a backend.

    It holds head, prior, gate angles and the scaling of the columns: an npz archive without
    pickled objects. aqka predict and aqka.load_model read it.
    """
    from aqka.study.model_file import export_model

    if output.suffix != MODEL_SUFFIX:
        raise InputError(f"output must end in {MODEL_SUFFIX}, got {inert(output.name)!r}.")
    model = export_model(run, output, allow_code=allow_code)
    options.say(f"{inert(output, 300)} answers points with the columns {inert(model.columns, 300)}")


def _predict_by_model(model: Path, data: Path, output: Path | None, as_json: bool) -> None:
    from aqka.study.model_file import load_model
    from aqka.study.new_points import read_new_points, with_others
    from aqka.study.tables import other_columns

    loaded = load_model(model)
    encoding, classes = loaded.encoding, loaded.classes.tolist()
    table = read_new_points(data, encoding, gaps=loaded.fills_gaps)
    found, count = loaded.predict(table.X), len(table.X)
    clipped, unseen = encoding.n_outside(table.X), encoding.unseen(table.other_texts)
    others = other_columns(data, encoding.columns, [loaded.id or ""], count)
    rows, answered = found.rows(), int(found.settled.sum())
    facts = {"answered": answered, "clipped": clipped, "unseen": unseen}
    facts["points"] = with_others(rows, others)
    rest = "" if answered == count else "; the others need a backend"
    said = [
        f"{answered} of {counted(count, 'point')} answered without a shot{rest}",
        _about_decision(classes),
        *_about_values(clipped, unseen),
    ]
    _deliver(facts, rows, (others, loaded.id), classes, said, output, as_json)


def _announce(start: "Start") -> None:
    from aqka.designs.prior import PredictionPrior

    answered, least = "", PredictionPrior.least_audited
    if start.audited:
        would = f"; the prior would answer {start.audited:,} of them"
        answered = f"{would}, but its audit measures at least {least}"
    elif start.free is not None:
        answered = f"; the prior answers {start.free:,} of them without one"
    options.say(
        f"{counted(start.points, 'point')}, at most {start.shots:,} shots{answered}", err=True
    )
    for sentence in _about_values(0, start.unseen):
        options.say(sentence, err=True)


def _deliver(
    facts: dict[str, Any],
    rows: list[dict[str, Any]],
    named: "tuple[Columns, str | None]",
    classes: list[Any],
    sentences: list[str],
    output: Path | None,
    as_json: bool,
) -> None:
    """Write points, and print them as JSON or the first ones, ``named`` by a column, as a table."""
    from aqka.study.tables import point_names

    if output is not None:
        _write(output, facts, classes)
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    others, id = named
    columns = [column for column in rows[0] if column != "point"]
    names = point_names(others.get(id or ""), len(rows))
    shown = [
        [inert(cell, 20) for cell in (name, *(_cell(row, c, classes) for c in columns))]
        for name, row in zip(names[:SHOWN_POINTS], rows, strict=False)
    ]
    left = ["label", "answered_by", *(["truth"] if classes else [])]
    headings = [inert(id if id in others else "point", 20), *columns]
    Console().print(options.make_table(None, headings, shown, left=left, compact=True))
    for sentence in sentences:
        options.say(sentence)


def _write(output: Path, facts: dict[str, Any], classes: list[Any]) -> None:
    from aqka._util.files import as_json, explained, write_atomically

    if output.suffix.lower() == ".json":
        content = as_json(facts)
    else:
        rows = [one_column_per_class(row, classes) for row in facts["points"]]
        stream = io.StringIO(newline="")
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(map(spreadsheet_cell, rows[0]))
        writer.writerows([spreadsheet_cell(cell_text(v)) for v in row.values()] for row in rows)
        content = stream.getvalue().encode()
    remedy = "; no shot is lost, give the command again with another name"
    with explained(f"--output {inert(output, 300)} cannot be written", remedy):
        write_atomically(output, content)


def _facts(found: "NewPoints") -> dict[str, Any]:
    prediction = found.prediction
    return {
        "level": prediction.level,
        **({"classes": found.classes} if found.classes else {}),
        "scores": found.scores(),
        "shots": int(prediction.shots.sum()),
        "budget": found.budget,
        "qpu_seconds": found.qpu_seconds,
        "clipped": found.clipped,
        "unseen": found.unseen,
        **({} if found.prior is None else {"prior": found.prior}),
        "ledger": str(found.directory),
        "points": found.records(),
    }


def _cell(row: dict[str, Any], column: str, classes: list[Any]) -> str:
    """Return a cell short enough for a terminal; of several classes, the number of the label."""
    value = row[column]
    if isinstance(value, list):
        decision = row["decision"]
        leading = decision.index(max(decision))  # where a model file gives no label
        value = value[classes.index(row["label"]) if row["label"] in classes else leading]
    if isinstance(value, float):
        return f"{value:.3f}" if classes else figure_text(value)  # targets may have any units
    return cell_text(value)


def _about_decision(classes: list[Any]) -> str:
    """Return how the numbers of a table of classes are to be read."""
    if len(classes) == 2:
        return f"A decision above 0 means {inert(classes[1], 50)}, below 0 {inert(classes[0], 50)}"
    return (
        f"Decisions are those of the point's label; --output and --json give those of all "
        f"{len(classes)} classes"
    )


def _about_values(clipped: int, unseen: list[dict[str, Any]]) -> list[str]:
    """Return what is unusual about the cells of new points, in sentences."""
    said = []
    if clipped:
        verbs = ("lies", "was") if clipped == 1 else ("lie", "were")
        said.append(
            f"{counted(clipped, 'point')} {verbs[0]} outside the training points' range and "
            f"{verbs[1]} clipped to it"
        )
    for one in unseen[:SHOWN_UNSEEN]:
        said.append(
            f"Warning: column {inert(one['column'], 50)!r} holds {inert(one['value'], 50)!r} in "
            f"{counted(one['points'], 'point')}, a category that is not in the run's data; every "
            "feature of the column is 0 there"
        )
    if len(unseen) > SHOWN_UNSEEN:
        said.append(f"… and {len(unseen) - SHOWN_UNSEEN} more such categories; --json gives all")
    return said


def _sentences(found: "NewPoints", output: Path | None) -> list[str]:
    from aqka.sessions import Prediction

    prediction, count, scores = found.prediction, len(found.prediction.f), found.scores()
    said = []
    if scores is not None and "accuracy" in scores:
        low, high = scores["interval"]
        said.append(
            f"accuracy {scores['accuracy']:.3f} on {scores['points']} points with a label (95 % "
            f"interval {low:.2f} to {high:.2f}), balanced {scores['balanced_accuracy']:.3f}"
        )
    elif scores is not None:
        said.append(
            f"root mean square error {figure_text(scores['rmse'])} ± "
            f"{figure_text(scores['rmse_error'], 2)} on {scores['points']} points with a target, "
            f"R² {scores['r2']:.3f}; always answering the training points' mean gives "
            f"{figure_text(scores['mean_rmse'])}"
        )
    if count > SHOWN_POINTS and output is None:
        said.append(f"… and {count - SHOWN_POINTS} more; --output or --json gives all")
    what, level = counted(count, "value"), f"{prediction.level * 100:.0f} %"
    about = f"low and high are {level} intervals of the shot noise"
    if isinstance(prediction, Prediction):
        what = f"{int(prediction.settled.sum())} of {count} settled"
        about += (
            ". Settled: more shots would hardly change the class, by a test while the shots come "
            "in; the interval, computed at the end, may still reach slightly past the border"
        )
    elif found.target is not None:
        about += f", target_low and target_high {level} intervals of the target itself"
    said.append(f"{what} with {int(prediction.shots.sum()):,} of {found.budget:,} shots; {about}")
    said += [_about_decision(found.classes)] if found.classes else []
    said += [] if found.prior is None else found.prior["sentences"]
    said += _about_values(found.clipped, found.unseen)
    if output is not None:
        said.append(f"All points are in {inert(output, 300)}")
    return said


def one_column_per_class(row: dict[str, Any], classes: Iterable[Any]) -> dict[str, Any]:
    """Return a row whose lists, a number for each of several classes, are columns of their own."""
    columns: dict[str, Any] = {}
    for name, value in row.items():
        names = [f"{name}_{label}" for label in classes] if isinstance(value, list) else [name]
        values = value if isinstance(value, list) else [value]
        columns |= dict(zip(names, values, strict=True))
    return columns


def cell_text(value: Any) -> str:
    """Return a value for a table."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
