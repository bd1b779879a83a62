"""The ledger of one run: an append-only log in SQLite, written before anything relies on it.

Entries form a chain: each holds a digest of its own content and of the entry before, so that
damage is noticed on reading and never taken for a measurement.
"""

import hashlib
import json
import os
import sqlite3
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from filelock import FileLock, Timeout

from aqka._util.arrays import MAX_UNPACKED_BYTES, IntArray
from aqka._util.files import sync
from aqka._util.text import inert
from aqka.errors import LedgerError
from aqka.runs import head as heads

LEDGER_NAME = "ledger.sqlite"  # in a run's directory
SCHEMA_VERSION = 1
APPLICATION_ID = 0x41514B41  # "AQKA", so that another program's database is not taken for ours
# What JSON, zlib and NumPy raise on content that no ledger of ours has.
UNREADABLE = (
    *(ValueError, KeyError, TypeError, AttributeError, zlib.error),
    *(OverflowError, RecursionError, MemoryError),
)

SCHEMA = f"""
CREATE TABLE entries (
    number INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    round INTEGER,
    body TEXT NOT NULL,
    arrays BLOB NOT NULL,
    digest BLOB NOT NULL
);
CREATE UNIQUE INDEX once ON entries (kind, round) WHERE round IS NOT NULL;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
"""


@dataclass(frozen=True, eq=False)
class Entry:
    """One line of the ledger."""

    number: int  # from 1
    at: float  # seconds since 1970, UTC
    kind: str  # what happened: started, planned, submitted, collected, failed, ...
    round: int | None  # each kind stands at most once for a round
    body: dict[str, Any]  # small facts, as JSON
    arrays: dict[str, IntArray]  # counts, by name


class Ledger:
    """An open ledger: ``append`` and ``read``.

    Parameters
    ----------
    path
        The SQLite file. A writer makes it where there is none.
    write
        Whether to append. One process can write at a time; the lock dies with its process.
        Readers never wait for the writer, nor the writer for them.
    """

    def __init__(self, path: Path, *, write: bool = False) -> None:
        self.path = path
        self._lock = _hold_lock(path) if write else None
        try:
            self._connection = self._connect(write)
        except BaseException:
            self._release()
            raise
        self._last: bytes | None = None  # digest of the last entry, once the chain is checked
        self._count = 0

    def append(
        self,
        kind: str,
        *,
        round: int | None = None,
        body: Mapping[str, Any] | None = None,
        **arrays: IntArray,
    ) -> Entry:
        """Write one entry and return it; when this returns it is on the disk."""
        if self._last is None:
            self.read()
        assert self._last is not None
        # Unknown until the entry stands: Ctrl-C may come right after it was written, and the
        # next entry must then follow what the file says.
        last, self._last = self._last, None
        layout = [[name, int(array.size)] for name, array in arrays.items()]
        text = json.dumps({**(body or {}), "_arrays": layout}, sort_keys=True)
        joined = b"".join(array.astype("<i8").tobytes() for array in arrays.values())
        packed = zlib.compress(joined, 1)
        with self._clear_errors("write to"):
            number, at = self._count + 1, time.time()
            digest = _digest(last, number, at, kind, round, text, packed)
            head = heads.Head(number, digest, last)
            heads.write_head(self.path, head)
            self._connection.execute(
                "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)",
                (number, at, kind, round, text, packed, digest),
            )
        with suppress(OSError):  # the entry is no less written
            heads.write_head(self.path, replace(head, confirmed=True))
        self._last, self._count = digest, number
        return Entry(number, at, kind, round, dict(body or {}), arrays)

    def read(self) -> list[Entry]:
        """Return all entries in order, each checked against its digest."""
        return list(self.entries())

    def entries(self) -> Iterator[Entry]:
        """Yield the entries in order, each checked against its digest, holding one at a time."""
        last, position, known = heads.GENESIS, 0, heads.KnownHead(self.path)
        with self._clear_errors("read"):
            rows = self._connection.execute(
                "SELECT number, at, kind, round, body, arrays, digest FROM entries ORDER BY number"
            )
            for position, (number, at, kind, round, text, packed, digest) in enumerate(rows, 1):
                expected = _digest(last, number, at, kind, round, text, packed)
                if number != position or digest != expected:
                    raise LedgerError(
                        f"{self.path} is damaged at entry {position}: its content does not match "
                        "its digest. Restore the file from a copy."
                    )
                body = json.loads(text)
                arrays = _unpack(packed, body.pop("_arrays"))
                # SQLite keeps any type in any column, and a digest vouches for whatever it is of.
                if not (isinstance(at, float) and isinstance(kind, str)):
                    raise TypeError(f"entry {position} has no time or no kind")
                if not isinstance(round, int | None):
                    raise TypeError(f"entry {position} has a round that is not a number")
                known.pass_entry(position, digest)
                yield Entry(number, at, kind, round, body, arrays)
                last = digest
        known.check_end(position)
        self._last, self._count = last, position

    def end(self) -> str:
        """Return how many entries there are and the digest of the last, all of them checked."""
        if self._last is None:
            self.read()
        assert self._last is not None
        return f"{self._count}:{self._last.hex()}"

    def follow(self, end: str) -> bool:
        """Go on after an end that was just checked, without reading it all again; False: it moved.

        Nobody else may write meanwhile: it is for those who hold the run.
        """
        with self._clear_errors("read"):
            found = self._connection.execute(
                "SELECT number, digest FROM entries ORDER BY number DESC LIMIT 1"
            ).fetchone()
        count, last = found or (0, heads.GENESIS)
        if end != (f"{count}:{last.hex()}" if found else ""):
            return False
        self._count, self._last = count, last
        return True

    def close(self) -> None:
        """Fold the write-ahead file into the ledger and let others write."""
        if self._lock is not None:
            # Readers keep SQLite from doing it by itself; an entry is no less durable if it fails.
            with suppress(sqlite3.Error):
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.close()
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def _connect(self, write: bool) -> sqlite3.Connection:
        with self._clear_errors("open"):
            if write:
                if not is_there(self.path):
                    _make_database(self.path)
                if heads.read_head(self.path) is None:
                    heads.make_head(self.path)
            elif not is_there(self.path):
                raise LedgerError(f"{self.path} does not exist or is empty; there is no run here.")
            mode = "rw" if write else "ro"
            # Where nothing can be written SQLite cannot make its side files, nor is there a
            # writer to share them with.
            wal = self.path.with_name(f"{self.path.name}-wal")
            if not write and not os.access(self.path.parent, os.W_OK) and not wal.exists():
                mode = "ro&immutable=1"
            connection = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None
            )
            connection.execute("PRAGMA trusted_schema = OFF")
            self._check_version(connection)
            if write:
                connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _check_version(self, connection: sqlite3.Connection) -> None:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        # A view could compute forever before its first row.
        kind = connection.execute("SELECT type FROM sqlite_master WHERE name = 'entries'")
        if application != APPLICATION_ID or kind.fetchone() != ("table",):
            raise LedgerError(f"{self.path} is a database of another program, not a ledger.")
        if version != SCHEMA_VERSION:
            raise LedgerError(
                f"{self.path} has schema version {version}, this aqka knows {SCHEMA_VERSION}; "
                "open it with the aqka that wrote it."
            )

    @contextmanager
    def _clear_errors(self, doing: str) -> Iterator[None]:
        """Turn what SQLite, JSON and zlib say of a bad file into one clear error."""
        try:
            yield
        except sqlite3.IntegrityError as error:
            raise LedgerError(
                f"{self.path} already holds this entry; a round is planned, submitted and "
                "collected once."
            ) from error
        except sqlite3.Error as error:
            full = "full" in str(error) or "I/O" in str(error)
            remedy = "free some space and resume" if full else "restore the file from a copy"
            raise LedgerError(
                f"cannot {doing} {self.path}: {inert(error, 200)}; {remedy}."
            ) from error
        except OSError as error:  # of the head's file
            raise LedgerError(
                f"cannot {doing} {self.path}: {error.strerror}; free some space and resume."
            ) from error
        except UNREADABLE as error:
            raise LedgerError(
                f"{self.path} is damaged: {inert(error, 200)}. Restore the file from a copy."
            ) from error


