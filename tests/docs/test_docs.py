"""The documentation site: it builds, fetches nothing, and tells no stories."""

import inspect
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from ast import literal_eval
from html.parser import HTMLParser
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import typer
from filelock import FileLock
from numpydoc.docscrape import NumpyDocString

import aqka
from aqka.allocators import make_allocator
from aqka.cli.app import app as cli
from aqka.core import Problem
from aqka.learners import make_learner
from aqka.testing import check_allocator
from docs._ext.generated_pages import commands, public_names
from docs.conftest import check_figure, read_figure, write_figure

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(p for p in DOCS.rglob("*.md") if "generated" not in p.parts)
API = DOCS / "reference" / "api.md"
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]
ROOMS = sorted(p.parent.name for p in (ROOT / "src" / "aqka").glob("*/__init__.py"))


@pytest.fixture(scope="module")
def site(tmp_path_factory, worker_id):
    """The site as ``make docs`` builds it, once for all test processes."""
    base = tmp_path_factory.getbasetemp()
    home = (base if worker_id == "master" else base.parent) / "site"
    with FileLock(home.with_suffix(".lock")):
        if not home.exists():
            build(home)
    messages = (home / "messages").read_text(encoding="utf-8")
    assert messages == ""
    return home / "html"


def build(home):
    skipped = shutil.ignore_patterns("generated", "__pycache__")  # the sources stay clean
    shutil.copytree(DOCS, home / "docs", ignore=skipped)
    flags = ["--fail-on-warning", "--keep-going", "--nitpicky", "--quiet"]
    command = [sys.executable, "-m", "sphinx", *flags, home / "docs", home / "html"]
    built = subprocess.run(command, capture_output=True, text=True)
    failed = f"exit code {built.returncode}" if built.returncode else ""
    (home / "messages").write_text(built.stderr + failed, encoding="utf-8")


class Fetched(HTMLParser):
    """Collects what a browser fetches without being asked: not links, but all else."""

    def __init__(self, page):
        super().__init__()
        self.addresses = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        of_interest = ("src", "srcset", "data", "poster") + (("href",) if tag == "link" else ())
        self.addresses += [value for name, value in attrs if name in of_interest and value]


def is_elsewhere(address):
    return re.match(r"(\w+:)?//", address) is not None


