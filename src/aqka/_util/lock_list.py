"""Who holds a lock, told without touching it: the kernel's list, where there is one."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

LOCK_LIST = Path("/proc/locks")


def any_locked(paths: Iterable[Path]) -> bool | None:
    """Return whether a process holds a lock on one of the files; None where nobody can say.

    To try a lock could make a process fail that takes it at this moment.
    """
    try:
        held = set(LOCK_LIST.read_text().split())
        names = {name for path in paths if path.exists() for name in _listed_names(path)}
    except OSError:
        return None
    return bool(held & names)


def _listed_names(path: Path) -> set[str]:
    """Return what the list may call a file: device and inode, for inodes repeat on each device."""
    status = path.stat()
    devices = {(os.major(status.st_dev), os.minor(status.st_dev))}
    with suppress(OSError, ValueError, StopIteration):
        devices.add(_mounted_device(path))
    return {f"{major:02x}:{minor:02x}:{status.st_ino}" for major, minor in devices}


def _mounted_device(path: Path) -> tuple[int, int]:
    """Return the device of a file's mount.

    Some file systems, such as btrfs, tell stat() another one than the one they lock with.
    """
    handle = os.open(path, os.O_PATH | os.O_CLOEXEC)  # opens no file, so that no lock can break
    try:
        facts = Path(f"/proc/self/fdinfo/{handle}").read_text().split()
    finally:
        os.close(handle)
    mount = facts[facts.index("mnt_id:") + 1]
    mounts = (line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines())
    major, _, minor = next(fields[2] for fields in mounts if fields[0] == mount).partition(":")
    return int(major), int(minor)
