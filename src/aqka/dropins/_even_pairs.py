"""A session that measures given pairs, all with the same number of shots."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import IntArray, digest, text_digest
from aqka.core.plans import ShotPlan, checked_hits
from aqka.errors import InputError

if TYPE_CHECKING:
    from aqka.dropins._requests import PairsRequest


class EvenPairs:
    """The shots of a :class:`PairsRequest`; one round, and more only where some fail.

    What is done with the entries afterwards is not known here, so no pair can be preferred.
    """

    def __init__(self, request: "PairsRequest") -> None:
        self._request = request
        self.shots: IntArray = np.zeros_like(request.row_index)
        self.hits: IntArray = np.zeros_like(request.row_index)
        self.round = 0

    @property
    def done(self) -> bool:
        """Whether every pair has its shots."""
        return bool(np.all(self.shots == self._request.shots))

    @property
    def tag(self) -> str:
        """Name of the current round, for the backend: other requests and rounds have others."""
        return f"aqka-pairs-{text_digest(repr(self.settings()))}-r{self.round}"

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

    def ask(self) -> ShotPlan:
        """Return what is left to measure; the same plan until it is told."""
        left = self._left()
        request = self._request
        return ShotPlan(
            request.row_index[left], request.col_index[left], request.shots - self.shots[left]
        )

    def tell(self, hits: ArrayLike, shots: ArrayLike | None = None) -> None:
        """Take the hits of the plan that ``ask`` gave, of a cut round with the shots run."""
        plan = self.ask() if shots is None else self.ask().cut_to(shots)
        left, counts = self._left(), checked_hits(plan, hits)
        self.shots[left] += plan.shots
        self.hits[left] += counts
        self.round += 1

    def take_up(self, plan: ShotPlan) -> None:
        """Accept a recorded plan, which can only be what is left."""
        if not plan.equals(self.ask()):
            raise InputError("the plan names other pairs or shots than the request has left.")

    def _left(self) -> IntArray:
        return np.flatnonzero(self.shots < self._request.shots)
