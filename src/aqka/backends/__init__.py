"""Backends: who runs the shots."""

from aqka.backends._base import Backend
from aqka.backends.matrix import MatrixBackend
from aqka.backends.statevector import StatevectorBackend

__all__ = ["Backend", "MatrixBackend", "StatevectorBackend"]
