"""Allocators: which pair or point gets how many shots; the class's name is the allocator's."""

from typing import Any

from aqka._util.registry import make, names
from aqka.allocators._base import Allocation, Allocator, TargetFill

__all__ = ["Allocation", "Allocator", "TargetFill", "allocator_names", "make_allocator"]


def allocator_names() -> list[str]:
    """Return the names of all allocators.

    Examples
    --------
    >>> "aqka" in allocator_names()
    True
    """
    return names(__name__, Allocator)


def make_allocator(allocator: str | Allocator[Any]) -> Allocator[Any]:
    """Return the allocator of that name with its defaults, or the given one."""
    return make(__name__, Allocator, allocator)  # type: ignore[type-abstract]
