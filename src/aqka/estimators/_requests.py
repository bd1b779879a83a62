"""What a measured kernel has to buy, and the folder that remembers it.

A request is written before its first shot. Its folder then holds the points, which a ledger does
not, and the ledger; so any process can finish it, and knows what has been measured.
"""

import shutil
import zipfile
from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray, digest, text_digest
from aqka._util.files import open_atomically
from aqka.allocators.targets import raise_lowest
from aqka.backends import Backend
from aqka.core.pairs import BlockTable
from aqka.core.plans import Plan, ShotPlan
from aqka.core.point_plans import even_plan
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.designs import design_names
from aqka.designs.points import qubits_of
from aqka.errors import InputError, LedgerError
from aqka.estimators._source import Purchase
from aqka.planning.budget import as_budget
from aqka.runs.audit import begun_history
from aqka.runs.ledger import LEDGER_NAME
from aqka.runs.session import Session
from aqka.sessions import Training

FILE_NAME = "request.npz"


@dataclass(frozen=True, eq=False)
class Request:
    """Shots on pairs or points, with all that another process needs to finish them.

    Without ``shots`` it is the training kernel of different points, ``rows``, under the budget;
    without ``labels``, too, its shots are even. Else each unit has the same shots: the points of
    ``rows``, or the pairs of rows and ``columns`` that the two indices name. What a ``budget`` in
    time or money ``buys`` on the first day it buys on any other, whatever the device is then.
    """

    rows: FloatArray
    shots: int | None = None
    labels: NDArray[Any] | None = None
    columns: FloatArray | None = None
    row_index: IntArray | None = None
    col_index: IntArray | None = None
    budget: str | None = None
    buys: int | None = None

    @property
    def trains(self) -> bool:
        return self.shots is None

    @property
    def count(self) -> int:
        """How many pairs or points it asks for besides the training kernel."""
        return len(self.rows if self.row_index is None else self.row_index)

    @property
    def total(self) -> int:
        """All shots of a request besides the training kernel."""
        return (self.shots or 0) * self.count

    def session(self, purchase: Purchase, backend: Backend) -> Any:
        if self.trains:
            return self._training(purchase, backend)
        if self.columns is not None:
            return EvenPairs(self, self.columns)
        design = purchase.design
        steers = purchase.allocator.over(design.unit).steers
        # All points share the settings of the training points.
        return EvenPoints(self, design.settings_for(qubits_of(backend), purchase.seed, steers))

    def _training(self, purchase: Purchase, backend: Backend) -> Training:
        # A problem has labels; even shots do not look at them.
        even = np.where(np.arange(len(self.rows)) % 2, 1.0, -1.0)
        problem = Problem(even if self.labels is None else self.labels)
        design = purchase.design
        design.check_backend(backend, problem.n_points)
        shots = self.buys
        if shots is None or self.budget != str(as_budget(purchase.budget)):
            shots = purchase.quoted(self.rows, backend).shots + design.calibration_shots
        session = Training(
            problem,
            int(shots),
            purchase.allocator,
            seed=purchase.seed,
            design=design,
            n_qubits=backend.n_qubits,
        )
        session.reason = purchase.reason
        if self.labels is None and session.allocator.steers:
            raise InputError(
                f"allocator {type(session.allocator).__name__} is steered by labels and there are "
                "none: call fit(X, y), or leave the allocator out for even shots."
            )
        return session


