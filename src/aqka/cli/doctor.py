"""The command ``aqka doctor``: parse, call, print."""

import json
from dataclasses import asdict

import typer
from rich.console import Console

from aqka.cli.options import AsJson


def doctor(as_json: AsJson = False) -> None:
    """Say which extras are installed, and the command that brings the others."""
    from rich.table import Table

    from aqka._util.optional import examine, platform_facts

    facts, extras = platform_facts(), examine()
    if as_json:
        found = {"versions": facts, "extras": [asdict(extra) for extra in extras]}
        typer.echo(json.dumps(found, indent=2))
        return
    console = Console()
    console.print(", ".join(f"{name} {version}" for name, version in facts.items()))
    table = Table()
    for heading in ("extra", "for", "installed", "to install"):
        table.add_column(heading)
    for extra in extras:
        there = ", ".join(f"{name} {version}" for name, version in extra.installed.items())
        table.add_row(extra.name, extra.purpose, there, extra.command.replace("[", "\\["))
    console.print(table)
