"""`aqka plan` as a user meets it."""

import json
import sys

import pytest

from aqka.cli import app as cli

STUDY = """
data.source = "breast-cancer"
split = {{ train = {train}, test = {test} }}
feature_map.qubits = {qubits}
backend = {{ {backend} }}
budget = {{ {budget} }}
method = {{ {method} }}
"""
DEFAULTS = {
    "train": 150,
    "test": 50,
    "qubits": 4,
    "backend": 'name = "statevector"',
    "budget": 'train = "5 min", test_shots = 0, rate = 96.0',
    "method": 'design = "pairs", allocator = "aqka"',
}


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    def call(*arguments, columns="120", **settings):
        study = tmp_path / "study.toml"
        study.write_text(STUDY.format_map(DEFAULTS | settings))
        monkeypatch.setenv("COLUMNS", columns)
        monkeypatch.setattr(sys, "argv", ["aqka", "plan", str(study), *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        shown = capsys.readouterr()
        return stop.value.code, shown.out, shown.err

    return call


def test_plan_prints_figures_notes_and_advice(run):
    code, out, err = run("--queue", "50")
    assert (code, err) == (0, "")
    for words in ("11,175", "1 h 23 min", "depth 119", "480.00", "Advice:", "N(N-1)/2"):
        assert words in out
    assert "Warning:" not in out
    assert "Times are as if on IBM hardware" in out


def test_plan_fits_eighty_columns(run):
    _, out, _ = run("--queue", "50", columns="80")
    tables = [line for line in out.splitlines() if line.startswith(("┃", "│", "|"))]
    assert len(tables) > 10
    assert max(map(len, tables)) <= 80


def test_plan_as_json_holds_figures_constants_and_sources(run):
    budget = "train = 1000, test_shots = 0, rate = 96.0"
    code, out, _ = run(
        "--json",
        "--set",
        "rep_delay=1e-4",
        "--set",
        "max_executions=300",
        train=20,
        budget=budget,
        method='design = "pairs", allocator = "uniform"',
    )
    assert code == 0
    answer = json.loads(out)
    assert answer["n_pairs"] == 190
    assert answer["shots_per_round"] == [1000]
    assert answer["jobs"] == 4
    assert answer["submissions"] == 1
    assert answer["device"]["rep_delay"] == 1e-4
    assert set(answer["sources"]) == set(answer["device"])
    assert "4 jobs" in answer["warnings"][0]
    assert answer["cost"] == pytest.approx(answer["qpu_seconds"] / 60 * 96)


def test_the_budget_and_the_rate_can_vary(run):
    first, second = (json.loads(run("--json", *more)[1]) for more in ((), ("--rate", "48")))
    assert second["cost"] == pytest.approx(first["cost"] / 2)
    assert json.loads(run("--budget", "3000", "--json")[1])["shots"] == 3000
    money = json.loads(run("--budget", "$480", "--json")[1])
    assert money["shots"] == first["shots"]  # five minutes at 96 a minute


def test_plan_quotes_with_and_without_tiles(run):
    settings = {
        "budget": "train = 505000, test_shots = 0",
        "method": 'design = "pairs", allocator = "uniform"',
    }
    settings |= {"train": 101}
    tiled = {"backend": 'name = "ibm", device = "ibm_fez", tiles = 20'}
    code, out, _ = run(**settings, **tiled)
    assert code == 0
    for words in ("25,250", "20 shots each, one on every tile", "without tiles", "20.0 × as many"):
        assert words in out
    answer = json.loads(run("--json", **settings, **tiled)[1])
    assert answer["tiles"] == 20
    assert answer["untiled_seconds"] > 9 * answer["qpu_seconds"]
    assert "without tiles" not in run(**settings)[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--budget", "much"), "budget 'much'"),
        (("--set", "rep_dely=1"), "Did you mean 'rep_delay'"),
        (("--set", "rep_delay"), "--set takes NAME=VALUE"),
        (("--set", "rep_delay=nan"), "rep_delay must be from 0"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(run, arguments, words):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert words in err
    assert err.count("\n") == 1


def test_mistakes_in_the_study_are_found_before_it_is_run(run):
    assert "needs a rate" in run(budget='train = "$100"')[2]
    code, _, err = run(backend='name = "ibm", device = "fake_fezz"')
    assert (code, "fake_fezz" in err) == (2, True)


def test_far_fewer_shots_than_pairs_are_warned_of(run):
    settings = {"train": 60, "method": 'design = "pairs", allocator = "uniform"'}
    code, out, _ = run("--json", budget="train = 100, test_shots = 0", **settings)
    assert code == 0
    [warning] = json.loads(out)["warnings"]
    assert warning.startswith("100 shots for 1,770 pairs: most pairs are never measured")
    enough = run("--json", budget="train = 1770, test_shots = 0", **settings)[1]
    assert json.loads(enough)["warnings"] == []


@pytest.mark.parametrize("design", ["pairs", "points", "auto"])
def test_plan_shows_what_both_designs_promise(run, design):
    """100 training and 50 new points of four qubits, 50,000 shots."""
    settings = {"train": 100, "budget": "total = 50000", "method": f'design = "{design}"'}
    code, out, err = run(**settings)
    assert (code, err) == (0, "")
    advice = 'Advice: set method.design = "points". ' if design == "pairs" else "Design: "
    assert f"{advice}Points: 333 shots for each of 150 points are worth" in out
    answer = json.loads(run("--json", **settings)[1])
    assert answer["better"]["design"] == "points"
    assert answer["design"] == ("pairs" if design == "pairs" else "points")
    assert answer["depth"] == (119 if design == "pairs" else 65)


def test_shots_for_training_are_compared_with_predictions_on_top(run):
    answer = json.loads(run("--json", train=60, test=30, budget="train = 20000")[1])
    assert "333 shots for each of 90 points" in answer["better"]["reason"]


def test_many_qubits_are_for_pairs(run):
    many = json.loads(run("--json", qubits=9, train=100, budget="total = 50000")[1])
    assert many["better"]["design"] == "pairs"


def test_a_study_is_needed(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["aqka", "plan"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2


def test_help_has_an_example(run):
    code, out, _ = run("--help")
    assert code == 0
    assert "aqka plan study.toml --budget '5 min'" in out


FEZ = {
    "train": 12,
    "test": 6,
    "qubits": 2,
    "backend": 'name = "ibm", device = "fake_fez", tiles = "auto"',
}


@pytest.mark.parametrize("design", ["points", "auto"])
def test_time_is_quoted_on_the_tiles_that_run(run, design):
    """Pairs on one tile would get 3 shots out of 20 seconds; points on dozens get many."""
    method = f'design = "{design}"'
    code, out, err = run("--json", budget='total = "20 s"', method=method, **FEZ)
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer["design"] == "points"
    assert answer["tiles"] > 20
    each = answer["total"]["shots"] // 18
    found = answer["better"]["reason"].partition(" shots for each of 18 points")
    assert found[1]
    assert abs(int(found[0].removeprefix("Points: ").replace(",", "")) - each) <= 0.01 * each