class Even(Session[Plan]):
    """The shots of a request, the same for each unit; one round, and more only where some fail.

    What is done with the entries afterwards is not known here, so no unit can be preferred. Its
    tag names the points: two requests for as many of them must not draw the same noise.
    """

    def __init__(self, request: Request, table: Any, *units: Any) -> None:
        super().__init__(request.total)
        self.request, self.table = request, table
        self._units = np.array(units)  # where each pair or point stands in the table

    @abstractmethod
    def _plan(self, units: IntArray, shots: IntArray) -> Plan:
        """Return the plan that gives units these shots."""

    @property
    def shots_measured(self) -> int:
        return int(self.table.total)

    def _next_plan(self) -> Plan:
        # To those with fewest: shots that were run for nothing may leave too few for all.
        known = self.table.shots[tuple(self._units)].reshape(self.request.count, -1).sum(axis=1)
        added = raise_lowest(known, self.shots_left, np.random.default_rng(self.round))
        lacking = np.flatnonzero(added)
        return self._plan(self._units[:, lacking], added[lacking])

    def _take(self, planned: Plan, measured: Plan, answer: Any) -> None:
        self.table.add(measured, answer)

    def take_up(self, plan: Plan) -> None:
        """Accept a recorded plan, which can only be what is left."""
        if not plan.equals(self.ask()):
            raise InputError("the plan names other units or shots than the request has left.")
        super().take_up(plan)


class EvenPairs(Even):
    _tag_name = "aqka-pairs"

    def __init__(self, request: Request, columns: FloatArray) -> None:
        table = BlockTable(len(request.rows), len(columns))
        super().__init__(request, table, request.row_index, request.col_index)

    def _plan(self, units: IntArray, shots: IntArray) -> Plan:
        return ShotPlan(units[0], units[1], shots)

    def settings(self) -> dict[str, str]:
        return {
            "row_points": digest(self.request.rows),
            "col_points": digest(self.request.columns),  # type: ignore[arg-type]
            "pairs": text_digest(repr(self._units.tolist())),
            "budget": str(self.budget),
        }

    def extent(self) -> dict[str, str]:
        return self.table.extent()  # type: ignore[no-any-return]


class EvenPoints(Even):
    _tag_name = "aqka-even-points"

    def __init__(self, request: Request, letters: IntArray) -> None:
        n_points = len(request.rows)
        super().__init__(request, PointTable(n_points, letters), np.arange(n_points))

    def _plan(self, units: IntArray, shots: IntArray) -> Plan:
        return even_plan(units[0], self.table.settings, shots)

    def settings(self) -> dict[str, str]:
        return {
            "design": "points",
            "row_points": digest(self.request.rows),
            "pauli": digest(self.table.settings),
            "budget": str(self.budget),
        }

    def extent(self) -> dict[str, str]:
        return self.table.extent("new_points")  # type: ignore[no-any-return]


def folders(directory: Path) -> list[Path]:
    """Return the folders of requests, oldest first."""
    return sorted(directory.glob("[0-9]*-*"), key=lambda path: int(path.name.split("-")[0]))


def design_of(directory: Path | None) -> str | None:
    """Return the design of a directory's requests; None where it has none yet."""
    names = [folder.name.rsplit("-", 1)[-1] for folder in folders(directory)] if directory else []
    return next((name for name in names if name in design_names()), None)


def save(directory: Path, request: Request, design: str) -> Path:
    """Write a request into a new folder, on the disk when this returns."""
    present = folders(directory)
    number = int(present[-1].name.split("-")[0]) + 1 if present else 1
    folder = directory / f"{number:04d}-{'training' if request.trains else 'more'}-{design}"
    folder.mkdir()
    arrays: dict[str, Any] = {name: of for name, of in vars(request).items() if of is not None}
    with open_atomically(folder / FILE_NAME) as file:
        np.savez(file, **arrays)
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
    _, kind, measured = f"{folder.name}--".split("-")[:3]
    if kind not in ("training", "more") or measured != design:
        raise LedgerError(
            f"{folder} is no request of a kernel that measures {design}; make this one with "
            f"design='{measured}', rename the folder back, or name another directory."
        )
    try:
        with np.load(path, allow_pickle=False) as held:
            # A number is an array without dimensions.
            return Request(**{name: held[name][()] for name in held.files})
    except (OSError, ValueError, TypeError, zipfile.BadZipFile) as error:
        raise LedgerError(f"{path} is damaged: {error}. Restore it from a copy.") from error
