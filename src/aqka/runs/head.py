"""The head of a ledger's chain, kept in a file of its own and written before each entry.

A chain of digests shows that nothing in it was changed, but not that its end is missing: SQLite
drops whatever follows a damaged frame of its write-ahead file, and says nothing. The head says how
many entries there must be and what the last one's digest is. Once the entry stands the head is
confirmed, so that an entry which a crash kept from being written differs from one that was lost.
"""

import errno
import hashlib
import os
import struct
from dataclasses import dataclass, replace
from pathlib import Path

from aqka._util.files import write_atomically
from aqka.errors import LedgerError

MAGIC = b"AQKAHEAD"
LAYOUT = struct.Struct(">8sQ32s32s")
SLOT_BYTES = LAYOUT.size + 32  # with the digest of the rest


@dataclass(frozen=True)
class Head:
    """How far a chain goes."""

    entries: int  # number of the one that was written last, or was about to be written
    digest: bytes
    previous: bytes  # digest of the entry before
    confirmed: bool = False  # whether the entry is known to have been written

    @property
    def certain(self) -> int:
        """Entries that must be there: only the last may have been kept from being written."""
        return self.entries if self.confirmed else max(0, self.entries - 1)

    def pack(self) -> bytes:
        """Return the bytes of a slot."""
        content = LAYOUT.pack(MAGIC, self.entries, self.digest, self.previous)
        return content + hashlib.sha256(content).digest()

    @classmethod
    def unpack(cls, slot: bytes) -> "Head | None":
        """Return the head in a slot; None where a write was torn or the bytes are damaged."""
        content, check = slot[: LAYOUT.size], slot[LAYOUT.size :]
        if len(slot) != SLOT_BYTES or hashlib.sha256(content).digest() != check:
            return None
        magic, entries, digest, previous = LAYOUT.unpack(content)
        return cls(entries, digest, previous) if magic == MAGIC else None


GENESIS = b"\0" * 32  # what the first entry has for the digest of the one before
NO_ENTRY = Head(0, GENESIS, GENESIS)


def head_path(ledger: Path) -> Path:
    """Return where the head of a ledger is kept."""
    return ledger.with_suffix(".head")


def make_head(ledger: Path) -> None:
    """Make the head of a ledger without an entry, complete or not at all."""
    write_atomically(head_path(ledger), NO_ENTRY.pack())


def write_head(ledger: Path, head: Head) -> None:
    """Write a head over the one before the last; when this returns it is on the disk.

    Two slots take turns, so that a write which a power cut or a full disk tears leaves the other.
    That an entry stands is said in a third, which nothing else relies on; it need not reach the
    disk: after a power cut without it the last entry may be missing.
    """
    handle = os.open(head_path(ledger), os.O_RDWR | os.O_CLOEXEC)
    try:
        slot, place = head.pack(), 2 if head.confirmed else head.entries % 2
        if os.pwrite(handle, slot, SLOT_BYTES * place) != len(slot):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if not head.confirmed:
            os.fsync(handle)
    finally:
        os.close(handle)


def read_head(ledger: Path) -> Head | None:
    """Return the newest head of a ledger; None where there is no such file, or an empty one."""
    try:
        with head_path(ledger).open("rb") as stream:
            content = stream.read(3 * SLOT_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerError(f"cannot read {head_path(ledger)}: {error.strerror}.") from error
    if not content:
        return None
    slots = (Head.unpack(content[k : k + SLOT_BYTES]) for k in (0, SLOT_BYTES))
    found = [head for head in slots if head is not None]
    if not found:
        raise LedgerError(
            f"{head_path(ledger)} is damaged, so the ledger beside it cannot be verified. "
            "Restore both from a copy."
        )
    newest = max(found, key=lambda head: head.entries)
    return replace(newest, confirmed=Head.unpack(content[2 * SLOT_BYTES :]) == newest)


class KnownHead:
    """Compares entries, as they are read, with what the head says there must be."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._head = read_head(path)  # before the entries: a writer may append while they are read

    def pass_entry(self, position: int, digest: bytes) -> None:
        """Refuse an entry that is not the head's, where the head knows it."""
        head = self._head
        if head is None:
            return
        expected = {head.entries: head.digest, head.entries - 1: head.previous}.get(position)
        # The entry that was about to be written when a process died is written anew, and differs.
        superseded = position == head.entries and read_head(self._path) != head
        if expected is not None and digest != expected and not superseded:
            raise LedgerError(
                f"{self._path} is not the ledger that its head belongs to: entry {position} "
                "differs. Restore both from a copy."
            )

    def check_end(self, count: int) -> None:
        """Refuse a ledger that ends before its head says, or beyond it."""
        head, now = self._head, read_head(self._path)
        # An entry is written after its head, so one may be missing, and that only if the process
        # died in between: what it would have said is asked for again.
        if head is not None and count < head.certain:
            raise LedgerError(lost_end(self._path, count, head))
        if count and (now is None or now.entries < count):
            raise LedgerError(
                f"{head_path(self._path)} is missing or older than the ledger of {count} entries "
                "beside it. Restore both from a copy."
            )


def lost_end(path: Path, count: int, head: Head) -> str:
    """Return what to say of a ledger that ends before its head says."""
    return (
        f"{path} holds {count} of {head.entries} entries: its end is lost, with shots that were "
        f"paid for. Restore it, and {path.name}-wal beside it, from a copy; nothing was bought "
        "again."
    )
