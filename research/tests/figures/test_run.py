"""Pages are computed when their code has changed, say so, and are counted."""

import json
import sys
from dataclasses import replace
from functools import partial
from types import ModuleType

import pytest
from typer.testing import CliRunner

from aqka.errors import InputError
from aqka_research.figures import run as runs
from aqka_research.figures.__main__ import app
from aqka_research.figures.page import Page
from aqka_research.figures.registry import PAGES
from aqka_research.figures.run_record import count_run, read_runs, times_run
from aqka_research.figures.stamp import body_of, read_stamp, seeds_text
from aqka_research.figures.summary import BEGIN, END
from aqka_research.sweep.store import stable_name


@stable_name("tests.figures:square")
def square(cell):
    return {"found": cell["seed"] ** 2}


@pytest.fixture
def toy(monkeypatch):
    """A page whose code has the digest that ``toy.digest`` says."""
    module = ModuleType("toy_page")
    module.digest, module.written, module.figure = "one", [], 0

    def write(run):
        found = run.cells(square, [{"seed": seed} for seed in run.pick(range(3), range(2), (1,))])
        module.written.append(run.size)
        return ["# Toy", f"Sum {sum(one['found'] for one in found) + module.figure}."]

    module.write = write
    monkeypatch.setitem(sys.modules, "toy_page", module)
    monkeypatch.setattr(runs, "code_digest", lambda _: module.digest)
    module.page = Page("toy", "toy_page:write", "A toy", 1, halves=("confirmation",))
    return module


@pytest.fixture
def make(toy, tmp_path):
    places = {"directory": tmp_path / "pages", "work": tmp_path / "work", "workers": 1}

    def make(**options):
        return runs.make_page(toy.page, say=lambda _: None, **places, **options)

    make.directory = places["directory"]
    return make


def state(toy, make):
    return runs.status([toy.page], make.directory)[0].state


def test_a_page_is_computed_once_and_says_how(toy, make):
    assert state(toy, make) == "never computed"
    assert make()
    assert toy.written == ["quick", "full"]
    assert state(toy, make) == "current"
    assert not make()
    text = (make.directory / "toy.md").read_text()
    assert "*Computed with version" in text
    assert "confirmation tasks run once." in text
    stamp = read_stamp(make.directory / "toy.md")
    assert (stamp["seeds"], stamp["code"]) == ("0–2", "one")
    assert body_of(text) == "# Toy\n\nSum 5.\n"


def test_code_that_changes_no_figure_keeps_the_page(toy, make):
    make()
    toy.digest = "two"
    assert state(toy, make).startswith("code changed since version")
    assert not make()
    assert toy.written == ["quick", "full", "quick"]
    assert state(toy, make) == "current"
    assert read_stamp(make.directory / "toy.md")["checked"]
    assert times_run(make.directory, "confirmation") == 1


def test_code_that_changes_a_figure_computes_it_again_and_counts(toy, make):
    make()
    toy.digest, toy.figure = "two", 1
    assert make()
    assert "Sum 6." in (make.directory / "toy.md").read_text()
    assert times_run(make.directory, "confirmation", "toy") == 2


def test_a_page_that_was_forgotten_is_computed_from_the_start_even_if_stopped(toy, make, tmp_path):
    make()
    runs.forget([toy.page], tmp_path / "work")
    assert list((tmp_path / "work" / "full").glob("toy/**/*.jsonl")) == []
    whole, toy.write = toy.write, stopped_in_full(toy.write)
    with pytest.raises(KeyboardInterrupt):
        make()
    toy.write = whole
    assert make()
    assert times_run(make.directory, "confirmation", "toy") == 2
    assert not make()


def stopped_in_full(write):
    def stopped(run):
        blocks = write(run)
        if run.size == "full":
            raise KeyboardInterrupt
        return blocks

    return stopped


def test_a_stopped_run_goes_on_and_counts_once(toy, make):
    whole, toy.write = toy.write, stopped_in_full(toy.write)
    with pytest.raises(KeyboardInterrupt):
        make()
    toy.write = whole
    assert make()
    assert times_run(make.directory, "confirmation") == 1


def test_a_page_that_quotes_others_follows_them(toy, make):
    toy.page = Page("toy", "toy_page:write", "A toy", 1, quotes=("other.md",))
    make()
    assert state(toy, make) == "current"
    (make.directory / "other.md").write_text("new")
    assert state(toy, make) == "quotes older pages"


