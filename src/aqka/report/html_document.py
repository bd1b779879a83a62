"""One HTML file that needs nothing else: styles, script and data are inside it."""

import base64
import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LONG_CELL = 30  # characters, above which a cell of a table breaks its lines


def document(title: str, body: str, pairs: dict[str, Any] | None = None) -> str:
    """Return a page; its policy forbids every request, and every script but its own.

    ``body`` is HTML whose texts are escaped already; ``pairs`` is what the heat maps show.
    """
    script = (HERE / "heat_map.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    data = "" if pairs is None else f'<script type="application/json" id="pairs">{safe_json(pairs)}'
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="referrer" content="no-referrer">\n<title>{escape(title)}</title>\n'
        '<link rel="icon" href="data:,">\n'  # otherwise a browser asks for /favicon.ico
        f"<style>\n{(HERE / 'page.css').read_text(encoding='utf-8')}</style>\n</head>\n<body>\n"
        f'{body}\n<div id="tip" role="status" hidden></div>\n'
        f"{data}{'</script>' if data else ''}\n<script>{script}</script>\n</body>\n</html>\n"
    )


def safe_json(value: Any) -> str:
    """Return JSON that cannot end the script element it stands in.

    Examples
    --------
    >>> safe_json("</script><!--")
    '"\\\\u003c/script\\\\u003e\\\\u003c!--"'
    """
    text = json.dumps(value, allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def section(title: str, *parts: str) -> str:
    """Return a section with a heading, or nothing if it is empty."""
    content = "".join(parts)
    return f"<section><h2>{escape(title)}</h2>{content}</section>\n" if content else ""


def grid(*figures: str) -> str:
    """Return figures side by side where there is room."""
    content = "".join(figures)
    return f'<div class="grid">{content}</div>' if content else ""


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    words: Collection[int] = (0,),
) -> str:
    """Return a table of texts; columns of ``words`` are set left."""

    def line(cells: Sequence[str], tag: str) -> str:
        found = []
        for k, cell in enumerate(cells):
            look = "text" * (k in words) + " long" * (len(cell) > LONG_CELL)
            found.append(f'<{tag} class="{look}">{escape(cell)}</{tag}>')
        return "".join(found).replace(' class=""', "")

    lines = [f"<tr>{line(row, 'td')}</tr>" for row in rows]
    return (
        f'<div class="scroll"><table><thead><tr>{line(header, "th")}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def figures(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a row of large figures, each (figure, what it is)."""
    items = "".join(f"<li><b>{escape(a)}</b><span>{escape(b)}</span></li>" for a, b in pairs)
    return f'<ul class="figures">{items}</ul>'


def shown(value: float | int | None) -> str:
    """Return a number for a table."""
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
