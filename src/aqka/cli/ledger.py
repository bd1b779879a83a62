"""The commands of ``aqka ledger``: parse, call, print."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from aqka._util.text import inert
from aqka.cli.options import AsJson, make_table
from aqka.errors import InputError, LedgerError

if TYPE_CHECKING:
    from aqka.runs.history import History
    from aqka.runs.ledger import Entry

app = typer.Typer(help="Check, show and export the ledger of a run.", no_args_is_help=True)

RunOrLedger = Annotated[Path, typer.Argument(help="Directory of a run, or the ledger in it.")]
FINGERPRINT_SHOWN = ("budget", "points", "seed", "allocator")
MAX_FACTS = 12  # of one entry; ours have fewer


@app.command(epilog="Example: aqka ledger verify runs/first")
def verify(run: RunOrLedger, as_json: AsJson = False) -> None:
    """Check a ledger without its backend. Exit code 0: sound, 1: not sound, 2: not readable.

    For a study's run, also check that the files beside it are its own.
    """
    found = _check(run)
    if as_json:
        typer.echo(json.dumps(found.audit() | {"summary": found.summary}, indent=2))
    else:
        typer.echo(found.summary)
        if found.qpu_seconds:  # a device that runs in this process reports 0
            typer.echo(f"QPU time: {found.qpu_seconds:.6g} s")
        for problem in found.problems[1:]:
            typer.echo(f"  also: {problem}")
    raise typer.Exit(0 if found.sound else 1)


@app.command(epilog="Example: aqka ledger show runs/first")
def show(run: RunOrLedger, as_json: AsJson = False) -> None:
    """List the entries of a ledger, as far as it can be read. Exit codes: as verify."""
    lines, found = list_entries(run)
    if as_json:
        typer.echo(json.dumps({"entries": lines, "summary": found.summary}, indent=2))
    else:
        rows = []
        for *cells, round, facts in (line.values() for line in lines):
            words = ", ".join(f"{name} {value}" for name, value in facts.items())
            rows.append((*cells, "" if round is None else round, words))
        headings = ["entry", "time (UTC)", "kind", "round", "facts"]
        Console().print(make_table(None, headings, rows, left=headings))
        typer.echo(found.summary)
    raise typer.Exit(0 if found.sound else 1)


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
        raise typer.Exit(1)
    rows = write(run, target)
    typer.echo(f"{inert(target, limit=None)}: {rows} rows")


def _check(run: Path) -> "History":
    """Check a ledger, and whether it belongs to the files of a study's run beside it."""
    from aqka.runs.audit import verify as check
    from aqka.study.directory import STUDY_NAME
    from aqka.study.store import RunStore

    found = check(run)
    if not found.sound or not (run / STUDY_NAME).exists():
        return found
    try:
        return RunStore(run).training or found
    except (InputError, LedgerError) as error:
        found.problems.append(inert(error, limit=None))
        return found


def list_entries(path: str | Path) -> tuple[list[dict[str, Any]], "History"]:
    """Return the entries that can be read, safe to print, and what an audit says of the whole."""
    from aqka.runs.history import fold
    from aqka.runs.ledger import Ledger, ledger_path

    lines: list[dict[str, Any]] = []

    def note_lines(entries: Iterator["Entry"]) -> Iterator["Entry"]:
        for entry in entries:
            line = {"number": entry.number, "time": _time(entry.at), "kind": inert(entry.kind)}
            lines.append(line | {"round": entry.round, "facts": _facts(entry)})
            yield entry

    with Ledger(ledger_path(path)) as ledger:
        return lines, fold(note_lines(ledger.entries()), keep_rounds=False)


def _facts(entry: "Entry") -> dict[str, str]:
    from aqka._util.arrays import exact_sum

    facts = {name: value for name, value in entry.body.items() if name != "fingerprint"}
    fingerprint = entry.body.get("fingerprint")
    if isinstance(fingerprint, dict):
        facts |= {name: fingerprint[name] for name in FINGERPRINT_SHOWN if name in fingerprint}
    for name, array in entry.arrays.items():
        # The sum of counts says most, and the number of points.
        facts[name] = exact_sum(array) if name in ("shots", "hits") else array.size
    if "rows" in facts and "cols" in facts:
        del facts["cols"]
        facts["pairs"] = facts.pop("rows")
    # Ours are texts and numbers; anything else may be nested too deep to be written out.
    shown = [(name, value) for name, value in facts.items() if isinstance(value, str | int | float)]
    return {inert(name): inert(value) for name, value in shown[:MAX_FACTS]}


def _time(at: float) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return "unknown"
