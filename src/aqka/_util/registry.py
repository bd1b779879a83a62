"""Finds allocators and readouts by their file's name, so that adding one is adding a file."""

import difflib
import pkgutil
from collections.abc import Sequence
from importlib import import_module
from typing import TypeVar

from aqka.errors import InputError

Thing = TypeVar("Thing")


def names(package: str) -> list[str]:
    """Return the names offered by a package: its public module names with dashes."""
    path: Sequence[str] = import_module(package).__path__
    modules = (info.name for info in pkgutil.iter_modules(path))
    return sorted(name.replace("_", "-") for name in modules if not name.startswith("_"))


def find(package: str, name: str, kind: str) -> type:
    """Return the class of that name: ``aqka-oracle`` is ``AqkaOracle`` in aqka_oracle.py."""
    known = names(package)
    if name not in known:
        near = difflib.get_close_matches(str(name).lower(), known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise InputError(f"unknown {kind} {name!r}.{hint} Known: {', '.join(known)}.")
    module = import_module(f"{package}.{name.replace('-', '_')}")
    found: type = getattr(module, "".join(part.capitalize() for part in name.split("-")))
    return found


def make(package: str, kind: type[Thing], given: object) -> Thing:
    """Return the given object, or the one of that name with its defaults."""
    if isinstance(given, kind):
        return given
    word = kind.__name__
    if not isinstance(given, str):
        raise InputError(
            f"{word.lower()} must be a name or an instance of {word}, got "
            f"{type(given).__name__}; names: {', '.join(names(package))}."
        )
    made = find(package, given, word.lower())()
    assert isinstance(made, kind)
    return made
