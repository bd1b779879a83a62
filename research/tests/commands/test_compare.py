"""`aqka compare` as a user meets it."""

import json

from typer.testing import CliRunner

from aqka.cli.app import app
from aqka_research.compare import paper
from aqka_research.compare.comparison import METHODS
from aqka_research.tasks import planted_sparse


def test_the_command_writes_its_page(tmp_path):
    arguments = ["compare", "--quick", "--seeds", "2", "--json", "--workers", "1"]
    done = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "c")])
    printed = json.loads(done.stdout)
    assert {row["method"] for row in printed["means"]} > set(METHODS)
    assert len(printed["aims"]) == 4
    page = (tmp_path / "c-quick" / "comparison.md").read_text()
    assert "| moons, ZZ 2 qubits |" in page
    assert "balanced accuracy" in page
    assert not list(tmp_path.rglob("runs.json"))  # only the confirmation half is counted


def test_a_quick_look_at_the_confirmation_half_is_refused(tmp_path):
    arguments = ["compare", "--quick", "--half", "confirmation", "--out", str(tmp_path / "c")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert not list(tmp_path.iterdir())


def test_the_papers_allocators_side_by_side(tmp_path, monkeypatch):
    monkeypatch.setattr(paper, "SHOTS_PER_PAIR", (4.0,))
    monkeypatch.setattr(paper, "TASKS", (lambda seed: planted_sparse(60, 20, 4, seed),))
    arguments = ["compare", "--paper", "--seeds", "2", "--out", str(tmp_path / "c")]
    shown = CliRunner().invoke(app, arguments).output
    for words in ("majority class", "exact kernel", "7,320 shots", "balanced", "Gini", "uniform"):
        assert words in shown
    assert (tmp_path / "c" / "paper.png").read_bytes().startswith(b"\x89PNG")
    answer = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    runs = {(r["reading"], r["allocator"]) for r in answer["results"]}
    assert runs == {(p, a) for p in paper.READINGS for a in paper.ALLOCATORS}
    assert all(r["shots"] == 7320 for r in answer["results"])
    for which in ("diagnostics", "exact_kernel_diagnostics"):
        (found,) = answer[which].values()
        assert {"gini", "rho", "advice"} <= set(found)
