"""What a shot kernel was asked to measure, and the folder that remembers it.

A request is written before its first shot. Its folder then holds the points, which a ledger does
not, and the ledger; so any process can finish it, and knows what has been measured.
"""

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aqka._util.arrays import FloatArray, IntArray, as_array
from aqka._util.files import open_atomically
from aqka.allocators import Allocator
from aqka.allocators.auto import Auto
from aqka.allocators.uniform import Uniform
from aqka.core.problem import Problem, as_targets
from aqka.dropins._even_pairs import EvenPairs
from aqka.errors import InputError, LedgerError
from aqka.estimates.pairs import estimate_kernel
from aqka.sessions.acquisition import Acquisition
from aqka.sessions.chosen_allocator import chosen_allocator

FILE_NAME = "request.npz"


class Settings(NamedTuple):
    """What the session of a training kernel depends on besides its points and labels."""

    budget: int
    allocator: str | Allocator | None
    seed: int


class Values(NamedTuple):
    """Kernel values of pairs, each named by a row and a column of its request."""

    row_index: IntArray
    col_index: IntArray
    values: FloatArray


def labels_as_numbers(y: ArrayLike) -> NDArray[Any]:
    """Return checked labels as numbers, which a file can hold whatever they are."""
    as_targets(y)
    labels = as_array(y, "y")
    return labels if labels.dtype.kind in "iuf" else np.unique(labels, return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class TrainingRequest:
    """The kernel of points with themselves, under a budget.

    ``labels`` are the points' own, or None: then the shots are even.
    """

    points: FloatArray
    labels: NDArray[Any] | None
    kind: ClassVar[str] = "training"
    columns: ClassVar[None] = None

    @property
    def rows(self) -> FloatArray:
        """The different points: those that stand for others like them."""
        return np.asarray(self.points[self._first()])

    def _first(self) -> IntArray:
        return np.sort(np.unique(self.points, axis=0, return_index=True)[1])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what the folder keeps."""
        return {"points": self.points} | ({} if self.labels is None else {"labels": self.labels})

    def session(self, settings: Settings, folder: Path | None) -> Acquisition:
        """Return a new session, for a run in the folder if it was begun."""
        allocator = chosen_allocator(settings.allocator, folder)
        if self.labels is None:
            # A problem has labels; even shots do not look at them.
            problem = Problem(np.where(np.arange(len(self.rows)) % 2, 1.0, -1.0))
            allocator = _even_allocator(allocator)
        else:
            problem = Problem(self.labels[self._first()])
        return Acquisition(problem, settings.budget, allocator, seed=settings.seed)

    def values(self, session: Acquisition) -> Values:
        """Return the kernel as measured; a pair without shots as the problem reads it."""
        kernel = estimate_kernel(session.table, session.problem, session.landmarks)
        row_index, col_index = np.triu_indices(len(kernel), k=1)
        return Values(row_index, col_index, kernel[row_index, col_index])


@dataclass(frozen=True, eq=False)
class PairsRequest:
    """Some pairs between rows and columns, each with the same shots."""

    rows: FloatArray
    columns: FloatArray
    row_index: IntArray
    col_index: IntArray
    shots: int
    kind: ClassVar[str] = "pairs"

    @property
    def total(self) -> int:
        """All shots of the request."""
        return self.shots * len(self.row_index)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what the folder keeps."""
        index = np.stack([self.row_index, self.col_index])
        return {
            "rows": self.rows,
            "columns": self.columns,
            "index": index,
            "shots": np.array(self.shots),
        }

    def session(self, settings: Settings, folder: Path | None) -> EvenPairs:
        """Return a new session."""
        return EvenPairs(self)

    def values(self, session: EvenPairs) -> Values:
        """Return hits / shots (Eq. 4) of the pairs that have shots: some may have lost theirs."""
        seen = session.shots > 0
        values = session.hits[seen] / session.shots[seen]
        return Values(self.row_index[seen], self.col_index[seen], values)


Request = TrainingRequest | PairsRequest


def _even_allocator(allocator: Allocator) -> Allocator:
    """Return even shots, which are all there is without labels; refuse what needs some."""
    if isinstance(allocator, Auto):
        return Uniform()
    if not isinstance(allocator, Uniform):
        raise InputError(
            f"allocator {type(allocator).__name__} is steered by labels and there are none: pass "
            "y=… (or call prepare(X, y)), or leave the allocator out for even shots."
        )
    return allocator


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


def load(folder: Path) -> Request | None:
    """Return the request of a folder; None if a process died before it was written."""
    path = folder / FILE_NAME
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as held:
            if "columns" not in held:
                return TrainingRequest(held["points"], held.get("labels"))
            rows, cols = held["index"]
            return PairsRequest(held["rows"], held["columns"], rows, cols, int(held["shots"]))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise LedgerError(f"{path} is damaged: {error}. Restore it from a copy.") from error
