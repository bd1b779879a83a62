"""Backends: who runs the shots."""

from aqka.backends._base import Backend
from aqka.backends._rows import JobShape, round_to_quantum
from aqka.backends.matrix import MatrixBackend
from aqka.backends.pennylane import PennylaneBackend
from aqka.backends.runtime import RuntimeBackend
from aqka.backends.sampler import SamplerBackend

__all__ = [
    "Backend",
    "JobShape",
    "MatrixBackend",
    "PennylaneBackend",
    "RuntimeBackend",
    "SamplerBackend",
    "round_to_quantum",
]
