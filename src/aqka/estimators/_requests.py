"""What a measured kernel has to buy, and the folder that remembers it.

A request is written before its first shot. Its folder then holds the points, which a ledger does
not, and the ledger; so any process can finish it, and knows what has been measured.
"""

import shutil
import zipfile
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray, digest, rounded, text_digest
from aqka._util.files import open_atomically
from aqka.allocators.targets import raise_lowest
from aqka.backends import Backend
from aqka.core.blocks import BlockTable
from aqka.core.plans import Plan, ShotPlan
from aqka.core.point_plans import even_plan
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.designs import Design
from aqka.designs.points import qubits_of
from aqka.designs.resolve import resolve
from aqka.errors import InputError, LedgerError
from aqka.estimators._source import training_shots
from aqka.runs.audit import begun_history
from aqka.runs.ledger import LEDGER_NAME
from aqka.runs.session import Session
from aqka.sessions import Training

FILE_NAME = "request.npz"


class Settings(NamedTuple):
    """What sessions depend on besides points and labels."""

    budget: int | str | None
    allocator: Any
    seed: int
    design: Design
    reason: str = ""


class Request(ABC):
    """Shots on pairs or points, with all that another process needs to finish them."""

    rows: FloatArray
    columns: FloatArray | None

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what the folder keeps: each field that is not None."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {name: np.asarray(value) for name, value in values.items() if value is not None}

    @abstractmethod
    def session(self, settings: Settings, backend: Backend) -> Any:
        """Return a new session."""


@dataclass(frozen=True, eq=False)
class TrainingRequest(Request):
    """The kernel of points with themselves, under a budget.

    ``labels`` are the points' own, or None: then the shots are even.
    """

    points: FloatArray
    labels: NDArray[Any] | None = None
    columns: ClassVar[None] = None  # type: ignore[misc]

    @property
    def rows(self) -> FloatArray:  # type: ignore[override]
        """The different points: those that stand for others like them."""
        return np.asarray(self.points[self._first()])

    def _first(self) -> IntArray:
        return np.sort(np.unique(rounded(self.points), axis=0, return_index=True)[1])

    def problem(self) -> Problem:
        """Return the problem of the different points."""
        if self.labels is None:
            # A problem has labels; even shots do not look at them.
            return Problem(np.where(np.arange(len(self.rows)) % 2, 1.0, -1.0))
        return Problem(self.labels[self._first()])

    def session(self, settings: Settings, backend: Backend) -> Training:
        """Return a new session."""
        problem, design = self.problem(), settings.design
        design.check_backend(backend, problem.n_points)
        session = Training(
            problem,
            training_shots(settings.budget, problem.n_points, backend.n_qubits, design),
            settings.allocator,
            seed=settings.seed,
            design=design,
            n_qubits=backend.n_qubits,
        )
        session.reason = settings.reason
        if self.labels is None and session.allocator.steers:
            raise InputError(
                f"allocator {type(session.allocator).__name__} is steered by labels and there are "
                "none: call fit(X, y), or leave the allocator out for even shots."
            )
        return session


class MoreRequest(Request):
    """Whatever is asked for besides the training kernel, each with the same shots."""

    shots: int

    @property
    @abstractmethod
    def count(self) -> int:
        """How many pairs or points it asks for."""

    @property
    def total(self) -> int:
        """All shots of the request."""
        return self.shots * self.count


@dataclass(frozen=True, eq=False)
class PairsRequest(MoreRequest):
    """Some pairs between rows and columns, each with the same shots."""

    rows: FloatArray
    columns: FloatArray
    row_index: IntArray
    col_index: IntArray
    shots: int

    @property
    def count(self) -> int:
        """How many pairs it asks for."""
        return len(self.row_index)

    def session(self, settings: Settings, backend: Backend) -> "EvenPairs":
        """Return a new session."""
        return EvenPairs(self)


@dataclass(frozen=True, eq=False)
class PointsRequest(MoreRequest):
    """Some points, each with the same shots."""

    rows: FloatArray
    shots: int
    columns: ClassVar[None] = None  # type: ignore[misc]

    @property
    def count(self) -> int:
        """How many points it asks for."""
        return len(self.rows)

    def session(self, settings: Settings, backend: Backend) -> "EvenPoints":
        """Return a new session, in the settings that the training points have, too."""
        n_qubits = qubits_of(backend)
        design: Any = settings.design  # whose settings all points share
        steers = resolve(
            design, settings.allocator, n_points=2, n_qubits=n_qubits, budget=2
        ).allocator.steers
        return EvenPoints(self, design.settings_for(n_qubits, settings.seed, steers))


class Even(Session[Plan]):
    """The shots of a request, the same for each unit; one round, and more only where some fail.

    What is done with the entries afterwards is not known here, so no unit can be preferred. Its
    tag names the points: two requests for as many of them must not draw the same noise.
    """

    table: Any

    def __init__(self, request: MoreRequest) -> None:
        super().__init__(request.total)

    @property
    @abstractmethod
    def unit_shots(self) -> IntArray:
        """Shots of each pair or point that was asked for."""

    @abstractmethod
    def _plan(self, units: IntArray, shots: IntArray) -> Plan:
        """Return the plan that gives units these shots."""

    @property
    def shots_measured(self) -> int:
        """Shots that the units have."""
        return int(self.table.total)

    def _next_plan(self) -> Plan:
        # To those with fewest: shots that were run for nothing may leave too few for all.
        added = raise_lowest(self.unit_shots, self.shots_left, np.random.default_rng(self.round))
        asked = np.flatnonzero(added)
        return self._plan(asked, added[asked])

    def _take(self, planned: Plan, measured: Plan, answer: Any) -> None:
        self.table.add(measured, answer)

    def take_up(self, plan: Plan) -> None:
        """Accept a recorded plan, which can only be what is left."""
        if not plan.equals(self.ask()):
            raise InputError("the plan names other units or shots than the request has left.")
        super().take_up(plan)


