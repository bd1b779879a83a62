"""The command line: its commands, one file each, and how it ends when something is wrong."""

import json
import os
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from typer.core import TyperGroup

from aqka._util.text import inert
from aqka.cli import ledger, run
from aqka.cli.demo import demo
from aqka.cli.init import check, init
from aqka.cli.options import DISK_FULL, AsJson, exit_code, make_table
from aqka.cli.plan import plan, tiles
from aqka.cli.predict import export_model, predict
from aqka.cli.report import report, serve, validate
from aqka.errors import InputError, LedgerError
from aqka.version import __version__

RESEARCH = {
    "reproduce": "Run the paper's experiments again and judge every number it states.",
    "compare": "Compare allocators and learners on a half of the task suite, at five budgets.",
}
"""Commands of the distribution aqka-research, listed without importing or needing it."""


def research_command(name: str) -> Any:
    """Import a command of aqka-research, or say how to install it."""
    for found in entry_points(group="aqka.commands", name=name):
        return typer.main.get_command(found.load())
    raise InputError(
        f"'aqka {name}' needs aqka-research, which is not installed; in a clone of the repository: "
        "pip install ./research."
    )


class Commands(TyperGroup):
    """The commands of ``aqka``."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command to run, imported where it is one of aqka-research."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, research_command(name) if name in RESEARCH else command, rest


app = typer.Typer(
    cls=Commands,
    help="Quantum-kernel learning under a shot budget.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def doctor(as_json: AsJson = False) -> None:
    """Say which extras are installed, and the command that brings the others."""
    from aqka._util.optional import examine, platform_facts

    facts, extras = platform_facts(), examine()
    if as_json:
        typer.echo(json.dumps({"versions": facts, "extras": extras}, indent=2))
        return
    console = Console()
    console.print(_listed(facts))
    headings = ["extra", "for", "installed", "to install"]
    rows = [(x["name"], x["purpose"], _listed(x["installed"]), x["command"]) for x in extras]
    console.print(make_table(None, headings, rows, left=headings))


def _listed(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


COMMANDS: dict[Callable[..., None], str] = {
    demo: "demo --seeds 10 --picture demo.png",
    init: "init study.toml && aqka check study.toml",
    check: "check study.toml --write",
    plan: "plan study.toml --budget '5 min' --queue 50 --rate 96 --set rep_delay=1e-4",
    tiles: "tiles --device fake_fez --qubits 4 --picture chip.png",
    run.run: "run study.toml --output runs/first",
    run.resume: "resume runs/first",
    run.status: "status runs/first --json",
    run.watch: "watch runs/first",
    run.cancel: "cancel runs/first",
    report: "report runs/first",
    validate: "validate runs/first --picture chip.png",
    serve: "serve runs",
    predict: "predict runs/first new.csv --output labels.csv",
    export_model: "export-model runs/first model.aqka",
    doctor: "doctor",
}
for command, example in COMMANDS.items():
    app.command(epilog=f"Example: aqka {example}")(command)
app.add_typer(ledger.app, name="ledger")
for name, says in RESEARCH.items():  # :class:`Commands` takes the real ones when they are run
    app.command(name, help=f"{says} Comes with aqka-research.")(lambda: None)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"aqka {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Quantum-kernel learning under a shot budget."""


def main() -> None:
    """Run the command line; what cannot be done ends with a message and an exit code of its own."""
    _make_printable()
    try:
        app()
    except (InputError, LedgerError) as error:
        _leave(inert(error, limit=None), exit_code(error))
    except OSError as error:
        if exit_code(error) != DISK_FULL:
            raise
        _leave(f"{error.strerror}: {inert(error.filename or 'a file', 300)}.", DISK_FULL)


def _make_printable() -> None:
    """Let output never fail a command: closed streams go nowhere, strange characters become '?'."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _leave(message: str, code: int) -> NoReturn:
    if code == DISK_FULL and "free some space" not in message:
        message += " The disk is full or failing: free some space, then repeat the command."
    typer.echo(f"error: {message}", err=True)
    sys.exit(code)