def test_the_site_builds_without_warnings_and_fetches_nothing(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 60
    fetched = [(p.name, a) for p in pages for a in Fetched(p).addresses]
    assert len(fetched) > len(pages)  # the parser does see styles and scripts
    assert [one for one in fetched if is_elsewhere(one[1])] == []
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        found = re.findall(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)", text)
        assert [a for pair in found for a in pair if is_elsewhere(a)] == [], sheet.name


def test_formulas_are_drawn_by_the_browser(site):
    page = (site / "explanation" / "mathematics.html").read_text(encoding="utf-8")
    assert page.count("<math ") > 50
    assert "$" not in re.sub(
        r"<[^>]+>", "", page.partition("<article")[2].partition("</article")[0]
    )
    assert (site / "_static" / "STIXTwoMath-Regular.ttf").exists()


def test_every_public_name_is_in_the_reference():
    known = set(public_names(API.read_text(encoding="utf-8")))
    rooms = [room for room in ROOMS if room != "cli"]  # commands have a page of their own
    modules = [aqka, *(import_module(f"aqka.{room}") for room in rooms)]
    names = [
        (module.__name__, name) for module in modules for name in getattr(module, "__all__", ())
    ]
    missing = [
        f"{module}.{name}"
        for module, name in names
        if name != "__version__" and not {f"{module}.{name}", f"aqka.{name}"} & known
    ]
    assert missing == [], "add them to docs/reference/api.md"


def documented(found):
    """Names with a line of their own in the Parameters or Attributes of a docstring."""
    homes = [one for one in found.__mro__ if one.__doc__] if inspect.isclass(found) else [found]
    read = [NumpyDocString(inspect.cleandoc(home.__doc__ or "")) for home in homes]
    sections = [part[name] for part in read for name in ("Parameters", "Attributes")]
    return {name.strip() for section in sections for one in section for name in one.name.split(",")}


def test_public_names_document_their_parameters():
    """All of a class's, and a function's where there are more than two; those are in the text."""
    lacking = {}
    for full_name in public_names(API.read_text(encoding="utf-8")):
        found = pkgutil.resolve_name(full_name)
        assert found.__doc__, full_name
        if not callable(found) or inspect.isabstract(found):
            continue
        if inspect.isclass(found) and issubclass(found, Exception):
            continue
        kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        parameters = inspect.signature(found).parameters.values()
        names = {one.name for one in parameters if one.kind not in kinds}
        if (inspect.isclass(found) or len(names) > 2) and not names <= documented(found):
            lacking[full_name] = sorted(names - documented(found))
    assert lacking == {}


RESULTS = {  # aqka makes these and users read them: their fields are Attributes
    "aqka.designs.answered.PriorAudit",
    "aqka.backends.diagonal.Depolarising",
    "aqka.backends.diagonal.Drift",
    "aqka.backends.diagonal.TileHits",
    "aqka.backends.tiles.Tiling",
    "aqka.backends.tiles.Place",
    "aqka.runs.export.Measurements",
    "aqka.runs.export.Outcomes",
    "aqka.runs.export.Recorded",
    "aqka.planning.Quote",
    "aqka.planning.QuotePart",
    "aqka.planning.Split",
    "aqka.insight.Diagnostics",
    "aqka.insight.recommendation.Preflight",
    "aqka.insight.map_training.TrainedMap",
    "aqka.insight.validation.Validation",
}
NEEDED = {"aqka.core.PointPlan": "letters"}  # None by inheritance, and refused


def constructible():
    """Classes that users construct, by name: the reference's, all allocators and all learners."""
    listed = public_names(API.read_text(encoding="utf-8"))
    found = {name: pkgutil.resolve_name(name) for name in listed if name not in RESULTS}
    found |= {f"allocator {name}": type(make_allocator(name)) for name in aqka.allocator_names()}
    found |= {f"learner {name}": type(make_learner(name)) for name in aqka.learner_names()}
    return {
        name: one
        for name, one in found.items()
        if inspect.isclass(one) and not inspect.isabstract(one) and not issubclass(one, Exception)
    }


def stated(found):
    """Each parameter of a class's own docstring: its type, and its default as a text."""
    parameters = {}
    for entry in NumpyDocString(inspect.cleandoc(found.__doc__))["Parameters"]:
        kind, _, default = entry.type.partition(", default=")
        default = "None" if kind.endswith("optional") else default
        names = [name.strip() for name in entry.name.split(",")]
        each = default.split(", ") if len(names) == default.count(", ") + 1 else [default] * 99
        parameters |= {name: (kind, text) for name, text in zip(names, each, strict=False)}
    return {name: one for name, one in parameters.items() if not name.startswith("*")}


def as_value(text):
    """The value of a default that is a literal; else, such as of a constant's name, the text."""
    try:
        return literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def section_of(found):
    """The class whose section states a class's parameters: its own, or one that it names."""
    if stated(found) or not (parameters := inspect.signature(found).parameters):
        return found
    base = next(base for base in found.__mro__ if stated(base))
    assert all(f"``{name}``" in found.__doc__ for name in parameters), found
    assert re.search(rf"``\w+`` is\s+that of :class:`({base.__name__}|Aqka)`", found.__doc__), found
    return base


def test_classes_that_users_construct_state_types_and_defaults_in_their_own_parameters():
    for name, found in constructible().items():
        kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        known = inspect.signature(found).parameters.values()
        known = {one.name: one.default for one in known if one.kind not in kinds}
        said = stated(section_of(found))
        assert list(said) == list(known), name
        for parameter, default in known.items():
            kind, text = said[parameter]
            needed = default is inspect.Parameter.empty or NEEDED.get(name) == parameter
            assert kind.strip(), (name, parameter)
            assert bool(text) != needed, (name, parameter)
            if not needed and (default is None or isinstance(default, bool | int | float | str)):
                assert as_value(text) == default, (name, parameter)


def mentioned(pattern):
    """What matches on any page, with the page's name."""
    return sorted(
        {
            (found, text.name)
            for text in TEXTS
            for found in re.findall(pattern, text.read_text(encoding="utf-8"))
        }
    )


def test_every_module_and_name_that_pages_mention_exists():
    names = mentioned(r"(?<![\w/])aqka(?:\.\w+)+")
    assert len(names) > 50
    elsewhere = ["aqka.allocators.cautious"]  # the one that contributors write
    if find_spec("squlearn") is None:  # which comes with an extra that tests do not need
        elsewhere.append("aqka.dropins.squlearn")
    missing = []
    for name, page in names:
        if name.startswith(tuple(elsewhere)):
            continue
        try:
            pkgutil.resolve_name(name)
        except (ImportError, AttributeError):
            missing.append((name, page))
    assert missing == []


def test_every_file_that_pages_mention_exists():
    paths = mentioned(r"(?<![\w/.])(?:src|tests|docs|research)/[\w/.-]*\w")
    assert len(paths) > 20
    assert [(path, page) for path, page in paths if not (ROOT / path).exists()] == []


def first_column(text, heading):
    """The names in code of the first column of a section's table, sorted."""
    section = text.read_text(encoding="utf-8").partition(heading)[2].partition("\n## ")[0]
    rows = [row.split("|")[1] for row in section.splitlines() if row.startswith("| `")]
    return sorted(re.findall(r"`([^`]+)`", " ".join(rows)))


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        (ROOT / "README.md", "## What is where"),
        (DOCS / "explanation" / "design.md", "## Packages"),
    ],
    ids=["readme", "design"],
)
def test_the_table_of_rooms_has_them_all(text, heading):
    assert first_column(text, heading) == ROOMS


