"""Ask and tell: training and prediction under a budget."""

from aqka.sessions.acquisition import Acquisition, acquire
from aqka.sessions.predicted import Prediction
from aqka.sessions.prediction import PredictionSession, predict

__all__ = ["Acquisition", "Prediction", "PredictionSession", "acquire", "predict"]
