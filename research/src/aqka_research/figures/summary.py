"""The first page: what was measured, in ten lines that come from the other pages."""

import re
from collections.abc import Callable
from pathlib import Path

from aqka._util.files import write_atomically
from aqka.errors import InputError
from aqka_research.figures.page import PageRun
from aqka_research.figures.stamp import read_stamp
from aqka_research.markdown import table

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
"""Around what this page writes into the README."""
Lines = Callable[[str], str | None]


def _search(pattern: str, words: str) -> Lines:
    """Return a line of ``words`` with what a pattern finds in a page, None where it finds none."""

    def line(text: str) -> str | None:
        found = re.search(pattern, text, re.DOTALL)
        return None if found is None else words.format(*found.groups())

    return line


def _way(kind: str, way: str, section: str = "Without noise") -> str:
    """Return a pattern that finds a way's QPU times at 100 and 1,000 new points, and its tasks."""
    figure, others = r" ([^|]+?) \|", r"(?:[^|]+\|){3}"
    row = rf"\| {re.escape(way)} \|{figure}{others}{figure}{others}{figure}"
    return rf"## {section}.*?### {kind} tasks.*?{row}"


def _ways(kind: str, section: str, words: str) -> Lines:
    """Return a line with the QPU times of Qiskit's default and of points on tiles."""

    def line(text: str) -> str | None:
        ways = ("Qiskit Machine Learning's default", "points on tiles")
        found = [re.search(_way(kind, way, section), text, re.DOTALL) for way in ways]
        if any(one is None for one in found):
            return None
        times = [one[k].replace(">", "more than") for k in (1, 2) for one in found if one]
        return words.format(*times)

    return line


TEN: tuple[tuple[str, Lines], ...] = (
    (
        "everything",
        _ways(
            "Natural",
            "Without noise",
            "Within a point of the exact kernel's accuracy on natural tasks, 100 new points "
            "included: {0} of QPU time with Qiskit Machine Learning's default, {1} with points on "
            "tiles.",
        ),
    ),
    (
        "everything",
        _ways(
            "Quantum-labelled",
            "Without noise",
            "On tasks that the quantum kernel labelled and classical models cannot learn: {0} with "
            "that default, {1} with points on tiles.",
        ),
    ),
    (
        "everything",
        _ways(
            "Quantum-labelled",
            "With the noise of fake_fez",
            "The same with the noise of a fake Heron: {0}, and {1}.",
        ),
    ),
    (
        "classical",
        _search(
            r"\| natural \((\d+) tasks\) \| ([\d.]+%)[^|]*\| ([\d.]+%)[^|]*\|[^|]*\| ([\d.]+%)",
            "On {0} natural tasks a classical model needs no shots and reaches {2}, "
            "the exact quantum kernel {1}; {3} of the kernel's labels come for free.",
        ),
    ),
    (
        "classical",
        _search(
            r"\| quantum-labelled \((\d+) tasks\) \| ([\d.]+%)[^|]*\| ([\d.]+%)",
            "On {0} quantum-labelled tasks it is the other way round: {1} for the exact quantum "
            "kernel, {2} for the best classical model.",
        ),
    ),
    (
        "total",
        _search(
            r"\*natural\* \(\d+ tasks\): ([\d.]+) times fewer shots.*?gives ([\d.]+%).*?"
            r"\*quantum-labelled\* \(\d+ tasks\): ([\d.]+) times fewer shots.*?gives ([\d.]+%)",
            "For 90% of the exact labels of 100 new points, points need {2} times fewer shots than "
            "pairs on quantum-labelled tasks, where a classical model gives {3} for free, and {0} "
            "times fewer on natural ones, where it gives {1}.",
        ),
    ),
    (
        "tiles",
        _search(
            r"\| fake_fez \| 4 \| (\d+) \|.*?\| ([\d.]+) × \|",
            "A Heron runs {0} circuits of 4 qubits side by side: executions fall {1}-fold.",
        ),
    ),
    (
        "prediction",
        _search(
            r"points settled with the wrong class[^|]*\| ([\d.]+%) of all",
            "Test shots stop when a class is settled; {0} of the points are settled wrongly, where "
            "5% are allowed.",
        ),
    ),
    (
        "readings",
        _search(
            r"\*\*(\d+)\*\* hold under the literal reading.*?\*\*(\d+)\*\* of (\d+) hold under a "
            r"practitioner",
            "{0} of the paper's {2} numbers hold as its text reads, {1} with a tuned ridge: most "
            "of its gain comes from a small fixed one.",
        ),
    ),
    (
        "benchmarks",
        _search(
            r"exact kernel, 4 qubits, N = 1000, beside Qiskit[^|]*\| ([\d,.]+) × faster",
            "Exact kernels are computed {0} times faster than by Qiskit Machine Learning (4 "
            "qubits, 1,000 points).",
        ),
    ),
)


def ten_lines(directory: Path) -> list[str]:
    """Return the lines of the pages that were computed; a full page must have its line."""
    lines = []
    for page, line in TEN:
        path = directory / f"{page}.md"
        stamp = read_stamp(path)
        if stamp is None:
            continue
        found = line(path.read_text(encoding="utf-8"))
        if found is not None:
            lines.append(f"{found} [{page.capitalize()}]({page}.md)")
        elif stamp["size"] == "full":
            raise InputError(f"{path} has no line that the summary can quote; see {__name__}.TEN.")
    return lines


def readme_block(directory: Path) -> str | None:
    """Return what the README opens with: QPU times of every way, and the ten lines.

    None as long as the comparison with everything was not computed.
    """
    path = directory / "everything.md"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    kinds = [kind for kind in ("Natural", "Quantum-labelled") if f"### {kind} tasks" in text]
    ways = re.findall(r"^\| ([^|*]+?) \| (?:> )?\d[^|]*\|", text, re.MULTILINE)
    if not kinds or not ways:
        return None
    rows = []
    for way in dict.fromkeys(ways):
        found = [re.search(_way(kind, way), text, re.DOTALL) for kind in kinds]
        rows.append([way, *(figure for one in found if one for figure in one.groups())])
    header = ["[QPU time](docs/measured/everything.md), training included"]
    for kind in kinds:
        header += [f"{kind.lower()} tasks: 100 new points", "1,000", "reached"]
    words = (
        "What it costs to come within a point of the exact kernel's accuracy, on held-out tasks. "
        "“>”: some tasks did not get there with the most shots tried."
    )
    lines = [line.replace("](", "](docs/measured/") for line in ten_lines(directory)]
    listed = "\n".join(f"- {line}" for line in lines)
    picture = "![QPU time of every method on every held-out task](docs/measured/everything.png)"
    return f"{words}\n\n{table(header, rows)}\n\n{picture}\n\n{listed}"


def put_into(path: Path, block: str) -> None:
    """Replace what stands between the two marks of a file."""
    text = path.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    write_atomically(path, f"{before}{BEGIN}\n\n{block}\n\n{END}{after}".encode())


def page(run: PageRun) -> list[str]:
    """Write the page from the others, and the part of the README that comes from it."""
    lines = ten_lines(run.path.parent)
    readme, block = run.path.parents[2] / "README.md", readme_block(run.path.parent)
    if run.size == "full" and block is not None and readme.exists():
        put_into(readme, block)
    return [
        "# What we measured, in ten lines",
        "Every figure is computed by committed code, accuracies and shots on "
        "[held-out tasks](held-out.md), and every line comes from the page it links to.",
        "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1)),
    ]
