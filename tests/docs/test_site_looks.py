"""The site in a real browser: no line of code is cut off, and the sidebar can be taken in."""

import pytest

from tests.docs.test_docs import site  # noqa: F401
from tests.report.browser import chromium

PAGES = (
    "index.html",
    "tutorial/data-to-hardware.html",
    "howto/estimators.html",
    "reference/study.html",
    "reference/generated/cli.html",
    "explanation/research.html",
)
CUT_OFF = """() => [...document.querySelectorAll('div.highlight pre')]
    .filter((block) => block.scrollWidth > block.clientWidth).map((block) => block.textContent)"""
WRAPPED = """() => [...document.querySelectorAll('div.highlight pre')].filter((block) =>
    block.clientHeight > 30 + parseFloat(getComputedStyle(block).lineHeight)
    * block.textContent.trimEnd().split('\\n').length).map((block) => block.textContent)"""

VISIBLE = """() => [...document.querySelectorAll('.sidebar-tree a')]
    .filter((link) => link.checkVisibility()).map((link) => link.innerText)"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.mark.parametrize("width", [390, 1280])
def test_code_is_seen_whole(browser, site, width):  # noqa: F811
    page = browser.new_page(viewport={"width": width, "height": 900})
    for name in PAGES:
        page.goto((site / name).as_uri())
        assert page.evaluate(CUT_OFF) == [], name
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width, name
        if width == 1280 and name == "reference/study.html":
            assert page.evaluate(WRAPPED) == []  # a study file's comments keep their column
    page.close()


def test_the_sidebar_unfolds_only_where_the_reader_is(browser, site):  # noqa: F811
    page = browser.new_page(viewport={"width": 1280, "height": 900})

    def visible(name):
        page.goto((site / name).as_uri())
        return page.evaluate(VISIBLE)

    parts = ["Tutorial", "How to", "Explanation", "Reference", "Research"]
    assert visible("index.html") == parts
    for name in PAGES[1:]:
        found = visible(name)
        assert set(parts) < set(found)
        assert len(found) < 45, name  # of more than 100 pages
    assert "Three points by hand" not in visible("explanation/when-not.html")
    assert "Three points by hand" in visible("explanation/research.html")
    page.close()
