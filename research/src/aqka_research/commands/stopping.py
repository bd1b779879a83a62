"""How a sweep ends that was stopped."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from aqka.cli.options import this_command

STOPPED_SWEEP = 130
"""Exit code of a sweep that Ctrl-C stopped, as shells have it."""


@contextmanager
def keeping_finished_cells() -> Iterator[None]:
    """Turn Ctrl-C in a sweep into its exit code, and say how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        words = "Stopped; what is finished is kept. To go on:"
        typer.echo(f"\n{words}\n  {this_command()}", err=True)
        raise typer.Exit(STOPPED_SWEEP) from None
