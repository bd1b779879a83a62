"""A session that measures given pairs, all with the same number of shots."""

from typing import TYPE_CHECKING

import numpy as np

from aqka._util.arrays import IntArray, digest, text_digest
from aqka.core.plans import ShotPlan
from aqka.errors import InputError
from aqka.runs.session import Session

if TYPE_CHECKING:
    from aqka.dropins._requests import PairsRequest


class EvenPairs(Session):
    """The shots of a :class:`PairsRequest`; one round, and more only where some fail.

    What is done with the entries afterwards is not known here, so no pair can be preferred.
    """

    def __init__(self, request: "PairsRequest") -> None:
        super().__init__(request.total)
        self._request = request
        self.shots: IntArray = np.zeros_like(request.row_index)
        self.hits: IntArray = np.zeros_like(request.row_index)

    @property
    def shots_measured(self) -> int:
        """Shots that the pairs have."""
        return int(np.sum(self.shots))

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

    def _next_plan(self) -> ShotPlan:
        left = self._left()
        request = self._request
        return ShotPlan(
            request.row_index[left], request.col_index[left], request.shots - self.shots[left]
        )

    def _take(self, planned: ShotPlan, measured: ShotPlan, hits: IntArray) -> None:
        left = self._left()
        self.shots[left] += measured.shots
        self.hits[left] += hits

    def take_up(self, plan: ShotPlan) -> None:
        """Accept a recorded plan, which can only be what is left."""
        if not plan.equals(self.ask()):
            raise InputError("the plan names other pairs or shots than the request has left.")
        super().take_up(plan)

    def _left(self) -> IntArray:
        return np.flatnonzero(self.shots < self._request.shots)
