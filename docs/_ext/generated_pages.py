"""Writes the pages that say what the code offers: its names, commands, experiments, words."""

import inspect
import pkgutil
import re
from functools import cache
from pathlib import Path
from typing import Any

import typer
from sphinx.application import Sphinx

from aqka.cli.app import RESEARCH, research_command
from aqka.cli.app import app as cli
from aqka.report.words import GLOSSARY
from aqka_research.figures.registry import PAGES as FIGURES
from aqka_research.figures.stamp import read_stamp
from aqka_research.reproduce.experiments import experiment_names, make_experiment

TEN = "[Ten words to begin with](../../howto/words.md) explain the most important ones."
# What estimators have from scikit-learn, and errors from Python, is not repeated.
INHERITED = ":inherited-members: BaseEstimator, ClassifierMixin, RegressorMixin, Exception"


def reference_pages(index: str) -> dict[str, str]:
    """Return a page for each section of the index of Python names, in reStructuredText.

    One page for each name would make the site's build twice as long.
    """
    pages = {}
    for section in index.split("\n## ")[1:]:
        room, _, what = section.splitlines()[0].partition(": ")
        lines = [line for name in public_names(section) for line in _documented(name)]
        if lines:
            heading = [room, "=" * len(room), "", f"{what.capitalize()}.", ""]
            pages[room] = "\n".join(heading + lines)
    return pages


def public_names(index: str) -> list[str]:
    """Return the full names that the index of Python names lists."""
    blocks = re.findall(r"currentmodule:: (\S+)\n.*?\n\n(.*?)```", index, re.DOTALL)
    return [f"{module}.{name}" for module, names in blocks for name in names.split()]


def _documented(full_name: str) -> list[str]:
    module, _, name = full_name.rpartition(".")
    found = pkgutil.resolve_name(full_name)
    kind, options = "function" if callable(found) else "data", []
    if inspect.isclass(found):
        kind = "exception" if issubclass(found, Exception) else "class"
        options = ["   :members:", f"   {INHERITED}"]
    return [f".. currentmodule:: {module}", "", f".. auto{kind}:: {name}", *options, ""]


@cache
def commands() -> dict[str, Any]:
    """Return every command of the command line by its full name."""
    found = dict(_commands(typer.main.get_command(cli), "aqka"))
    return found | {f"aqka {name}": research_command(name) for name in RESEARCH}


def _commands(command: Any, name: str) -> list[tuple[str, Any]]:
    children = getattr(command, "commands", None)
    if children is None:
        return [(name, command)]
    return [found for child in children for found in _commands(children[child], f"{name} {child}")]


def cli_page() -> str:
    """Return the reference of the command line."""
    parts = ["# Command line\n", "`aqka COMMAND --help` says the same in a terminal.\n"]
    for name, command in commands().items():
        parts += [f"## `{name}`\n", command.help.strip() + "\n"]
        if command.epilog:
            parts += [f"```\n{command.epilog.removeprefix('Example: ')}\n```\n"]
        rows = [_row(one) for one in command.params if "--help" not in one.opts]
        parts += ["| | | default |", "| --- | --- | --- |", *rows, ""]
    return "\n".join(parts)


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = parameter.metavar or parameter.name.upper()
    else:
        value = "" if parameter.is_flag else parameter.metavar or "VALUE"
        name = f"{', '.join(parameter.opts)} {value}".strip()
    default = "needed" if parameter.required else ""
    if not parameter.required and parameter.default not in (None, False):
        default = f"`{parameter.default}`"
    return f"| `{_cell(name)}` | {_cell(parameter.help or '')} | {default} |"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def experiments_page() -> str:
    """Return the list of the paper's experiments."""
    known = {name: make_experiment(name) for name in experiment_names()}
    rows = [
        f"| `{name}` | {_cell(one.title)} | {_cell(one.place)} | {len(one.claims)} |"
        for name, one in known.items()
    ]
    return "\n".join(
        [
            "# Experiments\n",
            "What `aqka reproduce NAME` runs. A claim is a number that the paper states; each is "
            "judged by a stated rule.\n",
            "| name | what it shows | in the paper | claims |",
            "| --- | --- | --- | --- |",
            *rows,
            "",
        ]
    )


def figures_page(measured: Path) -> str:
    """Return the list of measured pages: what each shows, what computed it, what a run takes."""
    rows = []
    for page in FIGURES:
        path = measured / f"{page.name}.md"
        stamp = read_stamp(path)
        name = f"[{page.name}](../../measured/{page.name}.md)" if path.exists() else page.name
        version = "to be computed" if stamp is None else f"computed with version {stamp['version']}"
        rows.append(f"| {name} | {_cell(page.about)} | {version} | {page.minutes:g} |")
    hours = sum(page.minutes for page in FIGURES) / 60
    return "\n".join(
        [
            "# Measured pages\n",
            "What `make figures` computes, and about how many processor minutes each page takes: "
            f"{hours:.1f} processor hours in all. `make figures-status` says which of them are out "
            "of date.\n",
            "| page | what it shows | state | minutes |",
            "| --- | --- | --- | --- |",
            *rows,
            "",
        ]
    )


def glossary_page() -> str:
    """Return the words of the report, each with its meaning."""
    words = [f"{term}\n: {meaning}\n" for term, meaning in sorted(GLOSSARY.items(), key=_folded)]
    return "\n".join(["# Glossary\n", f"The words of the report. {TEN}\n", *words])


def _folded(item: tuple[str, str]) -> str:
    return item[0].lower()


def _write(app: Sphinx) -> None:
    directory = Path(app.srcdir) / "reference" / "generated"
    directory.mkdir(parents=True, exist_ok=True)
    index = (Path(app.srcdir) / "reference" / "api.md").read_text(encoding="utf-8")
    for name, page in reference_pages(index).items():
        (directory / f"{name}.rst").write_text(page, encoding="utf-8")
    (directory / "cli.md").write_text(cli_page(), encoding="utf-8")
    (directory / "experiments.md").write_text(experiments_page(), encoding="utf-8")
    figures = figures_page(Path(app.srcdir) / "measured")
    (directory / "figures.md").write_text(figures, encoding="utf-8")
    (directory / "glossary.md").write_text(glossary_page(), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx looks which pages there are."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
