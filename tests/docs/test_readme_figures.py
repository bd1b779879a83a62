"""Every figure in the README stands on a measured page that the same paragraph links to."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIGURE = re.compile(r"(?<![\w.,-])\d+(?:,\d{3})*(?:\.\d+)?%?(?![\w⁰-ⁿ])")
TIMES = re.compile(r"(\d[\d,.]*)(?: and (\d[\d,.]*))? times fewer")
ALLOWED = {
    "1",  # Algorithm 1
    "3.11",  # Python
    "2.0",  # the licence
    "4",  # qubits of the example circuit
    "156",  # qubits of a Heron
}


def paragraphs():
    """Paragraphs and bullets of the README without its code."""
    text = re.sub(r"```.*?```", "", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.S)
    return [part for part in re.split(r"\n\s*\n|\n(?=- )", text) if part.strip()]


def prose(paragraph):
    """The words of a paragraph: no inline code, no targets of links, no space before a per cent."""
    plain = re.sub(r"`[^`]*`|\]\([^)]*\)", " ", paragraph)
    return re.sub(r"\s+", " ", plain).replace(" %", "%")


def linked_pages(paragraph):
    targets = re.findall(r"\]\((docs/measured/[\w-]+\.md)", paragraph)
    return "\n".join((ROOT / target).read_text(encoding="utf-8") for target in targets)


def figures(text):
    return set(FIGURE.findall(text.replace(" %", "%")))


def missing(paragraph):
    """Figures of a paragraph that no page it links to has; "times fewer" may be rounded."""
    words, page = prose(paragraph), linked_pages(paragraph)
    measured = {
        f"{float(number):.0f}" for match in TIMES.finditer(page) for number in match.groups("0")
    }
    ratios = {number for match in TIMES.finditer(words) for number in match.groups() if number}
    others = figures(TIMES.sub(" ", words)) - ALLOWED - figures(page)
    return sorted((ratios - measured) | others)


def test_every_figure_is_on_a_measured_page_that_its_paragraph_links_to():
    found = {part[:60]: missing(part) for part in paragraphs()}
    assert {part: numbers for part, numbers in found.items() if numbers} == {}
    assert sum(len(figures(prose(part))) for part in paragraphs()) > 20  # the test does see some


@pytest.mark.parametrize(
    ("before", "after"),
    [("[8 times", "[9 times"), ("85.7 %", "85.8 %"), ("6.79 s", "6.78 s"), ("309", "310")],
)
def test_a_figure_that_was_changed_is_noticed(before, after):
    changed = [part.replace(before, after) for part in paragraphs() if before in part]
    assert changed
    assert missing(changed[0])
