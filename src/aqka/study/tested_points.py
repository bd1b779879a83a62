"""The test points of a run, or new ones, predicted: their classes or their values."""

from aqka.core.target_scale import TargetScale
from aqka.readouts import FittedHead
from aqka.sessions.point_heads import PointHead
from aqka.sessions.point_prediction import PointPrediction, PredictedPoints
from aqka.sessions.prediction import PredictionSession
from aqka.sessions.prediction_result import Prediction
from aqka.sessions.value_prediction import ValuePrediction, ValueSession
from aqka.study.data import Points
from aqka.study.schema import Study

TestSession = PredictionSession | ValueSession | PointPrediction
Tested = Prediction | ValuePrediction | PredictedPoints


def session_for(
    study: Study, head: FittedHead | PointHead, n_points: int, budget: int, seed: int
) -> TestSession:
    """Return a session that predicts points of a study, before its first shot."""
    if isinstance(head, PointHead):
        return PointPrediction(head, n_points, budget, seed=seed)
    if study.data.task == "regression":
        return ValueSession(head, n_points, budget, seed=seed)
    return PredictionSession(head, n_points, budget, seed=seed)


def tested(session: TestSession, points: Points, *, as_measured: bool) -> Tested:
    """Return what a session found; values are in the units of the study's target."""
    if isinstance(session, PointPrediction):
        return session.result()
    if isinstance(session, PredictionSession):
        return session.result(as_measured=as_measured)
    scale = TargetScale.of(points.train_labels)
    return session.result().in_units(scale.spread, scale.centre)
