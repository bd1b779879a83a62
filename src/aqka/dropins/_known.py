"""What a shot kernel knows, and what it has to buy for the rest."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray
from aqka.dropins._requests import MoreRequest, Request


class Known(ABC):
    """The entries of a kernel that are known; one class for each design.

    Points are known by their coordinates. An entry is the same in either order, and a point with
    itself reads 1.
    """

    thing: ClassVar[str]
    """What shots are spent on: a pair or a point."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    def numbers(self, points: FloatArray) -> IntArray:
        """Return a number for each row, the same for equal rows."""
        rows = np.ascontiguousarray(points + 0.0)  # -0.0 and 0.0 are one number, but two bytes
        names = self._numbers
        return np.array([names.setdefault(row.tobytes(), len(names)) for row in rows])

    @abstractmethod
    def entries(self, rows: FloatArray, cols: FloatArray) -> FloatArray:
        """Return a kernel, with NaN for what is unknown."""

    @abstractmethod
    def is_new(self, points: FloatArray) -> bool:
        """Return whether nothing of the kernel of some points has been measured."""

    @abstractmethod
    def training(self, points: FloatArray, labels: NDArray[Any] | None) -> Request:
        """Return the request for the training kernel."""

    @abstractmethod
    def missing(self, rows: FloatArray, cols: FloatArray, shots: int) -> MoreRequest:
        """Return the request for what is unknown, each with the same shots."""

    def check(self, request: Request, session: Any) -> None:  # noqa: B027
        """Refuse what could not be read once it is measured, before it is."""

    @abstractmethod
    def take(self, request: Request, session: Any) -> None:
        """Take up what the finished session of a request has measured."""
