"""Ask and tell: training and prediction under a budget."""

from aqka.sessions.acquisition import Acquisition, acquire
from aqka.sessions.prediction import PredictionSession, predict
from aqka.sessions.prediction_result import Prediction

__all__ = ["Acquisition", "Prediction", "PredictionSession", "acquire", "predict"]
