"""Everything is set up as for the tests of aqka."""

from tests.conftest import kernel, labels

__all__ = ["kernel", "labels"]
