"""Backends run the shots. Quantum SDKs are imported when a backend is made."""

from aqka.backends._jobs.rows import JobShape
from aqka.backends.aer import AerBackend, depolarising_noise
from aqka.backends.base import Backend
from aqka.backends.factory import BackendFactory
from aqka.backends.many_qubits import LightConeBackend
from aqka.backends.pennylane import PennylaneBackend
from aqka.backends.runtime import RuntimeBackend
from aqka.backends.sampler import SamplerBackend
from aqka.backends.simulated import MatrixBackend
from aqka.backends.statevector import StatevectorBackend

__all__ = [
    "AerBackend",
    "Backend",
    "BackendFactory",
    "JobShape",
    "LightConeBackend",
    "MatrixBackend",
    "PennylaneBackend",
    "RuntimeBackend",
    "SamplerBackend",
    "StatevectorBackend",
    "depolarising_noise",
]
