"""Allocators over points, one file each; the file's name is the allocator's name."""

from aqka._util.registry import make, names
from aqka.allocators.points._base import PointAllocator

__all__ = ["PointAllocator", "make_point_allocator", "point_allocator_names"]


def point_allocator_names() -> list[str]:
    """Return the names of all allocators over points.

    Examples
    --------
    >>> "even" in point_allocator_names()
    True
    """
    return names(__name__, PointAllocator)


def make_point_allocator(allocator: str | PointAllocator) -> PointAllocator:
    """Return the allocator of that name with its defaults, or the given one."""
    return make(__name__, PointAllocator, allocator)  # type: ignore[type-abstract]
