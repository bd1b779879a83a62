"""A session that measures given pairs, all with the same number of shots."""

from typing import TYPE_CHECKING

import numpy as np

from aqka._util.arrays import IntArray, digest, text_digest
from aqka.allocators.targets import raise_lowest
from aqka.core.plans import ShotPlan
from aqka.errors import InputError
from aqka.runs.session import Session

if TYPE_CHECKING:
    from aqka.dropins._pair_requests import PairsRequest


class EvenPairs(Session[ShotPlan]):
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
        # To the pairs with fewest: shots that were run for nothing may leave too few for all.
        added = raise_lowest(self.shots, self.shots_left, np.random.default_rng(self.round))
        asked = np.flatnonzero(added)
        request = self._request
        return ShotPlan(request.row_index[asked], request.col_index[asked], added[asked])

    def _take(self, planned: ShotPlan, measured: ShotPlan, hits: IntArray) -> None:
        asked = self._places(planned)
        self.shots[asked] += measured.shots
        self.hits[asked] += hits

    def take_up(self, plan: ShotPlan) -> None:
        """Accept a recorded plan, which can only be what is left."""
        if not plan.equals(self.ask()):
            raise InputError("the plan names other pairs or shots than the request has left.")
        super().take_up(plan)

    def _places(self, plan: ShotPlan) -> IntArray:
        """Return where the pairs of a plan stand in the request; both have them in one order."""
        request = self._request
        wanted = set(zip(plan.rows.tolist(), plan.cols.tolist(), strict=True))
        pairs = zip(request.row_index.tolist(), request.col_index.tolist(), strict=True)
        return np.array([k for k, pair in enumerate(pairs) if pair in wanted], dtype=np.int64)
