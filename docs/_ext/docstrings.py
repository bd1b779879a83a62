"""Reads this project's docstrings, which are plain text first, for the reference pages."""

import re
from typing import Any

from jinja2.sandbox import SandboxedEnvironment
from numpy.typing import ArrayLike
from numpydoc import docscrape_sphinx
from sphinx.application import Sphinx
from sphinx.util.typing import stringify_annotation

from aqka._util.arrays import BoolArray, FloatArray, IntArray

LITERAL = re.compile(r"(``.+?``)")
ALIASES = {
    stringify_annotation(alias, "smart"): name
    for name, alias in [
        ("ArrayLike", ArrayLike),
        ("FloatArray", FloatArray),
        ("IntArray", IntArray),
        ("BoolArray", BoolArray),
    ]
}
"""What types of arrays look like when Sphinx has spelt them out, and their names."""


def bars_as_text(lines: list[str]) -> list[str]:
    """Escape the bars of absolute values, which reStructuredText would take for substitutions.

    Examples
    --------
    >>> bars_as_text(["|g| but ``a | b``", ">>> a | b"])
    ['\\\\|g\\\\| but ``a | b``', '>>> a | b']
    """
    return [line if line.lstrip().startswith((">>>", "...")) else _escaped(line) for line in lines]


def _escaped(line: str) -> str:
    parts = LITERAL.split(line)  # every second part is a literal
    return "".join(p if k % 2 else p.replace("|", r"\|") for k, p in enumerate(parts))


def with_aliases(signature: str | None) -> str | None:
    """Return a signature with the names of types that are long when spelt out."""
    for spelt_out, alias in ALIASES.items() if signature else ():
        signature = signature.replace(spelt_out, alias)
    return signature


def _process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = bars_as_text(lines)


def _process_signature(
    app: Sphinx,
    what: str,
    name: str,
    obj: Any,
    options: Any,
    given: str | None,
    returned: str | None,
) -> tuple[str | None, str | None]:
    return with_aliases(given), with_aliases(returned)


def _skip(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator."""
    return True if (getattr(obj, "__module__", None) or "").startswith("sklearn") else None


def _shared_templates(loader: Any) -> SandboxedEnvironment:
    """Return the environment of such a loader, all of which find numpydoc's one template."""
    return TEMPLATES.setdefault(type(loader), SandboxedEnvironment(loader=loader))


TEMPLATES: dict[type, SandboxedEnvironment] = {}


def setup(app: Sphinx) -> dict[str, bool]:
    """Run before numpydoc, which turns sections into markup at priority 500."""
    # It would compile its template for every docstring again.
    docscrape_sphinx.SandboxedEnvironment = _shared_templates
    app.connect("autodoc-process-docstring", _process, priority=400)
    app.connect("autodoc-process-signature", _process_signature)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
