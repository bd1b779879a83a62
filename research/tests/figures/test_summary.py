"""The summary has a line of every page that it quotes, and says so where one is missing."""

import shutil

import pytest

from aqka.errors import InputError
from aqka_research.benchmarks import kernels
from aqka_research.benchmarks.bars import bar_table
from aqka_research.figures.run import MEASURED
from aqka_research.figures.summary import TEN, ten_lines

STAMP = '\n\n<!-- figures: {"size": "full"} -->\n'
READINGS = (
    "- **21** hold under the literal reading ([the reproduction](reproduction.md)), **30** of the "
    "40 that were tested\n- **9** of 40 hold under a practitioner's choices"
)


def speed_table(ratio, n_points=1000):
    title = kernels.peer_title(kernels.statevector_kernel, 4, n_points)
    return bar_table([kernels.peer_bar(title, ratio * 0.01, 0.01, 1e-15, 1000.0)])


@pytest.fixture
def pages(tmp_path):
    """The committed pages; those that take longest are made up."""
    for name in dict(TEN):
        shutil.copy(MEASURED / f"{name}.md", tmp_path)
    (tmp_path / "readings.md").write_text(READINGS + STAMP)
    (tmp_path / "benchmarks.md").write_text(speed_table(1192) + STAMP)
    return tmp_path


def test_the_summary_has_ten_lines(pages):
    lines = ten_lines(pages)
    assert len(lines) == len(TEN) == 10
    assert lines[-1].startswith("Exact kernels are computed 1,192 times faster")
    assert lines[-2].startswith("21 of the paper's 40 numbers hold as its text reads, 9 with")


def test_a_computed_page_without_its_line_is_an_error(pages):
    (pages / "benchmarks.md").write_text(speed_table(1192, n_points=50) + STAMP)
    with pytest.raises(InputError, match=r"benchmarks\.md has no line"):
        ten_lines(pages)
    quick = STAMP.replace("full", "quick")  # its sizes are others
    (pages / "benchmarks.md").write_text(speed_table(1192, n_points=50) + quick)
    assert len(ten_lines(pages)) == 9
    (pages / "benchmarks.md").write_text("not computed")
    assert len(ten_lines(pages)) == 9
