"""Makes the navigation of every page from titles alone, which is all it shows.

Sphinx copies the contents of all pages for each page and then drops all but their titles, a third
of the time that it takes to write the site.
"""

from functools import cache
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def _titles_of(contents: nodes.Element) -> nodes.Element:
    """Return a page's contents with no more than Sphinx keeps of them for a navigation."""
    short = contents.deepcopy()
    for entry in short.children:
        if len(entry) > 1:
            below = list(entry.findall(addnodes.toctree))
            entry[1:] = [type(entry[1])("", *below)] if below else []
    return short


@cache
def _all_titles(env: BuildEnvironment) -> dict[str, nodes.Element]:
    return {page: _titles_of(contents) for page, contents in env.tocs.items()}


def _shorten(app: Sphinx, page: str, template: str, context: dict[str, Any], _: Any) -> None:
    if "toctree" not in context:
        return
    whole, env, titles = context["toctree"], app.env, _all_titles(app.env)

    def toctree(**options: Any) -> Any:
        contents = env.tocs
        env.tocs = titles if options.get("titles_only") else contents
        try:
            return whole(**options)
        finally:
            env.tocs = contents

    context["toctree"] = toctree


def setup(app: Sphinx) -> dict[str, bool]:
    """Run before the theme, which asks for the navigation at priority 500."""
    app.connect("html-page-context", _shorten, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
