"""Files: bounded reads of what somebody else named, and one atomic write."""

import hashlib
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from aqka._util.text import inert
from aqka.errors import InputError, LedgerError

LOCK_LIST = Path("/proc/locks")
OLD_SECONDS = 3600.0  # a file is written within seconds


def inside(base: Path, name: str, what: str) -> Path:
    """Return the path of ``name`` in ``base``, refusing one that leads out of it.

    >>> inside(Path("."), "../secret.csv", "data.source")
    Traceback (most recent call last):
    aqka.errors.InputError: data.source '../secret.csv' leads out of the study file's directory...
    """
    path, is_plain = base / name, ".." not in Path(name).parts
    try:
        # Symbolic links are followed to their end before it is decided where that is.
        is_inside = is_plain and path.resolve().is_relative_to(base.resolve())
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"{what} {inert(name)!r} is not a usable path: {inert(error)}.") from None
    if is_inside and not Path(name).is_absolute():
        return path
    raise InputError(
        f"{what} {inert(name)!r} leads out of the study file's directory; put the file beside the "
        "study file and name it without '..' and without a leading '/'."
    )


def check_file(path: Path, limit: int, what: str) -> int:
    """Return the size of a regular file; refuse anything else, and a file over the limit."""
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a usable path"
        raise InputError(f"{what} {inert(path, 300)} cannot be read: {reason}.") from None
    if not stat.S_ISREG(status.st_mode):  # reading a pipe or a device may never end
        raise InputError(f"{what} {inert(path, 300)} is not a regular file.")
    if status.st_size > limit:
        raise InputError(
            f"{what} {inert(path, 300)} has {status.st_size:,} bytes; the most is {limit:,}."
        )
    return status.st_size


def read_bytes(path: Path, limit: int, what: str) -> bytes:
    """Return the content of a regular file of at most ``limit`` bytes."""
    check_file(path, limit, what)
    try:
        with path.open("rb") as stream:
            return stream.read(limit)
    except OSError as error:
        raise InputError(f"{what} {inert(path, 300)} cannot be read: {error.strerror}.") from None


def read_text(path: Path, limit: int, what: str) -> str:
    """Return the content of a UTF-8 file of at most ``limit`` bytes."""
    try:
        return read_bytes(path, limit, what).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{what} {inert(path, 300)} is not UTF-8 text (byte {error.start}); save it as UTF-8."
        ) from None


@contextmanager
def explained(
    words: str, remedy: str = "", kind: type[InputError | LedgerError] = InputError
) -> Iterator[None]:
    """Raise an error of the operating system as one of ours: what failed, why, what to do."""
    try:
        yield
    except OSError as error:
        raise kind(f"{words}: {error.strerror}{remedy}.") from None


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that at every instant the old or the new content is there, complete."""
    with open_atomically(path) as stream:
        stream.write(content)


@contextmanager
def open_atomically(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes the place of ``path`` when the block ends well.

    At every instant the old or the new content is there, complete.
    """
    prefix = f".aqka-draft-{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]}-"
    _remove_old_drafts(path.parent, prefix)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=prefix)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            os.fchmod(stream.fileno(), 0o644)  # as the ledger beside it
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync(path.parent)


def _remove_old_drafts(directory: Path, prefix: str) -> None:
    """Remove the drafts that killed writers left, once they are too old to be in use."""
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.startswith(prefix):
                with suppress(OSError):
                    if time.time() - entry.stat(follow_symlinks=False).st_mtime > OLD_SECONDS:
                        os.unlink(entry.path)


def sync(path: Path) -> None:
    """Write a file to the disk, or in a directory what was renamed."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def any_locked(paths: Iterable[Path]) -> bool | None:
    """Return whether a process holds a lock on one of the files; None where it is not known.

    The kernel's list is read: to try a lock could make a process fail that takes it now.
    """
    try:
        held = set(LOCK_LIST.read_text().split())
        status = [path.stat() for path in paths if path.exists()]
    except OSError:
        return None
    devices = [(os.major(one.st_dev), os.minor(one.st_dev), one.st_ino) for one in status]
    return any(f"{major:02x}:{minor:02x}:{inode}" in held for major, minor, inode in devices)


def as_json(value: Any) -> bytes:
    """Return JSON that every reader takes, NaN written as null."""
    return json.dumps(_finite(value), indent=2, ensure_ascii=True, allow_nan=False).encode() + b"\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value
