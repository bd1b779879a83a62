"""What several commands share: options, and the question before money is spent."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from aqka._util.text import inert
from aqka.errors import InputError

if TYPE_CHECKING:
    from aqka.planning.quotes import Quote, QuotePart

StudyFile = Annotated[Path, typer.Argument(help="Study file, in TOML; see aqka init.")]
Run = Annotated[Path, typer.Argument(help="Directory of a run.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Yes = Annotated[bool, typer.Option("--yes", help="Spend on paid hardware without being asked.")]
AllowCode = Annotated[
    bool, typer.Option("--allow-code", help="Let a module:function in the study file run.")
]


def say(words: str, *, err: bool = False) -> None:
    """Print a sentence as it is, on one line however long."""
    Console(stderr=err).print(words, highlight=False, markup=False, soft_wrap=True)


def quoted(path: Path) -> str:
    """Return a path as a shell takes it."""
    return shlex.quote(inert(path, 300))


def describe_quote(quote: "Quote") -> str:
    """Return all that a quote comes to, in a sentence."""
    from aqka.planning.budget import duration

    cost = ""
    if quote.total_cost is not None:
        cost = f", {quote.total_cost:,.2f} {quote.currency}".rstrip()
    parts = "".join(f", {part.shots:,} for {part.name}" for part in quote.parts)
    return (
        f"at most {quote.total.shots:,} shots ({quote.shots:,} for training{parts}) in "
        f"{quote.total.jobs:,} jobs, about {duration(quote.total.qpu_seconds)} of QPU time{cost}"
    )


def describe_part(part: "QuotePart") -> str:
    """Return what a part of a quote comes to, in a sentence."""
    from aqka.planning.budget import duration

    return (
        f"at most {part.shots:,} shots in {part.jobs:,} jobs, about {duration(part.qpu_seconds)} "
        "of QPU time"
    )


def ask_to_spend(words: str, device: str, yes: bool) -> None:
    """Say what would be spent on a device, and go on only if the user agrees."""
    say(f"{inert(device)}: {words}.", err=True)
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(
            f"shots on {inert(device)} may cost money, and nobody is there to ask; add --yes to "
            "spend them, or --dry-run to see the quote. Nothing was submitted."
        )
    if not typer.confirm("Spend it?", err=True):
        raise InputError("declined; nothing was submitted.")
