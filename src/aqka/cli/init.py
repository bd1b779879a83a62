"""The commands ``aqka init`` and ``aqka check``: parse, call, print."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from aqka._util.progress_bar import progress_bar
from aqka._util.text import inert
from aqka.cli.options import AllowCode, AsJson, StudyFile, quoted, say
from aqka.errors import InputError

if TYPE_CHECKING:
    from aqka.insight.preflight import Preflight
    from aqka.study.check import StudyCheck

SHOWN = 5  # settings of the scan


def init(
    study: Annotated[Path, typer.Argument(help="File to write.")] = Path("study.toml"),
    data: Annotated[
        Path | None,
        typer.Option(help="Your .csv, .parquet or .npz file, in the study file's directory."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="With --data: the column of the labels.")
    ] = None,
) -> None:
    """Write a commented study file: an example, or one for your data with settings that learn.

    With --data, maps, ranges and numbers of qubits are tried by simulation, without a shot. An
    existing file is not touched.
    """
    from aqka.study.new_study import example, study_of_data

    if target is not None and data is None:
        raise InputError("--target names a column of a file; name the file with --data.")
    if study.exists():
        raise _exists(study)
    found = None
    if data is None:
        text = example(study.name)
    else:
        text, found = study_of_data(study, data, target, run_with_bar)
    try:
        with study.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise _exists(study) from None
    except OSError as error:
        raise InputError(f"{inert(study, 300)} cannot be written: {error.strerror}.") from None
    if found is not None:
        nested = found.scan.nested
        typer.echo(
            f"The best of {len(found.scan.candidates)} settings are in it; expect a "
            f"{found.metrics[0]} of about {nested.means[0]:.2f} ± {nested.errors[0]:.2f} "
            f"(guessing: {found.evidence.guessing.means[0]:.2f})."
        )
    typer.echo(
        f"{inert(study, 300)} is written; edit it, then: aqka check {quoted(study)} && "
        f"aqka run {quoted(study)}"
    )


def _exists(study: Path) -> InputError:
    return InputError(f"{inert(study, 300)} exists already; name another file.")


def check(
    study: StudyFile,
    write: Annotated[
        bool, typer.Option("--write", help="Put the best settings that were found into the file.")
    ] = False,
    allow_code: AllowCode = False,
    as_json: AsJson = False,
) -> None:
    """Say whether a study's kernel is worth any shots, by simulating it; nothing is spent."""
    from aqka._util.files import as_json as as_json_bytes
    from aqka.study.check import StudyCheck
    from aqka.study.new_study import write_settings
    from aqka.study.schema import load_study

    read, text = load_study(study)
    planned = StudyCheck.of(read, study.parent, allow_code=allow_code)
    found = run_with_bar(planned)
    changes = planned.changes(found.scan.candidates[found.scan.best])
    if write and changes:
        write_settings(study, text, changes)
    if as_json:
        written = {"written": changes if write else {}}
        typer.echo(as_json_bytes(found.facts() | written), nl=False)
        return
    print_check(found, Console())
    if write:
        name = inert(study, 300)
        typer.echo(f"{name} has the best settings now." if changes else f"{name} stays as it is.")


def run_with_bar(check: "StudyCheck") -> "Preflight":
    """Run a check on one thread, with a bar on a terminal."""
    from threadpoolctl import threadpool_limits

    from aqka.insight.preflight import count_steps

    with (
        threadpool_limits(1),
        progress_bar("simulating", count_steps(len(check.candidates))) as bar,
    ):

        def step(words: str) -> None:
            bar.describe(words)
            bar.advance()

        return check.run(step)


def print_check(found: "Preflight", console: Console) -> None:
    """Print scores, what the kernel is like, the best settings, and the one sentence."""
    sample = f", a sample of {found.n_given:,}" if found.n_given > found.n_points else ""
    console.print(_scores(found, f"{found.n_points} points{sample}: no shot was spent"))
    console.print(_settings(found))
    for sentence in _sentences(found):
        say(sentence)


def _scores(found: "Preflight", title: str) -> Table:
    table = Table(title=title)
    table.add_column("model", no_wrap=True)
    for name in found.metrics:
        table.add_column(name, justify="right", no_wrap=True)
    for model in found.models:
        pairs = zip(model.means, model.errors, strict=True)
        table.add_row(Text(model.name), *(f"{mean:.3f} ± {error:.3f}" for mean, error in pairs))
    return table


def _settings(found: "Preflight") -> Table:
    from aqka.insight.recommendation import settings_text

    table = Table(title=f"the best of {len(found.scan.candidates)} settings")
    table.add_column("settings")
    table.add_column(found.metrics[0], justify="right", no_wrap=True)
    own = found.scan.order.index(0)
    shown = found.scan.order[:SHOWN] + ([0] if own >= SHOWN else [])
    for number in shown:
        score = found.scan.scores[number]
        settings = settings_text(found.scan.candidates[number].settings)
        name = inert(settings.replace("feature_map.", ""), 100) + (" (yours)" if not number else "")
        table.add_row(Text(name), f"{score.means[0]:.3f} ± {score.errors[0]:.3f}")
    return table


def _sentences(found: "Preflight") -> list[str]:
    kernel, geometric = found.concentration, found.geometric
    unit = "pair" if found.null is None else "point"
    shots = (
        "" if found.evidence.forecast is None else f", as the same shots on every {unit} show them"
    )
    sentences = [
        f"Models learn from {found.n_train} points each time{_fewer(found)}.",
        f"Settings are scored on the same folds{shots}; the best of many is flattered, here by "
        f"{max(found.scan.flattery, 0):.3f}: '{found.scan.nested.name}' is not.",
        f"{kernel.words} Entries: {kernel.mean:.3f} on average, spread {kernel.spread:.3f}"
        + ("" if kernel.shot_error is None else f", shot error {kernel.shot_error:.3f}")
        + f"; effective rank {kernel.effective_rank:.1f} of {kernel.n_points}.",
        f"Geometric difference to the nearest plain kernel ({geometric.nearest}): "
        f"{geometric.value:.1f}; far below {geometric.largest:.1f} a plain kernel can learn "
        "whatever this one can.",
        *_about_features(found),
        "",
        inert(found.recommendation.sentence, limit=None),
    ]
    return sentences


def _about_features(found: "Preflight") -> list[str]:
    """Say of a map of many qubits what its features hold that the data do not."""
    if found.linear_share is None:
        return []
    return [
        f"A linear model of the columns explains {found.linear_share:.1%} of the features' "
        "variance, by leaving points out. A kernel no better than the features of permuted points "
        "has learnt nothing."
    ]


def _fewer(found: "Preflight") -> str:
    """Say that a sample is too small to train on as many points as the study does."""
    if found.n_train >= found.n_train_given:
        return ""
    return (
        f", not from the study's {found.n_train_given:,}, with as many shots a pair: with all of "
        "them every model, plain ones too, may score better"
    )
