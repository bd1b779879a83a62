"""Pages from templates: one HTML file that needs nothing else, its style, script and data inside.

Every text that a template is given is escaped where it stands; nothing else in the room writes
HTML.
"""

import base64
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from aqka._util import colours

TEMPLATES = Path(__file__).parent / "templates"


def render(template: str, **values: Any) -> str:
    """Return a page; its policy forbids every request, and every script but its own."""
    script = _own_file("fold.js") + _own_file("heat_map.js")
    return ENVIRONMENT.get_template(template).render(
        values
        | {
            "style": _own_file("page.css"),
            "script": script,
            "policy": _policy(script),
            "colours": colours,
        }
    )


def _new_environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # The filter writes JSON that cannot end the script element it stands in.
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False}
    return environment


ENVIRONMENT = _new_environment()


def _own_file(name: str) -> Markup:
    """Return a file of the package, which is written as it is and read by no template engine."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
