"""Before money is spent: the quote, and a question."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from aqka._util.text import inert
from aqka.errors import InputError
from aqka.planning.budget import duration

if TYPE_CHECKING:
    from aqka.planning.quotes import Quote

Yes = Annotated[bool, typer.Option("--yes", help="Spend on paid hardware without being asked.")]
AllowCode = Annotated[
    bool, typer.Option("--allow-code", help="Let a module:function in the study file run.")
]


def confirm_quote(yes: bool) -> "Callable[[Quote, str], None]":
    """Return what shows the quote of a run on paid hardware, and asks."""

    def confirm(quote: "Quote", device: str) -> None:
        ask_to_spend(describe_quote(quote), device, yes)

    return confirm


def describe_quote(quote: "Quote") -> str:
    """Return all that a quote comes to, in a sentence."""
    cost = ""
    if quote.total_cost is not None:
        cost = f", {quote.total_cost:,.2f} {quote.currency}".rstrip()
    parts = "".join(f", {part.shots:,} for {part.name}" for part in quote.parts)
    return (
        f"at most {quote.total_shots:,} shots ({quote.shots:,} for training{parts}) in "
        f"{quote.total_jobs:,} jobs, about {duration(quote.total_qpu_seconds)} of QPU time{cost}"
    )


def ask_to_spend(words: str, device: str, yes: bool) -> None:
    """Say what would be spent on a device, and go on only if the user agrees."""
    Console(stderr=True).print(
        f"{inert(device)}: {words}.", highlight=False, markup=False, soft_wrap=True
    )
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(
            f"shots on {inert(device)} may cost money, and nobody is there to ask; add --yes to "
            "spend them, or --dry-run to see the quote. Nothing was submitted."
        )
    if not typer.confirm("Spend it?", err=True):
        raise InputError("declined; nothing was submitted.")
