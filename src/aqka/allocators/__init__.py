"""Allocators, one file each; the file's name is the allocator's name."""

from aqka.allocators._base import Allocation, Allocator
from aqka.errors import InputError
from aqka.registry import find, names

__all__ = ["Allocation", "Allocator", "allocator_names", "make_allocator"]


def allocator_names() -> list[str]:
    """Return the names of all allocators.

    Examples
    --------
    >>> "aqka" in allocator_names()
    True
    """
    return names(__name__)


def make_allocator(allocator: str | Allocator) -> Allocator:
    """Return the allocator of that name with its defaults, or the given one."""
    if isinstance(allocator, Allocator):
        return allocator
    if not isinstance(allocator, str):
        raise InputError(
            f"allocator must be a name or an Allocator, got {type(allocator).__name__}; "
            f"names: {', '.join(allocator_names())}."
        )
    made = find(__name__, allocator, "allocator")()
    assert isinstance(made, Allocator)
    return made
