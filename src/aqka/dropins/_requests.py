"""What a shot kernel was asked to measure."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aqka._util.arrays import FloatArray, IntArray, as_array
from aqka.backends import Backend
from aqka.core.problem import Problem, as_targets
from aqka.errors import InputError
from aqka.sessions.point_contract import PointKernel


class Settings(NamedTuple):
    """What the session of a training kernel depends on besides its points and labels."""

    budget: int
    allocator: Any
    seed: int
    point_kernel: str | PointKernel | None = None


def labels_as_numbers(y: ArrayLike) -> NDArray[Any]:
    """Return checked labels as numbers, which a file can hold whatever they are."""
    as_targets(y)
    labels = as_array(y, "y")
    return labels if labels.dtype.kind in "iuf" else np.unique(labels, return_inverse=True)[1]


class Request(ABC):
    """Shots on pairs or points, with all that another process needs to finish them."""

    kind: ClassVar[str]
    """What its folder is called."""
    thing: ClassVar[str]
    """What it asks for: a pair or a point."""
    rows: FloatArray
    columns: FloatArray | None

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what the folder keeps."""

    @classmethod
    @abstractmethod
    def of_arrays(cls, held: Mapping[str, Any]) -> Self:
        """Return the request that a folder keeps."""

    @abstractmethod
    def session(self, settings: Settings, backend: Backend) -> Any:
        """Return a new session."""


class MoreRequest(Request):
    """Whatever is asked for besides the training kernel."""

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
class TrainingRequest(Request):
    """The kernel of points with themselves, under a budget.

    ``labels`` are the points' own, or None: then the shots are even.
    """

    points: FloatArray
    labels: NDArray[Any] | None
    columns: ClassVar[None] = None  # type: ignore[misc]

    @property
    def rows(self) -> FloatArray:  # type: ignore[override]
        """The different points: those that stand for others like them."""
        return np.asarray(self.points[self._first()])

    def _first(self) -> IntArray:
        return np.sort(np.unique(self.points, axis=0, return_index=True)[1])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what the folder keeps."""
        return {"points": self.points} | ({} if self.labels is None else {"labels": self.labels})

    @classmethod
    def of_arrays(cls, held: Mapping[str, Any]) -> Self:
        """Return the request that a folder keeps."""
        return cls(held["points"], held.get("labels"))

    def problem(self) -> Problem:
        """Return the problem of the different points."""
        if self.labels is None:
            # A problem has labels; even shots do not look at them.
            return Problem(np.where(np.arange(len(self.rows)) % 2, 1.0, -1.0))
        return Problem(self.labels[self._first()])


def needs_labels(allocator: object) -> InputError:
    """Return the refusal of an allocator that looks at labels, where there are none."""
    return InputError(
        f"allocator {type(allocator).__name__} is steered by labels and there are none: pass "
        "y=… (or call prepare(X, y)), or leave the allocator out for even shots."
    )
