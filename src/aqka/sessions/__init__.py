"""Ask and tell: training and prediction under a budget."""

from aqka.sessions.acquire import acquire
from aqka.sessions.acquisition import Acquisition
from aqka.sessions.decisions import Decisions
from aqka.sessions.design import DesignChoice, choose_design
from aqka.sessions.gaussian_points import ProjectedPoints
from aqka.sessions.linear_points import LinearProjectedPoints
from aqka.sessions.point_acquisition import PointAcquisition
from aqka.sessions.point_contract import PointHead, PointKernel
from aqka.sessions.point_heads import FidelityOfPoints
from aqka.sessions.point_kernels import make_point_kernel, point_kernel_names
from aqka.sessions.point_prediction import PointPrediction, PredictedPoints, predict_points
from aqka.sessions.prediction import PredictionSession, predict
from aqka.sessions.prediction_result import Prediction
from aqka.sessions.state_fits import StateFits
from aqka.sessions.value_prediction import ValuePrediction, Values, ValueSession, predict_values

__all__ = [
    "Acquisition",
    "Decisions",
    "DesignChoice",
    "FidelityOfPoints",
    "LinearProjectedPoints",
    "PointAcquisition",
    "PointHead",
    "PointKernel",
    "PointPrediction",
    "PredictedPoints",
    "Prediction",
    "PredictionSession",
    "ProjectedPoints",
    "StateFits",
    "ValuePrediction",
    "ValueSession",
    "Values",
    "acquire",
    "choose_design",
    "make_point_kernel",
    "point_kernel_names",
    "predict",
    "predict_points",
    "predict_values",
]
