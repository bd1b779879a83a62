"""One budget for training and predictions, and a ceiling that holds."""

import json

import numpy as np
import pytest

from aqka import CeilingError, InputError, quote
from aqka.planning import Wish
from aqka.report.run_report import run_report
from aqka.runs.audit import verify
from aqka.study.carry_out import Watcher, carry_out, resume
from aqka.study.directory import prepare
from aqka.study.new_points import predict_new_points
from aqka.study.quoting import study_quote
from aqka.study.results import quote_versus_actual
from aqka.study.schema import parse_study
from aqka.study.store import RunStore
from tests.cli.in_process import call
from tests.fake_runtime import FakeRuntime
from tests.study.helpers import QUICK, small, write_study


def with_budget(tmp_path, budget, **settings):
    """A small study with another table [budget]."""
    text = small(method=QUICK, **settings)
    start, end = text.index("[budget]"), text.index("[method]")
    return write_study(tmp_path, f"{text[:start]}[budget]\n{budget}\n{text[end:]}")


def on_service(tmp_path, monkeypatch, budget, **options):
    service = FakeRuntime(tmp_path / "service", **options)
    monkeypatch.setattr("aqka.study.backends.ibm_device", lambda _: service)
    return service, with_budget(tmp_path, budget, backend="ibm", extra='device = "ibm_x"')


def finish(path, **watching):
    return carry_out(prepare(path), path.parent / "run", Watcher(**watching)).results


def test_the_total_covers_training_predictions_and_sentinels(tmp_path):
    path = with_budget(tmp_path, 'total = "900 shots"\n[sentinels]\npoints = 2\nshots = 10')
    found = finish(path)
    used = found["actual"]
    assert found["quote"]["shots"] == used["shots"]
    assert used["sentinel_shots"] == 2 * 10 * used["submissions"]
    assert used["shots"] + used["sentinel_shots"] + found["test_shots"] == 900
    assert used["test_shots"] <= found["test_shots"]
    rows = {row["figure"]: row for row in found["quote_versus_actual"]}
    assert rows["shots in all"]["quoted"] == 900
    in_all = used["shots"] + used["sentinel_shots"] + used["test_shots"]
    assert rows["shots in all"]["actual"] == in_all
    shown = {row["figure"]: row for row in run_report(tmp_path / "run").usage}
    assert shown["shots in all"] == rows["shots in all"]
    again = resume(RunStore(tmp_path / "run")).results
    assert again["results"] == found["results"]


@pytest.mark.parametrize(
    ("budget", "train", "predict"),
    [
        ('total = "7200 shots"\ntest_shots = 50', 3600, 3600),  # 6 x 12 pairs
        ('total = "7200 shots"\ntest_shots = 0', 7200, 0),
        ('train = "7200 shots"\ntest_shots = 50', 7200, 3600),
        ('train = "7200 shots"', 7200, 7200),
    ],
)
def test_the_split_is_the_users_where_it_is_given(tmp_path, budget, train, predict):
    quoted = study_quote(prepare(with_budget(tmp_path, budget)))
    part = quoted.part("predictions")
    assert (quoted.shots, 0 if part is None else part.shots) == (train, predict)


def test_time_and_money_buy_everything_together(tmp_path):
    for budget in ('total = "60 s"', 'total = "$96"\nrate = 96.0'):
        quoted = study_quote(prepare(with_budget(tmp_path, budget)))
        assert quoted.total.qpu_seconds <= 60
        assert quoted.total.qpu_seconds > 60 - 2 * quoted.execution_seconds
        assert quoted.part("predictions").shots > 1000


