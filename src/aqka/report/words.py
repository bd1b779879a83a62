"""Numbers as the pages write them, and the glossary of their words."""

import re
import tomllib
from pathlib import Path

from markupsafe import Markup, escape


def axis_text(value: float) -> str:
    """Return a number short enough for an axis.

    >>> axis_text(20000), axis_text(0.25), axis_text(1e-6), axis_text(1_500_000)
    ('20k', '0.25', '1e-06', '1.5M')
    """
    for size, name in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.10g}{name}"
    return f"{round(value, 10):g}"


def capital(text: str) -> str:
    """Return a text as a sentence begins."""
    return text[:1].upper() + text[1:]


def p_text(value: float) -> str:
    """Return a p-value.

    >>> p_text(0.0004), p_text(0.0312), p_text(0.5)
    ('p < 0.001', 'p = 0.031', 'p = 0.50')
    """
    if value < 0.001:
        return "p < 0.001"
    return f"p = {value:.3f}" if value < 0.1 else f"p = {value:.2f}"


def range_text(low: float, high: float) -> str:
    """Return an interval of a share, such as ``0.72 to 1.00``."""
    return f"{low:.2f} to {high:.2f}"


GLOSSARY: dict[str, str] = tomllib.loads(
    Path(__file__).with_name("glossary.toml").read_text(encoding="utf-8")
)
"""Each word in a sentence or two; the site's glossary is written from here too."""

_WORDS = re.compile(
    rf"\b({'|'.join(sorted(map(re.escape, GLOSSARY), key=len, reverse=True))})s?\b", re.IGNORECASE
)


def glossed(text: str) -> Markup:
    """Return a text with each word of the glossary, where it first stands, linked to its meaning.

    >>> print(glossed("Shots & pairs"))
    <a class="word" href="#word-shot">Shots</a> &amp; <a class="word" href="#word-pair">pairs</a>
    """
    linked: set[str] = set()

    def link(found: re.Match[str]) -> str:
        term = found[1].lower()
        if term in linked:
            return found[0]
        linked.add(term)
        return f'<a class="word" href="#{word_id(term)}">{found[0]}</a>'

    return Markup(_WORDS.sub(link, str(escape(text))))


def word_id(term: str) -> str:
    """Return the place of a term on the page."""
    return f"word-{re.sub(r'[^a-z0-9]+', '-', term.lower())}"