def test_the_status_is_listed_and_is_the_exit_code(toy, make, monkeypatch):
    monkeypatch.setattr(runs, "chosen_pages", lambda names: [toy.page])
    monkeypatch.setattr(runs, "status", partial(runs.status, directory=make.directory))
    found = CliRunner().invoke(app, ["--status"])
    assert (found.exit_code, found.output.split()[:4]) == (1, ["toy", "1", "min", "never"])
    assert make()
    found = CliRunner().invoke(app, ["--status"])
    assert (found.exit_code, found.output.split()[3]) == (0, "current")
    assert found.output.endswith("0 of 1 to compute, about 0 minutes.\n")


def test_runs_are_recorded(tmp_path):
    assert read_runs(tmp_path) == []
    count_run(tmp_path, "total", "confirmation", seeds=3)
    count_run(tmp_path, "total", "development")
    assert [run["half"] for run in read_runs(tmp_path)] == ["confirmation", "development"]
    assert times_run(tmp_path, "confirmation", "other") == 0
    (tmp_path / "runs.json").write_text("{}")
    with pytest.raises(InputError, match="list of runs"):
        read_runs(tmp_path)


def test_seeds_are_written_as_ranges():
    assert seeds_text(set()) == ""
    assert seeds_text({5, 0, 1}) == "0–1, 5"


def test_cheap_pages_come_first_and_those_that_quote_last():
    pages = runs.chosen_pages([])
    assert pages[-1].quotes
    minutes = [page.minutes for page in pages if not page.quotes]
    assert minutes == sorted(minutes)
    assert len({page.name for page in PAGES}) == len(PAGES)
    with pytest.raises(InputError, match="unknown page 'x'"):
        runs.chosen_pages(["x"])


def test_results_of_a_page_that_cannot_run_here_are_kept(toy, tmp_path):
    page = replace(toy.page, needs="AQKA_NEVER_SET")
    results = tmp_path / "full" / page.name / "results.jsonl"
    results.parent.mkdir(parents=True)
    results.touch()
    runs.forget([page], tmp_path)
    assert results.exists()
    assert not runs.make_page(page, directory=tmp_path, work=tmp_path, say=lambda _: None)


QUICKEST = (
    *("classical", "candidates", "comparison", "demo", "everything", "flipped-bits"),
    *("points", "prediction", "prior", "shrinkage", "total", "total-fez"),
)


@pytest.mark.parametrize("name", [*QUICKEST, "held-out", "summary"])
def test_the_smallest_form_of_a_page(name, tmp_path):
    (page,) = runs.chosen_pages([name])
    assert runs.make_page(page, size="tiny", workers=1, directory=tmp_path, work=tmp_path / "work")
    text = (tmp_path / f"{name}.md").read_text()
    assert text.startswith("# ")
    assert "a tiny run, not to be quoted" in text
    assert json.loads(text.split("<!-- figures: ")[1].split(" -->")[0])["size"] == "tiny"
    assert not (tmp_path / "runs.json").exists()
    if name in ("candidates", "classical"):
        assert "best classical model | majority class" in text


def test_the_summary_opens_the_readme_with_the_comparison(tmp_path):
    measured = tmp_path / "docs" / "measured"
    measured.mkdir(parents=True)
    (tmp_path / "README.md").write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    (page,) = runs.chosen_pages(["summary"])
    places = {"directory": measured, "work": tmp_path / "work", "say": lambda _: None}
    runs.make_page(page, **places)
    assert "old" in (tmp_path / "README.md").read_text()  # nothing to open with yet
    row = "| points on tiles | 4.2 s | 1 | 2 | 2.0 | 5.1 s | 3 | 4 | 2.0 | 1 of 1 |"
    first = row.replace("points on tiles", "Qiskit Machine Learning's default")
    first = first.replace("4.2", "9.9")
    rows = f"| way | QPU |\n{first}\n{row}\n"
    kinds = f"### Natural tasks (1)\n\n{rows}\n### Quantum-labelled tasks (1)\n\n{rows}"
    sections = f"## Without noise\n\n{kinds}\n## With the noise of fake_fez\n\n{kinds}"
    mark = '<!-- figures: {"size": "full"} -->'  # only pages that were computed are quoted
    (measured / "everything.md").write_text(f"{sections}\n{mark}\n")
    runs.make_page(page, **places)
    readme = (tmp_path / "README.md").read_text()
    assert readme.startswith("before\n")
    assert readme.endswith("after\n")
    row = "| points on tiles | 4.2 s | 5.1 s | 1 of 1 | 4.2 s | 5.1 s | 1 of 1 |"
    assert readme.count(row) == 2  # without noise and with it
    assert (
        "9.9 s of QPU time with Qiskit Machine Learning's default (reached on 1 of 1 tasks) and "
        "4.2 s with points on tiles (1 of 1)" in readme
    )
    assert "old" not in readme
