"""`aqka plan` as a user meets it."""

import json
import sys

import pytest

from aqka.cli import app as cli


@pytest.fixture
def run(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setenv("COLUMNS", "120")
        monkeypatch.setattr(sys, "argv", ["aqka", "plan", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        shown = capsys.readouterr()
        return stop.value.code, shown.out, shown.err

    return call


def test_plan_prints_figures_notes_and_advice(run):
    code, out, err = run(
        *("--points", "150", "--budget", "5 min", "--queue", "50", "--rate", "96"),
        *("--depth", "102"),
    )
    assert (code, err) == (0, "")
    for words in ("11,175", "1 h 23 min", "depth 102", "480.00", "Advice:", "N(N-1)/2"):
        assert words in out
    assert "Warning:" not in out


def test_plan_as_json_holds_figures_constants_and_sources(run):
    code, out, _ = run(
        *("--points", "20", "--budget", "1000", "--rounds", "2", "--warmup", "0", "--json"),
        *("--measure-diagonal", "--set", "rep_delay=1e-4", "--set", "max_executions=300"),
    )
    assert code == 0
    answer = json.loads(out)
    assert answer["n_pairs"] == 210
    assert answer["shots_per_round"] == [500, 500]
    assert answer["jobs"] == 4
    assert answer["submissions"] == 2
    assert answer["device"]["rep_delay"] == 1e-4
    assert set(answer["sources"]) == set(answer["device"])
    assert "2 jobs" in answer["warnings"][0]
    assert answer["cost"] is None


def test_plan_quotes_with_and_without_tiles(run):
    code, out, _ = run(
        *("--points", "101", "--budget", "505000", "--rounds", "1", "--warmup", "0"),
        *("--tiles", "20", "--rate", "96"),
    )
    assert code == 0
    for words in ("25,250", "20 shots each, one on every tile", "without tiles", "20.0 × as many"):
        assert words in out
    answer = json.loads(run("--points", "101", "--budget", "505000", "--tiles", "20", "--json")[1])
    assert answer["tiles"] == 20
    assert answer["untiled_seconds"] > 9 * answer["qpu_seconds"]
    assert "without tiles" not in run("--points", "101", "--budget", "505000")[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--budget", "$100"), "needs a rate"),
        (("--budget", "much"), "budget 'much'"),
        (("--budget", "5 min", "--set", "rep_dely=1"), "Did you mean 'rep_delay'"),
        (("--budget", "5 min", "--set", "rep_delay"), "--set takes NAME=VALUE"),
        (("--budget", "5 min", "--set", "rep_delay=nan"), "rep_delay must be from 0"),
        (("--budget", "5 min", "--warmup", "2"), "warmup must be a fraction"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(run, arguments, words):
    code, out, err = run("--points", "50", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert words in err
    assert err.count("\n") == 1


def test_far_fewer_shots_than_pairs_are_warned_of(run):
    code, out, _ = run("--points", "60", "--budget", "100", "--json")
    assert code == 0
    [warning] = json.loads(out)["warnings"]
    assert warning.startswith("100 shots for 1,770 pairs: most pairs are never measured")
    assert json.loads(run("--points", "60", "--budget", "1770", "--json")[1])["warnings"] == []


BY_HAND = {"shots_per_pair": 50_000 / (4950 + 5000), "shots_per_point": 50_000 / 150}


def check_designs(found):
    """100 training and 50 new points of four qubits, 50,000 shots."""
    assert found["design"] == "points"
    assert found["reason"].startswith("Points: 333 shots for each of 150 points")
    assert 0 < found["point_error"] < found["pair_error"] < 1
    assert found["equivalent_shots"] > found["shots_per_pair"]
    for name, value in BY_HAND.items():
        assert found[name] == pytest.approx(value)


def test_plan_shows_what_both_designs_promise(run):
    asked = ("--points", "100", "--budget", "50000", "--qubits", "4", "--new-points", "50")
    code, out, _ = run(*asked)
    assert code == 0
    assert "design: Points: 333 shots for each of 150 points are worth" in out
    assert "error of a kernel entry: pairs 0." in out
    assert ", points 0." in out
    check_designs(json.loads(run(*asked, "--json")[1])["designs"])
    many = json.loads(run("--points", "100", "--budget", "50000", "--qubits", "9", "--json")[1])
    assert many["designs"]["design"] == "pairs"
    assert many["designs"]["point_error"] is None


@pytest.mark.parametrize("design", ["pairs", "points", "auto"])
def test_plan_of_a_study_shows_what_both_designs_promise(run, tmp_path, design):
    study = tmp_path / "study.toml"
    study.write_text(
        f"""
        data.source = "iris"
        split = {{ train = 100, test = 50 }}
        feature_map.qubits = 4
        backend.name = "statevector"
        budget.total = "50000 shots"
        method.design = "{design}"
        """
    )
    code, out, err = run(str(study))
    assert (code, err) == (0, "")
    assert "design: Points: 333 shots for each of 150 points are worth" in out
    answer = json.loads(run(str(study), "--json")[1])
    check_designs(answer["designs"])
    assert answer["design"] == ("pairs" if design == "pairs" else "points")
    assert answer["depth"] == (143 if design == "pairs" else 77)


def test_a_wrong_option_is_exit_code_2(run):
    assert run("--points", "1", "--budget", "100")[0] == 2
    assert run("--points", "50")[0] == 2


def test_help_has_an_example(run):
    code, out, _ = run("--help")
    assert code == 0
    assert "aqka plan --points 150" in out
