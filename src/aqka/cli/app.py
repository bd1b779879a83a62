"""The command line: its commands, one file each, and how it ends when something is wrong."""

import sys
from typing import Annotated, NoReturn

import typer

from aqka._util.text import inert
from aqka.cli import ledger, research, run
from aqka.cli.cancel import cancel
from aqka.cli.check import check
from aqka.cli.demo import demo
from aqka.cli.doctor import doctor
from aqka.cli.init import init
from aqka.cli.plan import plan
from aqka.cli.predict import predict
from aqka.cli.report import report
from aqka.cli.serve import serve
from aqka.cli.stopping import DISK_FULL, exit_code
from aqka.cli.tiles import tiles
from aqka.errors import InputError, LedgerError
from aqka.version import __version__

app = typer.Typer(
    cls=research.Commands,
    help="Quantum-kernel learning under a shot budget.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command(epilog="Example: aqka demo --seeds 10 --picture demo.png")(demo)
app.command(
    epilog="Example: aqka plan --points 150 --budget '5 min' --queue 50 --rate 96 "
    "--set rep_delay=1e-4"
)(plan)
app.command(epilog="Example: aqka tiles --device fake_fez --qubits 4 --picture chip.png")(tiles)
app.command(epilog="Example: aqka init study.toml && aqka check study.toml")(init)
app.command(epilog="Example: aqka check study.toml --write")(check)
app.add_typer(run.app)
app.command(epilog="Example: aqka cancel runs/first")(cancel)
app.command(epilog="Example: aqka report runs/first")(report)
app.command(epilog="Example: aqka serve runs")(serve)
app.command(epilog="Example: aqka predict runs/first new.csv --output labels.csv")(predict)
app.add_typer(ledger.app, name="ledger")
app.command(epilog="Example: aqka doctor")(doctor)
research.add_to(app)


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
    try:
        app()
    except (InputError, LedgerError) as error:
        _leave(inert(error, limit=None), exit_code(error))
    except OSError as error:
        if exit_code(error) != DISK_FULL:
            raise
        _leave(f"{error.strerror}: {inert(error.filename or 'a file', 300)}.", DISK_FULL)


def _leave(message: str, code: int) -> NoReturn:
    if code == DISK_FULL and "free some space" not in message:
        message += " The disk is full or fails: free some space, then give the command again."
    typer.echo(f"error: {message}", err=True)
    sys.exit(code)
