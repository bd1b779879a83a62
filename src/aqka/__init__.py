"""aqka: quantum-kernel learning under a shot budget."""

from typing import TYPE_CHECKING, Any

from aqka.allocators import Allocation, Allocator, allocator_names
from aqka.allocators.schedule import Schedule
from aqka.backends import Backend, BackendFactory, MatrixBackend, StatevectorBackend
from aqka.core.pairs import PairTable
from aqka.core.plans import Landmarks, ShotPlan
from aqka.core.problem import Problem
from aqka.core.reading import FAIR, PAPER, Reading
from aqka.errors import InputError, JobError, LedgerError, TransientError
from aqka.insight.diagnostics import Diagnostics, diagnose
from aqka.insight.intervals import with_total_interval
from aqka.planning.budget import parse_budget
from aqka.planning.device import DeviceModel
from aqka.planning.quote import Quote, quote
from aqka.readouts import FittedHead, Readout, make_readout, readout_names
from aqka.runs.driver import Patience
from aqka.sessions.acquisition import Acquisition, acquire
from aqka.sessions.predicted import Prediction
from aqka.sessions.prediction import PredictionSession, predict
from aqka.version import __version__

if TYPE_CHECKING:
    from aqka.estimators.estimators import QuantumRidge, QuantumRidgeClassifier, QuantumSVC

__all__ = [
    "FAIR",
    "PAPER",
    "Acquisition",
    "Allocation",
    "Allocator",
    "Backend",
    "BackendFactory",
    "DeviceModel",
    "Diagnostics",
    "FittedHead",
    "InputError",
    "JobError",
    "Landmarks",
    "LedgerError",
    "MatrixBackend",
    "PairTable",
    "Patience",
    "Prediction",
    "PredictionSession",
    "Problem",
    "QuantumRidge",
    "QuantumRidgeClassifier",
    "QuantumSVC",
    "Quote",
    "Reading",
    "Readout",
    "Schedule",
    "ShotPlan",
    "StatevectorBackend",
    "TransientError",
    "__version__",
    "acquire",
    "allocator_names",
    "diagnose",
    "make_readout",
    "parse_budget",
    "predict",
    "quote",
    "readout_names",
    "with_total_interval",
]


def __getattr__(name: str) -> Any:
    """Load the estimators when they are first asked for: scikit-learn takes long to import."""
    if name in ("QuantumRidge", "QuantumRidgeClassifier", "QuantumSVC"):
        from aqka.estimators import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'aqka' has no attribute {name!r}")
