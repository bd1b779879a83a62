"""Allocators: which pair or point gets how many shots; the class's name is the allocator's."""

from aqka._util.registry import make, names
from aqka.allocators._base import Allocation, Allocator, TargetFill

DEFAULT_ALLOCATOR = "uniform"
__all__ = [
    "DEFAULT_ALLOCATOR",
    "Allocation",
    "Allocator",
    "TargetFill",
    "allocator_names",
    "make_allocator",
]


def allocator_names() -> list[str]:
    """Return the names of all allocators.

    >>> "aqka" in allocator_names()
    True
    """
    return names(__name__, Allocator)


def make_allocator(allocator: str | Allocator | None) -> Allocator:
    """Return the allocator of that name with its defaults, or the given one; None is the default.

    >>> make_allocator(None)
    Uniform()
    """
    chosen = DEFAULT_ALLOCATOR if allocator is None else allocator
    return make(__name__, Allocator, chosen)  # type: ignore[type-abstract]
