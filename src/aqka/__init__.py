"""aqka: quantum-kernel learning under a shot budget.

The front door: its names are loaded when they are first used. Everything else is public in its
room: :mod:`aqka.core`, :mod:`aqka.allocators`, :mod:`aqka.learners`, :mod:`aqka.backends`,
:mod:`aqka.runs`, :mod:`aqka.sessions`, :mod:`aqka.insight`, :mod:`aqka.planning` and so on.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from aqka.version import __version__

if TYPE_CHECKING:
    from aqka.allocators import allocator_names
    from aqka.allocators.schedule import Schedule
    from aqka.backends import Backend, BackendFactory, MatrixBackend, StatevectorBackend
    from aqka.core import Problem
    from aqka.designs import Pairs, Points
    from aqka.designs.prior import PredictionPrior
    from aqka.errors import (
        CeilingError,
        ExactScoreWarning,
        InputError,
        JobError,
        LedgerError,
        NoisyFeaturesWarning,
        TransientError,
    )
    from aqka.estimators import (
        QuantumFeatures,
        QuantumKernel,
        QuantumRidge,
        QuantumRidgeClassifier,
        QuantumSVC,
    )
    from aqka.insight import diagnose
    from aqka.insight.map_training import train_map
    from aqka.insight.preflight import preflight
    from aqka.learners import learner_names
    from aqka.planning import quote
    from aqka.runs.spend import show_progress
    from aqka.sessions import Prediction, Training, Values, acquire, predict
    from aqka.study.model_file import load_model

__all__ = [
    "Backend",
    "BackendFactory",
    "CeilingError",
    "ExactScoreWarning",
    "InputError",
    "JobError",
    "LedgerError",
    "MatrixBackend",
    "NoisyFeaturesWarning",
    "Pairs",
    "Points",
    "Prediction",
    "PredictionPrior",
    "Problem",
    "QuantumFeatures",
    "QuantumKernel",
    "QuantumRidge",
    "QuantumRidgeClassifier",
    "QuantumSVC",
    "Schedule",
    "StatevectorBackend",
    "Training",
    "TransientError",
    "Values",
    "__version__",
    "acquire",
    "allocator_names",
    "diagnose",
    "learner_names",
    "load_model",
    "predict",
    "preflight",
    "quote",
    "show_progress",
    "train_map",
]


_HOMES = {
    "allocators": ("allocator_names",),
    "allocators.schedule": ("Schedule",),
    "backends": ("Backend", "BackendFactory", "MatrixBackend", "StatevectorBackend"),
    "core": ("Problem",),
    "designs": ("Pairs", "Points"),
    "designs.prior": ("PredictionPrior",),
    "errors": (
        "CeilingError",
        "ExactScoreWarning",
        "InputError",
        "JobError",
        "LedgerError",
        "NoisyFeaturesWarning",
        "TransientError",
    ),
    "estimators": (
        "QuantumFeatures",
        "QuantumKernel",
        "QuantumRidge",
        "QuantumRidgeClassifier",
        "QuantumSVC",
    ),
    "insight": ("diagnose",),
    "insight.map_training": ("train_map",),
    "insight.preflight": ("preflight",),
    "planning": ("quote",),
    "learners": ("learner_names",),
    "runs.spend": ("show_progress",),
    "study.model_file": ("load_model",),
    "sessions": ("Prediction", "Training", "Values", "acquire", "predict"),
}


def __getattr__(name: str) -> Any:
    """Load a name when it is first used."""
    for room, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f"aqka.{room}"), name)
            return value
    raise AttributeError(f"module 'aqka' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Name what is loaded later, too."""
    return sorted({*globals(), *__all__})
