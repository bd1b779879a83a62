"""Values of new points that are measured as the training points were: nothing is to be settled."""

from aqka.sessions.point_heads import PointHead
from aqka.sessions.point_prediction import PointPrediction, PredictedPoints
from aqka.sessions.value_prediction import Values

NEVER_SETTLED = 1e-300
"""An error rate at which every point gets its share of the shots."""


class PointValueSession(PointPrediction):
    """A shot budget for the values of new points, the same number for each.

    Parameters
    ----------
    head
        The fitted head, of real targets.
    n_points, budget, seed
        See :class:`~aqka.sessions.PointPrediction`.
    """

    def __init__(self, head: PointHead, n_points: int, budget: int, *, seed: int = 0) -> None:
        super().__init__(head, n_points, budget, error_rate=NEVER_SETTLED, seed=seed)

    def values(self, level: float = 0.9) -> Values:
        """Return what is known so far."""
        return values_of(self.result(level))


def values_of(found: PredictedPoints) -> Values:
    """Return predicted points of real targets without the classes that they do not have."""
    return Values(found.f, found.low, found.high, found.shots, found.level)
