"""The summary has a line of every page that it quotes, and says so where one is missing."""

import shutil

import pytest

from aqka.errors import InputError
from aqka_research.benchmarks import kernels
from aqka_research.benchmarks.bars import bar_table
from aqka_research.figures.run import MEASURED
from aqka_research.figures.summary import TEN, readme_block, ten_lines

STAMP = '\n\n<!-- figures: {"size": "full"} -->\n'
READINGS = (
    "- **21** hold under the literal reading ([the reproduction](reproduction.md)), **30** of the "
    "40 that were tested\n- **9** of 40 hold under a practitioner's choices"
)

PREDICTION = "\n".join(
    f"| {kind} ({n} tasks): points settled with the wrong class, 2 and 8 shots a pair | {wrong} of "
    f"all, 0.94% in the worst task ({settled} settled) | ≤ 5 % | yes |"
    for kind, n, wrong, settled in (
        ("natural", 9, "0.31%", "9%"),
        ("kernel-made", 4, "0.41%", "8%"),
        ("quantum-labelled", 33, "0.51%", "7%"),
    )
)


def speed_table(ratio, n_points=1000):
    peers = (
        (kernels.statevector_kernel, 4, n_points, ratio),
        (kernels.statevector_kernel, 12, 500, 37.6),
        (kernels.pennylane_kernel, 4, 1000, 2.53),
    )
    bars = [
        kernels.peer_bar(kernels.peer_title(*which), times * 0.01, 0.01, 1e-15, 1000.0)
        for *which, times in peers
    ]
    return bar_table(bars)


def everything(*times):
    """Return a page with the same figures for every kind of task."""
    names = ("Qiskit Machine Learning's default", "points on tiles")
    ways = "\n".join(
        f"| {way} | {time} | 1 | 2 | 2.0 | 10 h 3 min | 3 | 4 | 2.0 | 5 of 10 | 4 of 10 |"
        for way, time in zip(names, times, strict=True)
    )
    kinds = "\n".join(f"### {kind} tasks (10)\n\n{ways}\n" for kind in KINDS)
    return f"## Without noise\n\n{kinds}\n## With the noise of fake_fez\n\n{kinds}"


KINDS = ("Natural", "Kernel-made", "Quantum-labelled")


@pytest.fixture
def pages(tmp_path):
    """The committed pages; those that take longest are made up."""
    for name in dict(TEN):
        shutil.copy(MEASURED / f"{name}.md", tmp_path)
    (tmp_path / "readings.md").write_text(READINGS + STAMP)
    (tmp_path / "prediction.md").write_text(PREDICTION + STAMP)
    (tmp_path / "benchmarks.md").write_text(speed_table(1192) + STAMP)
    return tmp_path


def test_the_summary_has_ten_lines(pages):
    lines = ten_lines(pages)
    assert len(lines) == len(TEN) == 10
    assert lines[-1].startswith(
        "Exact kernels are computed 1,192 times faster than with Qiskit Machine Learning at 4 "
        "qubits, 37.6 times at 12, and 2.53 times faster than with PennyLane at 4."
    )
    assert lines[-2].startswith(
        "21 of the paper's 40 numbers hold when its text is taken literally, 9 with"
    )
    assert "0.31% of all new points were settled wrongly on natural tasks (9% were" in lines[-3]
    assert "and 0.51% on quantum-labelled ones (7%)" in lines[-3]


def test_marks_are_said_in_words(pages):
    (pages / "everything.md").write_text(everything("~ 1 h 26 min", "< 5.2 s") + STAMP)
    line = ten_lines(pages)[0]
    assert "takes about 1 h 26 min of QPU time" in line
    assert "(reached on 5 of 10 tasks) and less than 5.2 s with points on tiles (5 of 10)" in line
    assert "| ~ 1 h 26 min | 10 h 3 min | 5 of 10 | ~ 1 h 26 min |" in readme_block(pages)


def test_a_computed_page_without_its_line_is_an_error(pages):
    (pages / "benchmarks.md").write_text(speed_table(1192, n_points=50) + STAMP)
    with pytest.raises(InputError, match=r"benchmarks\.md has no line"):
        ten_lines(pages)
    quick = STAMP.replace("full", "quick")  # its sizes are others
    (pages / "benchmarks.md").write_text(speed_table(1192, n_points=50) + quick)
    assert len(ten_lines(pages)) == 9
    (pages / "benchmarks.md").write_text("not computed")
    assert len(ten_lines(pages)) == 9
