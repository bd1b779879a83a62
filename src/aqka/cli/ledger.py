"""The commands of ``aqka ledger``: parse, call, print."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from aqka._util.text import inert
from aqka.errors import InputError, LedgerError
from aqka.runs.audit import Audit

app = typer.Typer(help="Check, show and export the ledger of a run.", no_args_is_help=True)

RunOrLedger = Annotated[Path, typer.Argument(help="Directory of a run, or the ledger in it.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


@app.command(epilog="Example: aqka ledger verify runs/first")
def verify(run: RunOrLedger, as_json: AsJson = False) -> None:
    """Check a ledger without its backend. Exit code 0: sound, 1: not sound, 2: not readable.

    Of a study's run also whether the files beside it are its own.
    """
    found = _check(run)
    if as_json:
        typer.echo(json.dumps(asdict(found) | {"summary": found.summary}, indent=2))
    else:
        typer.echo(found.summary)
        if found.qpu_seconds is not None:
            typer.echo(f"QPU time: {found.qpu_seconds:.6g} s")
        for problem in found.problems[1:]:
            typer.echo(f"  also: {problem}")
    _exit_by(found)


@app.command(epilog="Example: aqka ledger show runs/first")
def show(run: RunOrLedger, as_json: AsJson = False) -> None:
    """List the entries of a ledger, as far as it can be read. Exit codes: as verify."""
    from aqka.cli.ledger_table import list_entries, print_lines

    lines, found = list_entries(run)
    if as_json:
        entries = [asdict(line) for line in lines]
        typer.echo(json.dumps({"entries": entries, "summary": found.summary}, indent=2))
    else:
        print_lines(lines, Console())
        typer.echo(found.summary)
    _exit_by(found)


@app.command(epilog="Example: aqka ledger export runs/first counts.csv")
def export(
    run: RunOrLedger,
    target: Annotated[Path, typer.Argument(help="File ending in .csv, .npz or .parquet.")],
) -> None:
    """Write the counts of a run: round, row, col, shots, hits. Exit codes: as verify."""
    from aqka.runs.export import export as write

    found = _check(run)
    if not found.sound:
        typer.echo(f"error: {found.summary}; nothing is exported.", err=True)
        _exit_by(found)
    rows = write(run, target)
    typer.echo(f"{inert(target, limit=None)}: {rows} rows")


def _check(run: Path) -> Audit:
    """Check a ledger, and whether it belongs to the files of a study's run beside it."""
    from aqka.runs.audit import verify as check
    from aqka.study.progress import read_begun_history
    from aqka.study.seal import STUDY_NAME

    found = check(run)
    if not found.sound or not (run / STUDY_NAME).exists():
        return found
    try:
        read_begun_history(run)
    except (InputError, LedgerError) as error:
        return replace(found, sound=False, problems=[inert(error, limit=None)])
    return found


def _exit_by(found: Audit) -> NoReturn:
    raise typer.Exit(0 if found.sound else 1)
