"""aqka: quantum-kernel learning under a shot budget.

The front door. Everything else is public in its room: :mod:`aqka.core`, :mod:`aqka.allocators`,
:mod:`aqka.readouts`, :mod:`aqka.backends`, :mod:`aqka.runs`, :mod:`aqka.sessions`,
:mod:`aqka.insight`, :mod:`aqka.planning` and so on.
"""

from typing import TYPE_CHECKING, Any

from aqka.allocators import allocator_names
from aqka.allocators.schedule import Schedule
from aqka.backends import Backend, BackendFactory, MatrixBackend, StatevectorBackend
from aqka.core import Problem
from aqka.designs import Pairs, Points
from aqka.errors import CeilingError, InputError, JobError, LedgerError, TransientError
from aqka.insight import diagnose
from aqka.insight.preflight import preflight
from aqka.planning import quote
from aqka.readouts import readout_names
from aqka.sessions import Prediction, Training, Values, acquire, predict
from aqka.version import __version__

if TYPE_CHECKING:
    from aqka.estimators import QuantumRidge, QuantumRidgeClassifier, QuantumSVC

__all__ = [
    "Backend",
    "BackendFactory",
    "CeilingError",
    "InputError",
    "JobError",
    "LedgerError",
    "MatrixBackend",
    "Pairs",
    "Points",
    "Prediction",
    "Problem",
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
    "predict",
    "preflight",
    "quote",
    "readout_names",
]


def __getattr__(name: str) -> Any:
    """Load the estimators when they are first used: scikit-learn takes long to import."""
    if name in ("QuantumRidge", "QuantumRidgeClassifier", "QuantumSVC"):
        from aqka import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'aqka' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Name the estimators too."""
    return sorted({*globals(), *__all__})
