"""Finds allocators, readouts and experiments by their file's name: adding one is adding a file."""

import pkgutil
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import TypeVar

from aqka._util.text import did_you_mean
from aqka.errors import InputError

Thing = TypeVar("Thing")


@cache
def _classes(package: str, kind: type) -> dict[str, type]:
    """Return the classes of a package by name: ``AqkaOracle`` of aqka_oracle.py is ``aqka-oracle``.

    A file without such a class is passed over, so that what they share can stand beside them.
    """
    path: Sequence[str] = import_module(package).__path__
    found = {}
    for info in pkgutil.iter_modules(path):
        if not info.name.startswith("_"):
            name = "".join(part.capitalize() for part in info.name.split("_"))
            thing = getattr(import_module(f"{package}.{info.name}"), name, None)
            if isinstance(thing, type) and issubclass(thing, kind):
                found[info.name.replace("_", "-")] = thing
    return dict(sorted(found.items()))


def names(package: str, kind: type) -> list[str]:
    """Return the names of the classes in a package's files."""
    return list(_classes(package, kind))


def make(package: str, kind: type[Thing], given: object) -> Thing:
    """Return the given object, or the one of that name with its defaults."""
    if isinstance(given, kind):
        return given
    word, known = kind.__name__, _classes(package, kind)  # type: ignore[arg-type]
    if not isinstance(given, str):
        raise InputError(
            f"{word.lower()} must be a name or an instance of {word}, got "
            f"{type(given).__name__}; names: {', '.join(known)}."
        )
    if given not in known:
        raise InputError(
            f"unknown {word.lower()} {given!r}.{did_you_mean(given, known)} "
            f"Known: {', '.join(known)}."
        )
    made = known[given]()
    assert isinstance(made, kind)
    return made
