"""Values of new points that are measured as the training points were: nothing is to be settled."""

from pathlib import Path

from aqka.backends import Backend
from aqka.runs.driver import drive
from aqka.runs.spend import Ceiling, Spend
from aqka.sessions.point_heads import PointHead
from aqka.sessions.point_prediction import PointPrediction
from aqka.sessions.prediction_result import check_level
from aqka.sessions.value_prediction import Values

NEVER_SETTLED = 1e-300
"""An error rate at which every point gets its share of the shots."""


class PointValueSession(PointPrediction):
    """A shot budget for the values of new points, the same number for each, in one round.

    Parameters
    ----------
    head
        The fitted head, of real targets.
    n_points, budget, seed
        See :class:`~aqka.sessions.PointPrediction`.
    """

    def __init__(self, head: PointHead, n_points: int, budget: int, *, seed: int = 0) -> None:
        super().__init__(head, n_points, budget, error_rate=NEVER_SETTLED, seed=seed)
        self._milestones = [self.budget]  # whatever is seen, no shot goes elsewhere

    def values(self, level: float = 0.9) -> Values:
        """Return what is known so far."""
        found = self.result(level)
        return Values(found.f, found.low, found.high, found.shots, found.level)


def predict_point_values(
    head: PointHead,
    backend: Backend,
    budget: int,
    *,
    level: float = 0.9,
    seed: int = 0,
    directory: str | Path | None = None,
    verbose: bool = False,
    ceiling: Ceiling | None = None,
) -> Values:
    """Spend a budget on the values of a backend's points; see :func:`~aqka.acquire`."""
    check_level(level)
    session = PointValueSession(head, backend.shape[0], budget, seed=seed)
    drive(session, backend, Spend(directory, ceiling, verbose=verbose))
    return session.values(level)
