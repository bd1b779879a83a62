"""Labels, columns, names and studies are strangers' texts: in a page they are text, everywhere."""

import json
from html.parser import HTMLParser

import pytest
from jinja2 import UndefinedError

from aqka.report.comparison import comparison_page
from aqka.report.run_page import ENVIRONMENT, TEMPLATES, render, run_page
from aqka.report.run_report import run_report
from tests.report.runs import (
    HOSTILE_ID,
    HOSTILE_LABELS,
    HOSTILE_TEXT,
    say_everywhere,
)

HARMLESS_TEXT = "X" * len(HOSTILE_TEXT)


class Anatomy(HTMLParser):
    """A page taken apart: its elements with their attributes, and its texts."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.texts, self.data = [], [], None
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, attributes))

    def handle_endtag(self, tag):
        self.elements.append((f"/{tag}", []))

    def handle_comment(self, text):
        self.elements.append(("comment", [text]))

    def handle_data(self, text):
        tag, attributes = self.elements[-1] if self.elements else ("", [])
        if tag == "script" and ("id", "pairs") in attributes:
            self.data = json.loads(text)
        else:
            self.texts.append(text)

    def count(self, text):
        return sum(one.count(text) for one in self.texts)


def page_of(kind, report, text):
    said = say_everywhere(report, text)
    # The second run has one setting more, so that it is among those that differ.
    other = say_everywhere(report, text)
    other.settings[f"{text} too"] = text
    return run_page(said) if kind == "run" else comparison_page([said, other])


@pytest.mark.parametrize("kind", ["run", "comparison"])
def test_no_text_becomes_an_element_or_an_attribute(report, kind):
    """A page full of markup is built as the page full of harmless words is, and says as much."""
    hostile = Anatomy(page_of(kind, report, HOSTILE_TEXT))
    harmless = Anatomy(page_of(kind, report, HARMLESS_TEXT))
    assert hostile.elements == harmless.elements
    assert hostile.count(HOSTILE_TEXT) == harmless.count(HARMLESS_TEXT)
    assert hostile.count(HOSTILE_TEXT) > (20 if kind == "run" else 6)
    if kind == "run":
        assert set(hostile.data["labels"]) == {HOSTILE_TEXT}
        assert set(hostile.data["ids"]) == {HOSTILE_TEXT}


def test_the_policy_allows_the_pages_own_script_alone(report):
    page = Anatomy(run_page(report))
    [policy] = [
        dict(attributes)["content"]
        for _, attributes in page.elements
        if ("http-equiv", "Content-Security-Policy") in attributes
    ]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")


def test_every_template_escapes_and_misses_nothing_silently():
    assert ENVIRONMENT.autoescape is True
    assert sorted(ENVIRONMENT.list_templates()) == sorted(file.name for file in TEMPLATES.iterdir())
    for file in TEMPLATES.glob("*.html"):
        text = file.read_text()
        assert "safe" not in text  # no text is let through unescaped
        assert "autoescape" not in text
    with pytest.raises(UndefinedError):
        render("run.html", pairs=None)


def test_hostile_names_are_escaped(hostile):
    page = run_page(run_report(hostile))
    for name in HOSTILE_LABELS[:1]:
        assert name not in page
    assert "<img" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert page.count("<script") == page.count("</script>") == 2
    assert set(Anatomy(page).data["labels"]) == set(HOSTILE_LABELS)
    assert all(name.startswith(HOSTILE_ID) for name in Anatomy(page).data["ids"])
    assert "&lt;/td&gt;&lt;img src=x" in page  # the names of points that are listed
