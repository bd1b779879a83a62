"""Writes formulas as MathML, which browsers draw themselves: no script, no fonts, no network."""

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def _visit_inline(translator: Any, node: Any) -> None:
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _visit_display(translator: Any, node: Any) -> None:
    formula = convert(node.astext(), display="block")
    translator.body.append(f'<div class="formula">{formula}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer that ``html_math_renderer`` names."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
