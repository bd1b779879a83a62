"""aqka: quantum-kernel learning under a shot budget."""

from aqka.acquisition import Acquisition, acquire
from aqka.allocators import Allocation, Allocator, allocator_names
from aqka.backends import Backend, MatrixBackend, StatevectorBackend
from aqka.diagnostics import Diagnostics, diagnose
from aqka.errors import InputError
from aqka.pairs import PairTable
from aqka.plan import Landmarks, ShotPlan
from aqka.problem import Problem
from aqka.protocol import PAPER, PRACTICAL, Protocol
from aqka.readout import FittedHead, Readout, make_readout, readout_names
from aqka.schedule import Schedule

__version__ = "0.1.0"

__all__ = [
    "PAPER",
    "PRACTICAL",
    "Acquisition",
    "Allocation",
    "Allocator",
    "Backend",
    "Diagnostics",
    "FittedHead",
    "InputError",
    "Landmarks",
    "MatrixBackend",
    "PairTable",
    "Problem",
    "Protocol",
    "Readout",
    "Schedule",
    "ShotPlan",
    "StatevectorBackend",
    "acquire",
    "allocator_names",
    "diagnose",
    "make_readout",
    "readout_names",
]
