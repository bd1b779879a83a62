"""Ask and tell: training and prediction under a budget."""

from aqka.sessions.acquisition import Acquisition, acquire
from aqka.sessions.prediction import PredictionSession, predict
from aqka.sessions.prediction_result import Prediction
from aqka.sessions.value_prediction import ValuePrediction, ValueSession, predict_values

__all__ = [
    "Acquisition",
    "Prediction",
    "PredictionSession",
    "ValuePrediction",
    "ValueSession",
    "acquire",
    "predict",
    "predict_values",
]
