"""Contract suites: what an implementation of your own must do, as functions to call in a test."""

from aqka.testing.allocators import check_allocator, check_relabelling
from aqka.testing.backends import check_backend
from aqka.testing.points import check_point_backend

__all__ = ["check_allocator", "check_backend", "check_point_backend", "check_relabelling"]
