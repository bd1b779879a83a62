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
NOISELESS, NOISY = "Without noise", "With the noise of fake_fez"
"""Sections of the comparison with everything."""


def _search(pattern: str, words: str) -> Lines:
    """Return a line of ``words`` with what a pattern finds in a page, None where it finds none."""

    def line(text: str) -> str | None:
        found = re.search(pattern, text, re.DOTALL)
        return None if found is None else words.format(*found.groups(""))

    return line


def _way(text: str, kind: str, way: str, section: str) -> tuple[str, ...] | None:
    """Return a way's QPU times at 100 and 1,000 new points and its tasks; None where none is."""
    _, _, part = text.partition(f"## {section}\n")
    _, _, part = re.split("^## ", part, flags=re.MULTILINE)[0].partition(f"### {kind} tasks")
    figure, others = r" ([^|]+?) \|", r"(?:[^|]+\|){3}"
    row = rf"^\| {re.escape(way)} \|{figure}{others}{figure}{others}{figure}"
    found = re.search(row, part.partition("\n### ")[0], re.MULTILINE)
    return None if found is None else found.groups()


def _ways(section: str, words: str, *kinds: str) -> Lines:
    """Return a line with each kind's QPU times at 100 new points, and on how many tasks reached.

    First those of Qiskit Machine Learning's default, then those of points on tiles.
    """

    def line(text: str) -> str | None:
        parts: list[str] = []
        for kind in kinds:
            for way in ("Qiskit Machine Learning's default", "points on tiles"):
                found = _way(text, kind, way, section)
                if found is None:
                    return None
                time, _, reached = found
                parts += (f"{SAID[time[0]]} {time[2:]}" if time[0] in SAID else time, reached)
        return words.format(*parts)

    return line


SAID = {">": "more than", "<": "less than", "~": "about"}
"""What the mark before a mean is in a sentence."""
CONTROL = r"\| {} \((\d+) tasks\) \| ([\d.]+%)[^|]*\| ([\d.]+%)[^|]*\|[^|]*\| ([\d.]+%)"
SETTLED = (
    r"\| {} \(\d+ tasks\): points settled with the wrong class[^|]*\| ([\d.]+%) of all"
    r"[^|]*\(([\d.]+%) settled\)"
)
FASTER = r"exact kernel, {} qubits, N = {}, beside {}[^|]*\| ([\d,.]+) × faster"
FEWER = r"\(\d+ tasks\): ([\d.]+) times fewer shots[^.(]*( \([^)]*\))?\. [^.]*?gives ([\d.]+%)"
TEN: tuple[tuple[str, Lines], ...] = (
    (
        "everything",
        _ways(
            NOISELESS,
            "On natural tasks, coming within a percentage point of the exact kernel's accuracy "
            "takes {0} of QPU time with Qiskit Machine Learning's default (reached on {1} tasks) "
            "and {2} with points on tiles ({3}), 100 new points included.",
            "Natural",
        ),
    ),
    (
        "everything",
        _ways(
            NOISELESS,
            "On quantum-labelled tasks, chosen because classical models fall behind, it takes {0} "
            "({1}) and {2} ({3}).",
            "Quantum-labelled",
        ),
    ),
    (
        "everything",
        _ways(
            NOISY,
            "With the noise of a fake Heron it takes {0} ({1}) and {2} ({3}) on natural tasks, and "
            "{4} ({5}) and {6} ({7}) on quantum-labelled ones.",
            "Natural",
            "Quantum-labelled",
        ),
    ),
    (
        "classical",
        _search(
            CONTROL.format("natural"),
            "On {0} natural tasks the best classical model needs no shots and reaches {2}, the "
            "exact quantum kernel {1}; the classical model already gives {3} of the kernel's "
            "labels.",
        ),
    ),
    (
        "classical",
        _search(
            CONTROL.format("quantum-labelled"),
            "On {0} quantum-labelled tasks the exact quantum kernel reaches {1}, the best "
            "classical model {2}; the classical model gives {3} of the kernel's labels.",
        ),
    ),
    (
        "total",
        _search(
            rf"\*natural\* {FEWER}.*?\*quantum-labelled\* {FEWER}",
            "For 90% of the exact labels of 100 new points, points need {3} times fewer shots{4} "
            "than pairs on quantum-labelled tasks, where a classical model gives {5} for free, and "
            "{0} times fewer{1} on natural ones, where it gives {2}.",
        ),
    ),
    (
        "tiles",
        _search(
            r"\| fake_fez \| 4 \| (\d+) \|[^\n]*?\| ([\d.]+) × \|",
            "A Heron runs {0} circuits of 4 qubits side by side, which divides executions by {1}.",
        ),
    ),
    (
        "prediction",
        _search(
            rf"{SETTLED.format('natural')}.*?{SETTLED.format('quantum-labelled')}",
            "Test shots stop when a class is settled: {0} of all new points were settled wrongly "
            "on natural tasks ({1} were settled) and {2} on quantum-labelled ones ({3}); 5% are "
            "allowed.",
        ),
    ),
    (
        "readings",
        _search(
            r"\*\*(\d+)\*\* hold under the literal reading.*?\*\*(\d+)\*\* of (\d+) hold under a "
            r"practitioner",
            "{0} of the paper's {2} numbers hold when its text is taken literally, {1} with a "
            "known diagonal, a tuned ridge and balanced classes.",
        ),
    ),
    (
        "benchmarks",
        _search(
            ".*?".join(
                FASTER.format(*which)
                for which in ((4, 1000, "Qiskit"), (12, 500, "Qiskit"), (4, 1000, "PennyLane"))
            ),
            "Exact kernels are computed {0} times faster than with Qiskit Machine Learning at 4 "
            "qubits, {1} times at 12, and {2} times faster than with PennyLane at 4.",
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
    ways = re.findall(r"^\| ([^|*]+?) \| (?:[<>~] )?\d[^|]*\|", text, re.MULTILINE)
    if not kinds or not ways:
        return None
    header = ["[QPU time](docs/measured/everything.md), training included"]
    for kind in kinds:
        header += [f"{kind.lower()} tasks: 100 new points", "1,000 new points", "reached (100 new)"]
    tables = []
    for section in (NOISELESS, NOISY):
        rows = []
        for way in dict.fromkeys(ways):
            found = [_way(text, kind, way, section) for kind in kinds]
            if None in found:
                raise InputError(f"{path} has no row {way!r} for each of {kinds} in {section!r}.")
            rows.append([way, *(figure for one in found if one for figure in one)])
        tables.append(table(header, rows))
    words = (
        "QPU time to come within a percentage point of the exact kernel's accuracy on held-out "
        "tasks, without noise: geometric means over tasks. “>”: a lower bound, as the most shots "
        "tried were not enough on some task (a hollow dot); “<”: an upper bound, as the fewest "
        "were enough on some; “~”: neither, as both happened. The best classical model is the "
        "best of four, chosen in hindsight."
    )
    lines = [line.replace("](", "](docs/measured/") for line in ten_lines(directory)]
    listed = "\n".join(f"- {line}" for line in lines)
    picture = "![QPU time of every method on every held-out task](docs/measured/everything.png)"
    more = "<details>\n<summary>The same with the noise of a fake Heron</summary>"
    return f"{words}\n\n{tables[0]}\n\n{more}\n\n{tables[1]}\n\n</details>\n\n{picture}\n\n{listed}"


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
        "Every figure is computed by committed code, and every line comes from the page it links "
        "to. Accuracies and shots are those of [held-out tasks](held-out.md).",
        "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1)),
    ]
