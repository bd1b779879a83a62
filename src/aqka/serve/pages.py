"""The pages around the reports: the list of runs, and the frame that keeps a report up to date."""

import base64
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from aqka._util import colours
from aqka.report.run_page import TEMPLATES as REPORT_TEMPLATES

TEMPLATES = Path(__file__).parent / "templates"
ENVIRONMENT = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(page_name: str, /, **values: Any) -> tuple[str, str]:
    """Return a page and its policy: its own script and style, and requests to its own server."""
    style = _colours() + _own(REPORT_TEMPLATES / "page.css") + _own(TEMPLATES / "serve.css")
    script = _own(TEMPLATES / "live.js") + _own(TEMPLATES / f"{page_name}.js")
    page = ENVIRONMENT.get_template(f"{page_name}.html").render(
        values | {"style": Markup(style), "script": Markup(script)}
    )
    policy = (
        f"default-src 'none'; style-src 'sha256-{_hash(style)}'; "
        f"script-src 'sha256-{_hash(script)}'; connect-src 'self'; frame-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return page, policy


def _colours() -> str:
    schemes = (("", colours.LIGHT_PAGE), ("@media (prefers-color-scheme: dark)", colours.DARK_PAGE))
    parts = []
    for media, page in schemes:
        inside = "".join(f"--{name}: {value}; " for name, value in page.items())
        rule = f":root {{ color-scheme: light dark; {inside}}}"
        parts.append(f"{media} {{ {rule} }}\n" if media else f"{rule}\n")
    return "".join(parts)


def _own(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
