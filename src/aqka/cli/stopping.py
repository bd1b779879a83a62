"""How a command ends that did not come to its end: its exit code, and how to go on."""

import errno
import os
import shlex
import signal
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

import typer
from filelock import Timeout

from aqka._util.text import inert, without_secrets
from aqka.errors import CancelledError, CeilingError, JobError, TransientError

BAD_INPUT = 2
"""Exit code of a command whose input cannot be used."""
INTERRUPTED, FAILED = 3, 4
"""Exit codes of a run that stopped and can be resumed: by the user, or for its backend."""
BUSY, DISK_FULL = 5, 6
"""Exit codes where another process is at work on the same files, and where they do not fit."""
CEILING_REACHED = 7
"""Exit code of a run that stopped because its next round does not fit under the ceiling."""
FULL_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


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
    """Turn a stop by the user or the backend into its exit code, and say how to go on."""
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
            # Nobody is there to read, and writing to a closed terminal fails.
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
        typer.echo(f"{reason}; go on with: {again}", err=True)
    else:
        typer.echo(f"{reason}; nothing was spent or written", err=True)
    raise typer.Exit(code)
