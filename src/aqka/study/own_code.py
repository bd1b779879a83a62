"""Code that a study file names as ``module:function``; it runs only if the user allows it."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from aqka._util.text import inert
from aqka.errors import InputError


def load_function(key: str, name: str, base: Path, *, allow_code: bool) -> Callable[..., Any]:
    """Return the function that a key of a study file names.

    Parameters
    ----------
    key
        Such as ``backend.sampler``, for messages.
    name
        ``module:function``.
    base
        Where modules are looked for first: the study file's directory, then the current one.
    allow_code
        Whether the user said ``--allow-code``.
    """
    shown = inert(name)
    if not allow_code:
        raise InputError(
            f"{key} {shown!r} would run code of that module. If you trust it, add --allow-code."
        )
    module, _, function = name.partition(":")
    with _importing_from(base):
        try:
            found = getattr(import_module(module), function)
        except Exception as error:
            raise InputError(
                f"{key} {shown!r} failed: {type(error).__name__}: {inert(error, 200)}. It must "
                "name a function of a module that is installed, or lies beside the study file or "
                "in the current directory."
            ) from error
    if not callable(found):
        raise InputError(f"{key} {shown!r} must name a function, got {type(found).__name__}.")
    return found  # type: ignore[no-any-return]


@contextmanager
def _importing_from(base: Path) -> Iterator[None]:
    places = list(dict.fromkeys([str(base.resolve()), os.getcwd()]))
    sys.path[:0] = places
    try:
        yield
    finally:
        for place in places:
            sys.path.remove(place)
