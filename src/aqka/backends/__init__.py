"""Backends: who runs the shots."""

from aqka.backends._base import Backend
from aqka.backends.matrix import MatrixBackend

__all__ = ["Backend", "MatrixBackend"]
