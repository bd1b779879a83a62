"""The command ``aqka init``: parse, call, print."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from aqka._util.text import inert
from aqka.errors import InputError


def init(
    study: Annotated[Path, typer.Argument(help="File to write.")] = Path("study.toml"),
    data: Annotated[
        Path | None,
        typer.Option(help="Your .csv, .parquet or .npz file, in the study file's directory."),
    ] = None,
    target: Annotated[str | None, typer.Option(help="Of --data: the column of the labels.")] = None,
) -> None:
    """Write a commented study file: an example, or one for your data with settings that learn.

    With --data, maps, ranges and numbers of qubits are tried by simulation, without a shot. A file
    that is there is not touched.
    """
    from aqka.study.example import example

    if target is not None and data is None:
        raise InputError("--target names a column of a file; name the file with --data.")
    if study.exists():
        raise _exists(study)
    found = None
    if data is None:
        text = example(study.name)
    else:
        from aqka.cli.check import run_with_bar
        from aqka.study.new_study import study_of_data

        text, found = study_of_data(study, data, target, run_with_bar)
    try:
        with study.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise _exists(study) from None
    except OSError as error:
        raise InputError(f"{inert(study, 300)} cannot be written: {error.strerror}.") from None
    name, quoted = inert(study, 300), shlex.quote(inert(study, 300))
    if found is not None:
        nested = found.scan.nested
        typer.echo(
            f"The best of {len(found.scan.candidates)} settings are in it; expect a "
            f"{found.metrics[0]} of about {nested.means[0]:.2f} ± {nested.errors[0]:.2f} "
            f"(guessing: {found.evidence.guessing.means[0]:.2f})."
        )
    typer.echo(f"{name} is written; edit it, then: aqka check {quoted} && aqka run {quoted}")


def _exists(study: Path) -> InputError:
    return InputError(f"{inert(study, 300)} is there already; name another file.")