def test_a_run_stops_at_its_ceiling_and_goes_on_with_a_higher_one(tmp_path, monkeypatch, capsys):
    """Each job reports 30 s, more than quoted: two fit under a minute, the third does not."""
    budget = 'train = "400 shots"\ntest_shots = 2\nceiling = "62 s"'
    service, path = on_service(tmp_path, monkeypatch, budget, seconds=30.0)
    run = tmp_path / "run"
    code, _, told = call(monkeypatch, capsys, "run", path, "--yes")
    assert code == 7
    assert "the ceiling is reached" in told
    assert f"aqka resume {run} --ceiling AMOUNT" in told
    assert service.submissions == 2
    assert verify(run).sound
    assert json.loads(call(monkeypatch, capsys, "status", run, "--json")[1])["resumable"]
    assert call(monkeypatch, capsys, "resume", run, "--yes")[0] == 7  # its own ceiling still holds
    assert service.submissions == 2
    code, out, _ = call(monkeypatch, capsys, "resume", run, "--yes", "--ceiling", "1 h", "--json")
    assert code == 0
    found = json.loads(out)
    rows = {row["figure"]: row["actual"] for row in found["quote_versus_actual"]}
    assert rows["QPU seconds in all"] == 30.0 * service.submissions
    assert found["results"]["shots"] == 400


def test_predictions_stop_at_the_ceiling_too(tmp_path, monkeypatch):
    budget = 'train = "400 shots"\ntest_shots = 40\nceiling = 500'
    _, path = on_service(tmp_path, monkeypatch, budget)
    with pytest.raises(CeilingError, match="the next round needs"):
        finish(path)
    assert verify(tmp_path / "run").finished  # training
    predicted = verify(tmp_path / "run" / "predictions")
    assert (predicted.sound, predicted.finished) == (True, False)
    assert 0 < predicted.shots <= 100


def test_a_ceiling_below_one_round_is_refused_before_anything(tmp_path, monkeypatch, capsys):
    budget = 'train = "400 shots"\nceiling = "2 s"'
    service, path = on_service(tmp_path, monkeypatch, budget)
    code, _, told = call(monkeypatch, capsys, "run", path, "--yes")
    assert code == 2
    assert "budget.ceiling is below one round" in told
    assert "2.0" in told  # what the round needs
    assert service.submissions == 0
    assert not (tmp_path / "run").exists()


def test_a_ceiling_below_the_quote_is_a_warning(tmp_path):
    path = with_budget(tmp_path, 'train = "400 shots"\nceiling = 1000')
    told = []
    with pytest.raises(CeilingError):
        finish(path, on_start=lambda _, quoted, shots: told.extend(quoted.warnings))
    assert any("exceeds the ceiling of 1000" in words for words in told)


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ("", "give total, for training and predictions together, or train"),
        ('train = "9 shots"\ntotal = "10 shots"', "one of the two"),
        ('total = "9 parsec"', "unknown unit 'parsec'"),
        ('train = "900 shots"\nceiling = "soon"', "budget 'soon' is not a finite number"),
        ('total = "9 shots"\n[sentinels]\nshots = 3', "points is missing"),
        ('total = "9 shots"\n[sentinels]\npoint = 3', "Did you mean 'points'"),
    ],
)
def test_mistakes_in_the_budget_are_named(tmp_path, budget, words):
    with pytest.raises(InputError, match=words):
        prepare(with_budget(tmp_path, budget))


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ('total = "20 shots"', "budget.total pays for .* shots, but 12 training points"),
        ('total = "3600 shots"\ntest_shots = 50', r"budget does not pay for its 3,601 shots"),
        ('total = "2 s"', "budget does not pay"),
        ('total = "$5"', "needs a rate"),
        ("total = 900\n[sentinels]\npoints = 40", "but there are 12 training points"),
    ],
)
def test_budgets_that_buy_too_little_are_refused(tmp_path, budget, words):
    with pytest.raises(InputError, match=words):
        finish(with_budget(tmp_path, budget))
    assert not (tmp_path / "run").exists()


