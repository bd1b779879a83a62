"""A digest of the code behind a page: of all modules it uses, without comments and docstrings.

Imports are followed by reading the source, so nothing has to be run. A name that a package only
passes on leads to the module that defines it. A package that finds its classes by name
(:mod:`aqka._util.registry`) counts as a whole.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import aqka
import aqka_research
from aqka._util.arrays import text_digest

ROOTS = {package.__name__: Path(package.__path__[0]) for package in (aqka, aqka_research)}
FINDS_BY_NAME = ("aqka._util.registry", "pkgutil")
"""What a package imports that loads all of its modules."""


def code_digest(modules: Iterable[str]) -> str:
    """Return a digest of the code of some modules and of all they use."""
    parts = (f"{name} {_code(name)}" for name in sorted(modules_used(modules)))
    return text_digest("\n".join(parts))[:16]


def modules_used(modules: Iterable[str]) -> set[str]:
    """Return the modules of aqka and aqka_research that some modules use, these included.

    Examples
    --------
    >>> sorted(modules_used(["aqka.version"]))
    ['aqka.version']
    >>> "aqka.learners.svm" in modules_used(["aqka.learners"])
    True
    """
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _uses(name)
    return found


def path_of(name: str) -> Path | None:
    """Return the file of a module of one of the two packages."""
    root, *parts = name.split(".")
    if root not in ROOTS:
        return None
    path = ROOTS[root].joinpath(*parts)
    found = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return found if found.is_file() else None


@cache
def _tree(name: str) -> ast.Module:
    path = path_of(name)
    assert path is not None
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _code(name: str) -> str:
    """Return a module's syntax tree as text, without docstrings."""
    path = path_of(name)
    assert path is not None
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [part for part in body if not _is_text(part)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_text(node: ast.AST) -> bool:
    """Return whether a statement is only a text: a docstring, or one of an attribute."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


@cache
def _uses(name: str) -> tuple[str, ...]:
    tree, found = _tree(name), []
    for module, names in _imports(tree, types_too=False):
        if module in FINDS_BY_NAME and path_of(name) is not None:
            found += _siblings(name)
        wanted: list[str | None] = [*names] or [None]
        found += [home for one in wanted if (home := _home(module, one))]
    return tuple(dict.fromkeys(found))


def _siblings(name: str) -> list[str]:
    """Return the modules of a package, which it finds by name."""
    path = path_of(name)
    if path is None or path.name != "__init__.py":
        return []
    return [f"{name}.{one.stem}" for one in path.parent.glob("*.py") if one.stem != "__init__"]


def _home(module: str, name: str | None) -> str | None:
    """Return the module that defines a name which ``module`` offers; None if it is another's."""
    if path_of(module) is None:
        return None
    if name is None:
        return module
    if path_of(f"{module}.{name}") is not None:
        return f"{module}.{name}"
    for source, names in _imports(_tree(module), types_too=True):
        if name in names:
            return _home(source, name)
    return module


def _imports(tree: ast.AST, types_too: bool) -> Iterator[tuple[str, list[str]]]:
    """Yield modules and the names taken from them, without those that only types need."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, [alias.name for alias in node.names]
        elif types_too or not _for_types(node):
            yield from _imports(node, types_too)


def _for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
