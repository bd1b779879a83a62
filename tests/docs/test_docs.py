"""The documentation site: it builds, fetches nothing, and tells no stories."""

import re
import shlex
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import typer
from filelock import FileLock
from matplotlib.image import imread, imsave
from sphinx.util.inventory import InventoryFile

import aqka
import aqka.backends
import aqka.dropins
import aqka.testing
from aqka.cli.app import app as cli
from docs._ext.generated_pages import commands
from docs.conftest import check_figure

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(p for p in DOCS.rglob("*.md") if "generated" not in p.parts)
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]


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
    shutil.copy(ROOT / "README.md", home)  # a page takes its table
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


def test_every_public_name_is_in_the_reference(site):
    with (site / "objects.inv").open("rb") as stream:
        inventory = InventoryFile.load(stream, "", lambda base, path: path)
    known = {name for kind in inventory.values() for name in kind}
    modules = (aqka, aqka.backends, aqka.dropins, aqka.testing)
    names = [(module.__name__, name) for module in modules for name in module.__all__]
    missing = [
        f"{module}.{name}"
        for module, name in names
        if name != "__version__" and not {f"{module}.{name}", f"aqka.{name}"} & known
    ]
    assert missing == [], "add them to docs/reference/api.md"


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
    of_all = typer.main.get_command(cli)
    parameters = (known[name] if name else of_all).params
    options = {option for parameter in parameters for option in parameter.opts} | {"--help"}
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= options, line


def test_links_out_of_the_readme_lead_somewhere():
    for text in TEXTS[:2]:
        for target in re.findall(r"\]\(([^)#]+)", text.read_text(encoding="utf-8")):
            assert is_elsewhere(target) or (ROOT / target).exists(), target


def test_the_table_of_allocators_has_them_all():
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Allocators")[2]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    assert sorted(re.findall(r"`([^`]+)`", " ".join(rows))) == sorted(aqka.allocator_names())


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
        drawn += [(page.name, name) for name in re.findall(r'savefig\("([^"]+)"', text)]
        shown += [
            (page.name, name) for name in re.findall(r"\]\((?:\.\./)?figures/([^)]+)\)", text)
        ]
    assert sorted(drawn) == sorted(shown)
    assert sorted(name for _, name in drawn) == sorted(p.name for p in DOCS.glob("figures/*"))


def test_a_figure_that_has_changed_is_noticed(tmp_path):
    kept = DOCS / "figures" / "gini.png"
    picture = imread(kept)
    check_figure(kept, kept)
    imsave(tmp_path / "drawn.png", np.flip(picture, axis=1))
    with pytest.raises(AssertionError, match=r"another docs/figures/gini\.png"):
        check_figure(tmp_path / "drawn.png", kept)