def test_training_without_prediction_and_prediction_later(tmp_path, monkeypatch, capsys):
    """All points for training; new ones are predicted as by a run that had test points."""
    path = with_budget(tmp_path, 'total = "2000 shots"')
    path.write_text(path.read_text().replace("test = 6", "test = 0"))
    code, out, _ = call(monkeypatch, capsys, "run", path)
    assert code == 0
    assert "the run has only trained" in out
    run = tmp_path / "run"
    found = json.loads((run / "results.json").read_text())
    assert found["results"]["accuracy"] is None
    assert (found["actual"]["shots"], found["test_shots"]) == (2000, 0)
    assert not (run / "predictions").exists()
    assert len(RunStore(run).points.test) == 0
    assert json.loads(call(monkeypatch, capsys, "status", run, "--json")[1])["state"] == "finished"
    assert call(monkeypatch, capsys, "resume", run)[0] == 0
    assert run_report(run).tested is None
    assert call(monkeypatch, capsys, "ledger", "verify", run)[0] == 0
    np.savez(tmp_path / "new.npz", X=np.random.default_rng(0).normal(size=(3, 2)))
    made = predict_new_points(run, tmp_path / "new.npz", 30)
    assert len(made.prediction.labels) == 3
    with pytest.raises(CeilingError):
        predict_new_points(run, tmp_path / "new.npz", 400, ceiling="20 shots")


def test_a_run_without_test_shots_says_what_predictions_need(tmp_path):
    finish(with_budget(tmp_path, 'train = "400 shots"\ntest_shots = 0'))
    np.savez(tmp_path / "new.npz", X=np.zeros((2, 2)))
    with pytest.raises(InputError, match="--shots 100"):
        predict_new_points(tmp_path / "run", tmp_path / "new.npz")


def test_paid_hardware_is_asked_for_and_a_dry_run_sends_nothing(tmp_path, monkeypatch, capsys):
    service, path = on_service(tmp_path, monkeypatch, 'total = "600 shots"\nrate = 96.0')
    code, out, _ = call(monkeypatch, capsys, "run", path, "--dry-run")
    assert code == 0
    assert "nothing was submitted" in out
    assert "in all" in out
    code, _, told = call(monkeypatch, capsys, "run", path)
    assert code == 2
    assert "at most 600 shots (" in told
    assert "of QPU time, " in told  # the price
    assert "there is no terminal to confirm on; add --yes" in told
    assert service.submissions == 0
    assert not (tmp_path / "run").exists()
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    code, _, told = call(monkeypatch, capsys, "run", path)
    assert (code, service.submissions) == (2, 0)
    assert "declined; nothing was submitted" in told
    monkeypatch.setattr("typer.confirm", lambda *_, **__: True)
    assert call(monkeypatch, capsys, "run", path)[0] == 0
    assert service.submissions > 0
    np.savez(tmp_path / "new.npz", X=np.zeros((2, 2)))
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    before = service.submissions
    code, _, told = call(monkeypatch, capsys, "predict", tmp_path / "run", tmp_path / "new.npz")
    assert (code, service.submissions) == (2, before)
    assert "add --yes" in told


def test_an_account_without_the_mode_is_refused_before_anything(tmp_path, monkeypatch, capsys):
    service, path = on_service(tmp_path, monkeypatch, 'total = "600 shots"', allowed=("batch",))
    path.write_text(path.read_text().replace('"ibm_x"', '"ibm_x"\noptions = {mode = "session"}'))
    code, _, told = call(monkeypatch, capsys, "run", path, "--yes")
    assert code == 2
    assert "mode 'session' is not in the account's plan" in told
    assert service.submissions == 0
    assert not (tmp_path / "run").exists()


def test_a_budget_for_training_alone_has_no_total():
    section = parse_study(small()).budget
    assert (section.train, section.test_shots, section.ceiling) == ("1200 shots", 20, None)
    assert section.total is None


def test_a_row_for_every_figure_that_was_quoted():
    used = {"shots": 5000, "submissions": 5, "qpu_seconds": 10.0, "wall_seconds": 14.5}
    rows = quote_versus_actual(
        quote(20, 5000, rate=96, wish=Wish(design="pairs")), used | {"rate": 96.0}
    )
    assert {row["figure"]: row["actual"] for row in rows} == {
        "shots": 5000,
        "submissions": 5,
        "QPU seconds": 10.0,
        "cost": 16.0,
        "seconds": 14.5,
    }
    assert [round(row["quoted"], 1) for row in rows] == [5000, 5, 11.8, 18.8, 12.8]