class EvenPairs(Even):
    """The shots of a :class:`PairsRequest`."""

    def __init__(self, request: PairsRequest) -> None:
        super().__init__(request)
        self._request = request
        self.table = BlockTable(len(request.rows), len(request.columns))

    @property
    def unit_shots(self) -> IntArray:
        """Shots of each pair that was asked for."""
        return np.asarray(self.table.shots[self._request.row_index, self._request.col_index])

    def _plan(self, units: IntArray, shots: IntArray) -> ShotPlan:
        return ShotPlan(self._request.row_index[units], self._request.col_index[units], shots)

    @property
    def _tag_name(self) -> str:
        return "aqka-pairs"

    def settings(self) -> dict[str, str]:
        """Return all that a run depends on besides the backend, as texts."""
        request = self._request
        pairs = np.stack([request.row_index, request.col_index])
        return {
            "row_points": digest(request.rows),
            "col_points": digest(request.columns),
            "pairs": text_digest(repr(pairs.tolist())),
            "budget": str(request.total),
        }

    def extent(self) -> dict[str, str]:
        """Return the points that plans may name."""
        return {"rows": str(len(self._request.rows)), "cols": str(len(self._request.columns))}


class EvenPoints(Even):
    """The shots of a :class:`PointsRequest`."""

    def __init__(self, request: PointsRequest, letters: IntArray) -> None:
        super().__init__(request)
        self._points = request.rows
        self.table = PointTable(len(request.rows), letters)

    @property
    def unit_shots(self) -> IntArray:
        """Shots of each point."""
        return np.asarray(self.table.shots_per_point)

    def _plan(self, units: IntArray, shots: IntArray) -> Plan:
        return even_plan(units, self.table.settings, shots)

    @property
    def _tag_name(self) -> str:
        return "aqka-even-points"

    def settings(self) -> dict[str, str]:
        """Return all that a run depends on besides the backend, as texts."""
        return {
            "design": "points",
            "row_points": digest(self._points),
            "pauli": digest(self.table.settings),
            "budget": str(self.budget),
        }

    def extent(self) -> dict[str, str]:
        """Return which points and settings plans may name."""
        table = self.table
        return {
            "new_points": str(table.n_points),
            "settings": str(table.n_settings),
            "qubits": str(table.n_qubits),
        }


KINDS: dict[tuple[str, str], type[Request]] = {
    ("training", "pairs"): TrainingRequest,
    ("training", "points"): TrainingRequest,
    ("more", "pairs"): PairsRequest,
    ("more", "points"): PointsRequest,
}
"""By the two words that a folder's name ends in."""


def folders(directory: Path) -> list[Path]:
    """Return the folders of requests, oldest first."""
    return sorted(directory.glob("[0-9]*-*"), key=lambda path: int(path.name.split("-")[0]))


def design_of(directory: Path | None) -> str | None:
    """Return the design of a directory's requests; None where it has none yet."""
    names = [folder.name.rsplit("-", 1)[-1] for folder in folders(directory)] if directory else []
    return next((name for name in names if name in ("pairs", "points")), None)


def save(directory: Path, request: Request, design: str) -> Path:
    """Write a request into a new folder, on the disk when this returns."""
    present = folders(directory)
    number = int(present[-1].name.split("-")[0]) + 1 if present else 1
    what = "training" if isinstance(request, TrainingRequest) else "more"
    folder = directory / f"{number:04d}-{what}-{design}"
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


def load(folder: Path, design: str) -> Request | None:
    """Return the request of a folder; None if a process died before it was written."""
    path = folder / FILE_NAME
    if not path.exists():
        if begun_history(folder / LEDGER_NAME) is not None:
            raise LedgerError(
                f"{folder} has shots that were paid for, but has lost its {FILE_NAME}, which says "
                "what they are of. Restore it from a copy; nothing was bought again."
            )
        return None
    what, _, measured = folder.name.partition("-")[2].rpartition("-")
    kind = KINDS.get((what, measured))
    if kind is None:
        known = ", ".join("-".join(words) for words in KINDS)
        raise LedgerError(
            f"{folder} is no request of a kernel, whose names end in {known}; rename it back, or "
            "name another directory."
        )
    if measured != design:
        raise LedgerError(
            f"{folder} belongs to a kernel that measures {measured}; make this one with "
            f"design='{measured}', or name another directory."
        )
    try:
        with np.load(path, allow_pickle=False) as held:
            # A number is an array without dimensions.
            return kind(**{name: held[name][()] for name in held.files})
    except (OSError, ValueError, TypeError, zipfile.BadZipFile) as error:
        raise LedgerError(f"{path} is damaged: {error}. Restore it from a copy.") from error
