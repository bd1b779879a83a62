"""The page about held-out tasks lists the tasks of all pages."""

from aqka_research.benchmarks import alignment, projected
from aqka_research.figures.held_out import page
from aqka_research.figures.page import PageRun
from aqka_research.figures.registry import PAGES
from aqka_research.figures.run import MEASURED
from aqka_research.figures.run_record import times_run
from aqka_research.suite import SUITE


def test_every_task_has_its_half():
    text = "\n".join(page(PageRun(MEASURED / "held-out.md", MEASURED)))
    assert all(f"| {name} | " in text for name in SUITE)
    for name in alignment.DEVELOPMENT:
        assert f"| {name} | development | [alignment](alignment.md) | step lengths |" in text
    assert all(f"| {name} | confirmation | " in text for name in alignment.HELD_OUT)
    assert all(f"| {name} | development | " in text for name, *_ in projected.TASKS)
    for name in (
        "moons, ZZ 2 qubits",
        "digits 3/5, ZZ 12 qubits",
        "Iris, 40 other splits",
        "Iris, 5 splits in halves",
    ):
        assert f"| {name} | " in text


def test_runs_of_the_alignment_page_are_counted():
    (named,) = (page for page in PAGES if page.name == "alignment")
    assert named.halves == ("confirmation",)
    assert times_run(MEASURED, "confirmation", "alignment") >= 2
