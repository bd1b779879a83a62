"""Drafts: half-written files beside those whose place they take, which a kill may leave behind.

The name of a draft cannot be foreseen, so nobody can have put a link under it. Its writer holds a
lock on it that ends with the process, so that whoever writes the same file next can tell a draft
whose writer is dead from one that is being written, and remove it.
"""

import hashlib
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO


def open_draft(path: Path) -> tuple[IO[bytes], Path]:
    """Return a new draft of ``path``, open and locked, and its name."""
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=_prefix(path))
        # Before it was locked, another process may have taken it for a dead one's.
        if _lock(handle) is not False and _is_at(handle, name):
            return os.fdopen(handle, "wb"), Path(name)
        os.close(handle)


def remove_dead_drafts(path: Path) -> None:
    """Remove the drafts of ``path`` whose writers have ended."""
    prefix = _prefix(path)
    with suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            if entry.name.startswith(prefix):
                with suppress(OSError):
                    _remove_if_dead(entry.path)


def _prefix(path: Path) -> str:
    """Return what the names of a file's drafts begin with: short, however long its own is."""
    return f".aqka-draft-{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]}-"


def _remove_if_dead(name: str) -> None:
    handle = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if stat.S_ISREG(os.fstat(handle).st_mode) and _lock(handle) and _is_at(handle, name):
            os.unlink(name)
    finally:
        os.close(handle)


def _lock(handle: int) -> bool | None:
    """Return whether the lock could be had; None on a system that has none."""
    try:
        import fcntl  # there is none on Windows

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (OSError, ImportError):
        return None
    return True


def _is_at(handle: int, name: str) -> bool:
    """Return whether an open file is still the one of that name."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), os.stat(name, follow_symlinks=False))
    return False