def is_there(path: Path) -> bool:
    """Return whether there is a ledger; refuse one that was lost.

    A file that has no entry yet is a run that has not begun, whatever else there is of it.
    """

    def has_content() -> bool:
        return path.exists() and path.stat().st_size > 0

    if has_content():
        return True
    head = heads.read_head(path)
    if head is not None and head.certain and not has_content():  # nobody made it meanwhile
        raise LedgerError(heads.lost_end(path, 0, head))
    return has_content()


def _make_database(path: Path) -> None:
    """Make a ledger without an entry, complete or not at all; only the lock's holder may."""
    draft = path.with_suffix(".draft")
    for suffix in ("", "-journal", "-wal", "-shm"):  # a process may have died right here
        draft.with_name(draft.name + suffix).unlink(missing_ok=True)
    with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(f"BEGIN; {SCHEMA} COMMIT;")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    sync(draft)
    os.replace(draft, path)
    sync(path.parent)


def _hold_lock(path: Path) -> FileLock:
    """Return the writer's lock, held by this process until it ends, however it ends."""
    lock = FileLock(path.with_suffix(".lock"), timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise LedgerError(
            f"another process is writing to {path}; wait for it to end, or stop it."
        ) from error
    except OSError as error:
        raise LedgerError(f"cannot write in {path.parent}: {error.strerror}.") from error
    return lock


def _digest(
    last: bytes, number: int, at: float, kind: str, round: int | None, text: str, packed: bytes
) -> bytes:
    head = json.dumps([number, at, kind, round, text, len(packed)]).encode()
    return hashlib.sha256(last + head + packed).digest()


def _unpack(packed: bytes, layout: list[list[Any]]) -> dict[str, IntArray]:
    """Return the arrays, and refuse a blob that would unpack to more than it declares."""
    sizes = [int(size) for _, size in layout]
    expected = 8 * sum(sizes)
    if min(sizes, default=0) < 0 or expected > MAX_UNPACKED_BYTES:
        raise ValueError(f"an entry declares {expected} bytes of counts")
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(packed, expected + 1)
    if len(data) != expected:
        raise ValueError("an entry's counts do not have their declared length")
    arrays, start = {}, 0
    for name, size in layout:
        arrays[str(name)] = np.frombuffer(data, "<i8", int(size), start).astype(np.int64)
        start += 8 * int(size)
    return arrays


def ledger_path(path: str | Path) -> Path:
    """Return the ledger's file, given it or the run's directory."""
    file = Path(path)
    try:
        file = file / LEDGER_NAME if file.is_dir() else file
        is_there = file.is_file()  # nothing else: to open a pipe would wait forever
    except (OSError, ValueError) as error:
        raise LedgerError(f"cannot open {inert(path, 300)}: {error}; name another path.") from error
    if not is_there:
        raise LedgerError(
            f"{inert(file, 300)} is not a file, so there is no run here; give the directory of a "
            f"run, or its {LEDGER_NAME}."
        )
    return file
