"""The test points of a run, or new ones, predicted: their classes or their values."""

from aqka.core.target_scale import TargetScale
from aqka.readouts import FittedHead
from aqka.sessions.point_heads import PointHead
from aqka.sessions.point_prediction import PointPrediction, PredictedPoints
from aqka.sessions.point_values import PointValueSession
from aqka.sessions import Predicting
from aqka.sessions import Prediction
from aqka.sessions.value_prediction import Values, ValueSession
from aqka.study.data import Points
from aqka.study.schema import Study

TestSession = Predicting | ValueSession | PointPrediction
Tested = Prediction | Values | PredictedPoints


def session_for(
    study: Study, head: FittedHead | PointHead, n_points: int, budget: int, seed: int
) -> TestSession:
    """Return a session that predicts points of a study, before its first shot."""
    of_values = study.data.task == "regression"
    if isinstance(head, PointHead):
        kind = PointValueSession if of_values else PointPrediction
        return kind(head, n_points, budget, seed=seed)
    if of_values:
        return ValueSession(head, n_points, budget, seed=seed)
    return Predicting(head, n_points, budget, seed=seed)


def tested(session: TestSession, points: Points, *, as_measured: bool) -> Tested:
    """Return what a session found; values are in the units of the study's target."""
    if isinstance(session, Predicting):
        return session.result(as_measured=as_measured)
    if isinstance(session, PointPrediction) and not isinstance(session, PointValueSession):
        return session.result()
    values: Values = session.result() if isinstance(session, ValueSession) else session.values()
    scale = TargetScale.of(points.train_labels)
    return values.in_units(scale.spread, scale.centre)
