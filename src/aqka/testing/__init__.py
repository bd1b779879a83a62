"""Contract suites: what an implementation of your own must do, as functions to call in a test."""

from aqka.testing.backends import check_backend

__all__ = ["check_backend"]
