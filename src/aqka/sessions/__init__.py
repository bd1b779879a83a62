"""Ask and tell: training and prediction under a budget."""

from aqka.sessions.predicting import Predicting, Prediction, Values, predict
from aqka.sessions.training import Training, acquire

__all__ = ["Predicting", "Prediction", "Training", "Values", "acquire", "predict"]