def test_the_allocator_of_the_contributors_guide_keeps_the_contract():
    code = re.search(r"```python\n(.*?)```", TEXTS[1].read_text(encoding="utf-8"), re.DOTALL)[1]
    module = ModuleType("aqka.allocators.cautious")
    exec(code, vars(module))
    check_allocator(module.Cautious(), Problem([1, 1, -1, -1]), 0.3 + 0.7 * np.eye(4), budget=100)


def code_lines(text):
    """Lines of fenced blocks and inline code."""
    fenced = re.findall(r"^ *```[^\n]*\n(.*?)^ *```", text, flags=re.MULTILINE | re.DOTALL)
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    return [line.strip() for block in fenced for line in block.splitlines()] + inline


def mentioned_commands():
    lines = {line for page in TEXTS for line in code_lines(page.read_text(encoding="utf-8"))}
    return sorted(line for line in lines if line.startswith("aqka "))


@pytest.mark.parametrize("line", mentioned_commands())
def test_commands_that_pages_mention_exist(line):
    words = shlex.split(line, comments=True)
    known = commands()
    name = next((n for n in (" ".join(words[:3]), " ".join(words[:2])) if n in known), None)
    if name is None and not words[1].startswith("--"):
        assert words[1] in ("ledger", "COMMAND"), line  # the group alone, or any command
    parameters = (known[name] if name else typer.main.get_command(cli)).params
    options = {option for parameter in parameters for option in parameter.opts} | {"--help"}
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= options, line


def test_links_out_of_the_readme_lead_somewhere():
    for text in TEXTS[:2]:
        for target in re.findall(r"\]\(([^)#]+)", text.read_text(encoding="utf-8")):
            assert is_elsewhere(target) or (ROOT / target).exists(), target


def test_the_table_of_allocators_has_them_all():
    assert first_column(DOCS / "reference" / "allocators.md", "# Allocators") == sorted(
        aqka.allocator_names()
    )


def files_in(page):
    """Files that a page shows: fenced Python blocks that begin with a comment of their name."""
    text = page.read_text(encoding="utf-8")
    return dict(re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```", text, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("page", [p for p in PAGES if files_in(p)], ids=lambda page: page.stem)
def test_files_that_pages_show_run(page, tmp_path):
    files = files_in(page)
    for name, code in files.items():
        (tmp_path / name).write_text(code, encoding="utf-8")
    for name in files:
        tool = ["-m", "pytest", "-q", "-p", "no:cacheprovider"] if name.startswith("test_") else []
        ran = subprocess.run(
            [sys.executable, *tool, name], cwd=tmp_path, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_every_figure_is_drawn_and_shown_by_one_page():
    drawn, shown = [], []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        drawn += [(page.name, name) for name in re.findall(r'(?:savefig|draw)\("([^"]+)"', text)]
        shown += [
            (page.name, name) for name in re.findall(r"\]\((?:\.\./)?figures/([^)]+)\)", text)
        ]
    assert sorted(drawn) == sorted(shown)
    assert sorted(name for _, name in drawn) == sorted(p.name for p in DOCS.glob("figures/*"))


def flipped(picture, words):
    return np.flip(picture, axis=1), words


def curves_changed_places(picture, words):
    return picture[..., [0, 2, 1]], words


def without_labels(picture, words):
    return picture, {**words, "texts": words["texts"][1:]}


def with_other_margins(picture, words):
    return picture, {**words, "axes": [[0.2, *place[1:]] for place in words["axes"]]}


def cut_off(picture, words):
    return picture[:-4], words


def with_the_data_of_another(picture, words):
    other, _ = read_figure(DOCS / "figures" / "gini.png")
    height, width = picture.shape[:2]
    return np.resize(other[:height, :width], picture.shape), words


@pytest.mark.parametrize(
    "change",
    [
        flipped,
        curves_changed_places,
        without_labels,
        with_other_margins,
        cut_off,
        with_the_data_of_another,
    ],
)
def test_a_figure_that_has_changed_is_noticed(change, tmp_path):
    kept = DOCS / "figures" / "regimes.png"
    check_figure(kept, kept)
    write_figure(*change(*read_figure(kept)), tmp_path / "drawn.png")
    with pytest.raises(AssertionError, match=r"another docs/figures/regimes\.png"):
        check_figure(tmp_path / "drawn.png", kept)


def test_a_figure_of_other_draws_is_the_same_figure(tmp_path):
    kept = DOCS / "figures" / "regimes.png"
    picture, words = read_figure(kept)
    write_figure(np.roll(picture, 3, axis=(0, 1)), words, tmp_path / "drawn.png")
    check_figure(tmp_path / "drawn.png", kept)
