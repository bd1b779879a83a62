"""Contract suites: what every allocator and every backend must do, importable by third parties."""

from aqka.testing.allocators import check_allocator, check_relabelling

__all__ = ["check_allocator", "check_relabelling"]
