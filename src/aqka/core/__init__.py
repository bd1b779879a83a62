"""The nouns: plans, tables of counts, how counts are read, the problem."""

from aqka.core.calibration import CalibrationPlan
from aqka.core.outcomes import OutcomeCounts
from aqka.core.pairs import PairTable
from aqka.core.plans import Landmarks, ShotPlan
from aqka.core.point_plans import PointPlan
from aqka.core.points import PointTable
from aqka.core.problem import FAIR, PAPER, Problem, Reading

__all__ = [
    "FAIR",
    "PAPER",
    "CalibrationPlan",
    "Landmarks",
    "OutcomeCounts",
    "PairTable",
    "PointPlan",
    "PointTable",
    "Problem",
    "Reading",
    "ShotPlan",
]
