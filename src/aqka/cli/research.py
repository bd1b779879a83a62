"""The commands that the distribution aqka-research adds, as entry points of ``aqka.commands``.

The list of commands shows them without importing, or needing, that distribution.
"""

from importlib.metadata import entry_points
from typing import Any

import typer
from typer.core import TyperGroup

from aqka.errors import InputError

COMMANDS = {
    "reproduce": "Run the paper's experiments again and judge every number it states.",
    "compare": "Compare allocators and learners on a half of the task suite, at five budgets.",
}


def add_to(app: typer.Typer) -> None:
    """List the commands; :class:`Commands` puts the real ones in their place when they are run."""
    for name, says in COMMANDS.items():
        app.command(name, help=f"{says} Comes with aqka-research.")(lambda: None)


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
        return name, research_command(name) if name in COMMANDS else command, rest
