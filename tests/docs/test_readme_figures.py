"""Every figure in the README stands on a measured page that the same paragraph links to."""

import re
from pathlib import Path

from aqka_research.figures.summary import BEGIN, END, readme_block

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
    exact = {number for match in TIMES.finditer(page) for number in match.groups("0")}
    measured = exact | {f"{float(number):.0f}" for number in exact}
    ratios = {number for match in TIMES.finditer(words) for number in match.groups() if number}
    others = figures(TIMES.sub(" ", words)) - ALLOWED - figures(page)
    return sorted((ratios - measured) | others)


def test_every_figure_is_on_a_measured_page_that_its_paragraph_links_to():
    found = {part[:60]: missing(part) for part in paragraphs()}
    assert {part: numbers for part, numbers in found.items() if numbers} == {}
    assert sum(len(figures(prose(part))) for part in paragraphs()) > 12  # the test does see some


def test_a_figure_that_was_changed_is_noticed():
    """Every figure of more than one digit, one after the other."""
    noticed = 0
    for part in paragraphs():
        for figure in sorted(figures(prose(part)) - ALLOWED):
            shown = figure.replace("%", " %") if figure not in part else figure
            if len(figure) > 2 and shown in part:
                other = re.sub(r"\d(?=\D*$)", lambda last: str((int(last[0]) + 3) % 10), shown)
                noticed += bool(missing(part.replace(shown, other)))
    assert noticed > 10


def test_other_pages_link_to_measured_figures_and_repeat_none():
    """Only the README's are compared with their page, so only there may they be repeated."""
    link = re.compile(r"\[([^\]]*\d\s*(?:%|×|times)[^\]]*)\]\((?:\.\./)*measured/[\w-]+\.md")
    pages = [path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "measured"]
    texts = {path.name: path.read_text(encoding="utf-8") for path in pages}
    assert {name: link.findall(text) for name, text in texts.items() if link.search(text)} == {}
    assert sum("measured/" in text for text in texts.values()) > 5


def test_what_the_summary_writes_into_the_readme_is_there():
    block = readme_block(ROOT / "docs" / "measured")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.count(BEGIN) == readme.count(END) == 1
    assert readme.split(BEGIN)[1].split(END)[0].strip() == block
