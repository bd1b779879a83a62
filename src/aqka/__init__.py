"""aqka: quantum-kernel learning under a shot budget.

The front door: its names are loaded when they are first used. Everything else is public in its
room: :mod:`aqka.core`, :mod:`aqka.allocators`, :mod:`aqka.learners`, :mod:`aqka.backends`,
:mod:`aqka.runs`, :mod:`aqka.sessions`, :mod:`aqka.insight`, :mod:`aqka.planning` and so on.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from aqka.version import __version__

if TYPE_CHECKING:
    from aqka.allocators import allocator_names as allocator_names
    from aqka.allocators.schedule import Schedule as Schedule
    from aqka.backends import Backend as Backend
    from aqka.backends import BackendFactory as BackendFactory
    from aqka.backends import MatrixBackend as MatrixBackend
    from aqka.backends import StatevectorBackend as StatevectorBackend
    from aqka.core import Problem as Problem
    from aqka.designs import Pairs as Pairs
    from aqka.designs import Points as Points
    from aqka.designs.prior import PredictionPrior as PredictionPrior
    from aqka.errors import CeilingError as CeilingError
    from aqka.errors import ExactScoreWarning as ExactScoreWarning
    from aqka.errors import InputError as InputError
    from aqka.errors import JobError as JobError
    from aqka.errors import LedgerError as LedgerError
    from aqka.errors import NoisyFeaturesWarning as NoisyFeaturesWarning
    from aqka.errors import TransientError as TransientError
    from aqka.estimators import QuantumFeatures as QuantumFeatures
    from aqka.estimators import QuantumKernel as QuantumKernel
    from aqka.estimators import QuantumRidge as QuantumRidge
    from aqka.estimators import QuantumRidgeClassifier as QuantumRidgeClassifier
    from aqka.estimators import QuantumSVC as QuantumSVC
    from aqka.insight import diagnose as diagnose
    from aqka.insight.map_training import train_map as train_map
    from aqka.insight.preflight import preflight as preflight
    from aqka.learners import learner_names as learner_names
    from aqka.planning import quote as quote
    from aqka.runs.spend import show_progress as show_progress
    from aqka.sessions import Prediction as Prediction
    from aqka.sessions import Training as Training
    from aqka.sessions import Values as Values
    from aqka.sessions import acquire as acquire
    from aqka.sessions import predict as predict
    from aqka.study.model_file import load_model as load_model

_ROOMS = {
    "allocators": "allocator_names",
    "allocators.schedule": "Schedule",
    "backends": "Backend BackendFactory MatrixBackend StatevectorBackend",
    "core": "Problem",
    "designs": "Pairs Points",
    "designs.prior": "PredictionPrior",
    "errors": "CeilingError ExactScoreWarning InputError JobError "
    "LedgerError NoisyFeaturesWarning TransientError",
    "estimators": "QuantumFeatures QuantumKernel QuantumRidge QuantumRidgeClassifier QuantumSVC",
    "insight": "diagnose",
    "insight.map_training": "train_map",
    "insight.preflight": "preflight",
    "learners": "learner_names",
    "planning": "quote",
    "runs.spend": "show_progress",
    "sessions": "Prediction Training Values acquire predict",
    "study.model_file": "load_model",
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names.split()}
if not TYPE_CHECKING:  # type checkers read the imports above
    __all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    """Load a name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'aqka' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"aqka.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    """Name what is public, loaded or not."""
    return sorted(["__version__", *_HOMES])
