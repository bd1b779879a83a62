"""What several commands share: options, tables, the question before money is spent, exit codes."""

import errno
import os
import shlex
import signal
import sqlite3
import sys
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from filelock import Timeout
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from aqka._util.text import counted, inert, without_secrets
from aqka.errors import CancelledError, CeilingError, InputError, JobError, TransientError

if TYPE_CHECKING:
    from aqka.planning.quotes import Quote, QuotePart

StudyFile = Annotated[Path, typer.Argument(help="Study file, in TOML; see aqka init.")]
Run = Annotated[Path, typer.Argument(help="Directory of a run.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Yes = Annotated[bool, typer.Option("--yes", help="Spend on paid hardware without being asked.")]
AllowCode = Annotated[
    bool, typer.Option("--allow-code", help="Let a module:function in the study file run.")
]

# Exit codes: input that cannot be used; a run that stopped and can be resumed, by the user, for its
# backend or at its ceiling; files that another process is using, or that do not fit on the disk.
BAD_INPUT, INTERRUPTED, FAILED, CEILING_REACHED, BUSY, DISK_FULL = 2, 3, 4, 7, 5, 6
FULL_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


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
    """Say what would be spent on a device, and continue only if the user agrees."""
    say(f"{inert(device)}: {words}.", err=True)
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(
            f"shots on {inert(device)} may cost money, and there is no terminal to confirm on; "
            "add --yes to spend them. Nothing was submitted."
        )
    if not typer.confirm("Spend it?", err=True):
        raise InputError("declined; nothing was submitted.")


def this_command() -> str:
    """Return the command that was given, for a shell to take again."""
    return shlex.join(["aqka", *sys.argv[1:]])


def exit_code(error: BaseException) -> int:
    """Return the exit code for an error, by what it came from."""
    came_from: BaseException | None = error
    while came_from is not None:
        if isinstance(came_from, Timeout):
            return BUSY
        if _is_full_disk(came_from):
            return DISK_FULL
        # Also where it is hidden, because the message in our words says it all.
        came_from = came_from.__cause__ or came_from.__context__
    return BAD_INPUT


def _is_full_disk(error: BaseException) -> bool:
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest says which operation
        return code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
    return isinstance(error, OSError) and error.errno in FULL_DISK_ERRORS


@contextmanager
def leaving_resumable(directory: Path, again: str) -> Iterator[None]:
    """Turn a stop by the user or the backend into its exit code, and say how to continue."""
    try:
        with _stopped_by_signals():
            yield
    except KeyboardInterrupt:
        _leave(directory, "interrupted", INTERRUPTED, again)
    except CancelledError:
        _leave(directory, "cancelled", INTERRUPTED, again)
    except CeilingError as error:
        higher = f"{again} --ceiling AMOUNT"
        _leave(directory, inert(error, limit=None), CEILING_REACHED, higher)
    except (JobError, TransientError) as error:
        _leave(directory, inert(without_secrets(error), limit=None), FAILED, again)
    except Exception as error:
        if not type(error).__module__.startswith(("qiskit_ibm_runtime", "requests", "urllib3")):
            raise
        # Only the kind of error is shown: its text may repeat a token.
        _leave(directory, f"IBM's service refused ({type(error).__name__})", FAILED, again)


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Let a closed terminal and a polite kill stop a run as Ctrl-C does."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        if number == getattr(signal, "SIGHUP", None):
            # Nobody can read it any more, and writing to a closed terminal fails.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for stream in (sys.stdout, sys.stderr):
                os.dup2(nowhere, stream.fileno())
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in ("SIGHUP", "SIGTERM") if hasattr(signal, name)]
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(directory: Path, reason: str, code: int, again: str) -> NoReturn:
    if directory.exists():
        typer.echo(f"{reason}; to continue: {again}", err=True)
    else:
        typer.echo(f"{reason}; nothing was spent or written", err=True)
    raise typer.Exit(code)
