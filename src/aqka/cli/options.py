"""What several commands share: options, and the question before money is spent."""

import shlex
import sys
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from aqka._util.text import counted, inert
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


def make_table(
    title: str | None,
    headings: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    left: Container[str] = (),
    header: bool = True,
    compact: bool = False,
) -> Table:
    """Return a table whose first column, and those named ``left``, hold words, the others figures.

    Nothing in it is taken for markup, and cells wrap where the terminal is too narrow. A
    ``compact`` one has no lines between its columns.
    """
    table = Table(title=None if title is None else Text(title), show_header=header)
    if compact:
        table.box, table.padding = box.SIMPLE, (0, 0)
    for k, heading in enumerate(headings):
        is_word = k == 0 or heading in left
        table.add_column(Text(heading), justify="left" if is_word else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    return table


def say(words: str, *, err: bool = False) -> None:
    """Print a sentence as it is, on one line however long."""
    Console(stderr=err).print(words, highlight=False, markup=False, soft_wrap=True)


def quoted(path: Path) -> str:
    """Return a path as a shell takes it."""
    return shlex.quote(inert(path, 300))


def describe_part(part: "QuotePart", of_them: str = "") -> str:
    """Return what a part of a quote comes to, in a sentence."""
    from aqka.planning.budget import duration

    jobs = counted(part.jobs, "job")
    seconds = duration(part.qpu_seconds)
    return f"at most {part.shots:,} shots{of_them} in {jobs}, about {seconds} of QPU time"


def describe_quote(quote: "Quote") -> str:
    """Return all that a quote comes to, in a sentence."""
    parts = "".join(f", {part.shots:,} for {part.name}" for part in quote.parts)
    words = describe_part(quote.total, f" ({quote.shots:,} for training{parts})")
    if quote.total_cost is not None:
        words += f", {quote.total_cost:,.2f} {quote.currency}".rstrip()
    return words


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
