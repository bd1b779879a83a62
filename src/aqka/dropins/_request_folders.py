"""The folder that remembers a request.

A request is written before its first shot. Its folder then holds the points, which a ledger does
not, and the ledger; so any process can finish it, and knows what has been measured.
"""

import shutil
import zipfile
from pathlib import Path

import numpy as np

from aqka._util.files import open_atomically
from aqka.dropins._pair_requests import PairsRequest, PairsTraining
from aqka.dropins._point_requests import PointsRequest, PointsTraining
from aqka.dropins._requests import Request
from aqka.errors import LedgerError
from aqka.runs.audit import begun_history
from aqka.runs.ledger import LEDGER_NAME

FILE_NAME = "request.npz"
KINDS: dict[str, type[Request]] = {
    kind.kind: kind for kind in (PairsTraining, PairsRequest, PointsTraining, PointsRequest)
}


def folders(directory: Path) -> list[Path]:
    """Return the folders of requests, oldest first."""
    return sorted(directory.glob("[0-9]*-*"), key=lambda path: int(path.name.split("-")[0]))


def save(directory: Path, request: Request) -> Path:
    """Write a request into a new folder, on the disk when this returns."""
    present = folders(directory)
    number = int(present[-1].name.split("-")[0]) + 1 if present else 1
    folder = directory / f"{number:04d}-{request.kind}"
    folder.mkdir()
    with open_atomically(folder / FILE_NAME) as file:
        np.savez(file, **request.arrays())  # type: ignore[arg-type]
    return folder


def remove(folder: Path) -> None:
    """Remove a request and all of its folder, in one step as others see it."""
    gone = folder.with_name(f".{folder.name}")
    shutil.rmtree(gone, ignore_errors=True)  # a process may have died right here
    folder.rename(gone)
    shutil.rmtree(gone)


def load(folder: Path, thing: str) -> Request | None:
    """Return the request of a folder; None if a process died before it was written.

    Shots without their request are refused: they would be bought again.
    ``thing`` is what the kernel measures, a pair or a point: a directory is of one of them.
    """
    path = folder / FILE_NAME
    if not path.exists():
        if begun_history(folder / LEDGER_NAME) is not None:
            raise LedgerError(
                f"{folder} has shots that were paid for, but has lost its {FILE_NAME}, which says "
                "what they are of. Restore it from a copy; nothing was bought again."
            )
        return None
    kind = KINDS.get(folder.name.split("-", 1)[1])
    if kind is None:
        raise LedgerError(
            f"{folder} is no request of a kernel, which end in {', '.join(KINDS)}; rename it back, "
            "or name another directory."
        )
    if kind.thing != thing:
        raise LedgerError(
            f"{folder} is of a kernel that measures {kind.thing}s; make this one with "
            f"design='{kind.thing}s', or name another directory."
        )
    try:
        with np.load(path, allow_pickle=False) as held:
            return kind.of_arrays(held)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise LedgerError(f"{path} is damaged: {error}. Restore it from a copy.") from error
