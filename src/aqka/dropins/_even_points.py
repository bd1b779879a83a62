"""A session that measures given points, all with the same number of shots."""

import numpy as np

from aqka._util.arrays import FloatArray, IntArray, digest
from aqka.allocators.targets import raise_lowest
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import PointPlan, even_plan
from aqka.core.points import PointTable
from aqka.errors import InputError
from aqka.runs.session import Session


class EvenPoints(Session[PointPlan]):
    """The shots of some points in shared settings; one round, and more only where some fail.

    Unlike a training session it has no labels, and its tag names the points: two requests for as
    many points must not draw the same noise.
    """

    def __init__(self, points: FloatArray, letters: IntArray, budget: int) -> None:
        super().__init__(budget)
        self._points = points
        self.table = PointTable(len(points), letters)

    @property
    def shots_measured(self) -> int:
        """Shots that the points have."""
        return self.table.total

    @property
    def _tag_name(self) -> str:
        return "aqka-even-points"

    def settings(self) -> dict[str, str]:
        """Return all that a run depends on besides the backend, as texts."""
        return {
            "design": "points",
            "row_points": digest(self._points),
            "pauli": digest(self.table.settings),  # type: ignore[arg-type]
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

    def _next_plan(self) -> PointPlan:
        # To the points with fewest: shots that were run for nothing may leave too few for all.
        has = self.table.shots_per_point
        added = raise_lowest(has, self.shots_left, np.random.default_rng(self.round))
        asked = np.flatnonzero(added)
        return even_plan(asked, self.table.settings, added[asked])

    def _take(self, planned: PointPlan, measured: PointPlan, answer: OutcomeCounts) -> None:
        self.table.add(measured, answer)

    def take_up(self, plan: PointPlan) -> None:
        """Accept a recorded plan, which can only be what is left."""
        if not plan.equals(self.ask()):
            raise InputError("the plan names other points or shots than the request has left.")
        super().take_up(plan)
