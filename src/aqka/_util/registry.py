"""Finds allocators and learners by their class's name: adding one is adding a class."""

import pkgutil
import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from inspect import isabstract
from typing import TypeVar

from aqka._util.text import unknown

Thing = TypeVar("Thing")


@cache
def _classes(package: str, kind: type) -> dict[str, type]:
    """Return a package's concrete classes by name: ``AqkaOracle`` is ``aqka-oracle``."""
    path: Sequence[str] = import_module(package).__path__
    found = {}
    for info in pkgutil.iter_modules(path):
        if info.name.startswith("_"):
            continue
        module = import_module(f"{package}.{info.name}")
        for name, thing in vars(module).items():
            own = isinstance(thing, type) and thing.__module__ == module.__name__
            if own and issubclass(thing, kind) and not isabstract(thing):
                found[re.sub("(?<!^)(?=[A-Z])", "-", name).lower()] = thing
    return dict(sorted(found.items()))


def names(package: str, kind: type) -> list[str]:
    """Return the names of a package's classes of a kind."""
    return list(_classes(package, kind))


def make(package: str, kind: type[Thing], given: object) -> Thing:
    """Return the given object, or the one of that name with its defaults."""
    if isinstance(given, kind):
        return given
    word, known = kind.__name__, _classes(package, kind)  # type: ignore[arg-type]
    if not isinstance(given, str) or given not in known:
        raise unknown(word.lower(), given, known, f" or an instance of {word}")
    made: Thing = known[given]()
    return made
