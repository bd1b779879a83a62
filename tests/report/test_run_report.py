"""The numbers and the words of a report, against other ways to get them."""

import json
import shutil
import sys
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from aqka import InputError, LedgerError, MatrixBackend, acquire
from aqka.cli import app as cli
from aqka.insight.hindsight import FewerShots, Steering
from aqka.insight.redraw import noise_floor
from aqka.report.html_comparison import compared, comparison_page
from aqka.report.html_document import safe_json
from aqka.report.html_figures import lorenz
from aqka.report.html_page import run_page
from aqka.report.run_report import run_report
from aqka.report.svg import Scale
from aqka.report.verdict import verdict
from aqka.report.write_report import collect
from aqka.study.carry_out import carry_out
from aqka.study.directory import prepare
from tests.conftest import make_kernel, make_labels
from tests.report.runs import HOSTILE_LABELS, finished, hostile, interrupted, quick
from tests.study.helpers import small, write_study


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return finished(tmp_path_factory.mktemp("one"))


@pytest.fixture(scope="module")
def report(run):
    return run_report(run)


def call(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["aqka", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    return stop.value.code or 0, shown.out, shown.err


def answers(report):
    return {one.question: one.answer for one in verdict(report)}


def test_it_agrees_with_the_results(run, report):
    stored = json.loads((run / "results.json").read_text())
    results, found = stored["results"], report.point_results
    assert found.accuracy == pytest.approx(results["accuracy"])
    assert found.standard_error == pytest.approx(results["standard_error"])
    assert found.balanced_accuracy == pytest.approx(results["balanced_accuracy"])
    assert found.majority_accuracy == pytest.approx(results["majority_accuracy"])
    assert found.predicted == results["predictions"]
    assert int(found.shots.sum()) == stored["actual"]["test_shots"]
    assert report.diagnostics.gini == pytest.approx(results["diagnostics"]["gini"])
    assert [r.shots for r in report.rounds] == [r["shots"] for r in stored["history"]]
    assert [r.accuracy for r in report.rounds] == [r["accuracy"] for r in stored["history"]]
    assert report.usage[:5] == stored["quote_versus_actual"]
    assert report.usage[5]["quoted"] == stored["test_shots"]
    assert all(audit.sound for audit in report.ledgers.values())
    assert report.state == "finished"


def test_no_shot_is_spent_for_it(run, report):
    before = (run / "ledger.sqlite").read_bytes()
    again = run_report(run)
    assert (run / "ledger.sqlite").read_bytes() == before
    assert np.array_equal(again.table.hits, report.table.hits)
    assert run_page(again) == run_page(report)  # the same run gives the same page


def test_the_lorenz_curve_holds_the_gini():
    """One less twice the area below the curve is the Gini coefficient."""
    from aqka.insight.diagnostics import gini

    values = np.random.default_rng(1).exponential(size=150)
    x, y = lorenz(values)
    assert 1 - 2 * np.trapezoid(y, x) == pytest.approx(gini(values))
    many = np.random.default_rng(2).exponential(size=40_000)
    x, y = lorenz(many)
    assert len(x) == 201
    assert 1 - 2 * np.trapezoid(y, x) == pytest.approx(gini(many), abs=1e-3)


def test_noise_alone_stays_below_the_floor():
    """The spectrum of pure shot noise ends near the floor, by drawing it."""
    kernel = np.full((200, 200), 0.3)
    np.fill_diagonal(kernel, 1.0)
    session = acquire(MatrixBackend(kernel), make_labels(200), 19_900 * 20, "uniform")
    table = session.table
    noise = table.square(table.estimate() - 0.3, known_diagonal=0.0)
    largest = np.abs(np.linalg.eigvalsh(noise)).max()
    assert largest == pytest.approx(noise_floor(table), rel=0.08)


def test_words_follow_the_numbers(report):
    better = replace(report, steering=Steering(0.5, 0.1, 0.4))
    assert (
        "yes, even shots would have needed 2.00 times"
        in answers(better)["Was adaptive allocation worth it?"]
    )
    worse = replace(report, steering=Steering(1.5, 0.1, 0.4))
    assert "no, spreading them evenly" in answers(worse)["Was adaptive allocation worth it?"]
    assert "uniform or auto" in answers(worse)["What to do next?"]
    unsure = replace(report, steering=Steering(0.9, 0.1, 0.4))
    assert "no difference that" in answers(unsure)["Was adaptive allocation worth it?"]
    small_but_sure = replace(report, steering=Steering(0.99, 0.001, 0.4))
    assert not small_but_sure.steering.sure
    even = replace(better, settings=report.settings | {"method.allocator": "uniform"})
    assert "did not steer" in answers(even)["Was adaptive allocation worth it?"]

    def advice(gain, error):
        half = FewerShots(0.5, 0.8, 0.01, gain, error)
        return answers(replace(report, fewer=[half]))["What to do next?"]

    assert advice(0.1, 0.02).startswith("More shots:")
    assert advice(0.0, 0.01).startswith("Not more shots:")
    assert advice(0.03, 0.03).startswith("Whether more shots would help cannot be told")
    found = report.point_results
    for gain, error, words in (
        (0.3, 0.1, "better than the majority class"),
        (-0.3, 0.1, "worse than the majority class"),
        (0.1, 0.1, "not shown to be better"),
        (0.0, 0.0, "not shown to be better"),
    ):
        changed = replace(report, point_results=replace(found, gain=gain, gain_error=error))
        assert words in answers(changed)["How accurate is it?"]


def test_an_allocator_that_completes_rows_is_not_judged_by_its_raw_noise(tmp_path):
    path = write_study(tmp_path, small().replace("rounds = 3", 'rounds = 1\nallocator = "nystrom"'))
    carry_out(prepare(path), tmp_path / "run", new=True)
    found = run_report(tmp_path / "run")
    assert found.steering is None
    assert "not worked out" in " ".join(found.notes)
    assert "Was adaptive allocation worth it?" not in answers(found)


def test_qpu_time_and_cost_stand_beside_the_quote(report):
    rows = [
        row | {"actual": 90.0, "quoted": 100.0} if row["figure"] == "QPU seconds" else row
        for row in report.usage
    ]
    billed = replace(report, usage=rows)
    assert "1 min 30 s of QPU time" in answers(billed)["What was spent?"]
    page = run_page(billed)
    assert "<td>100.00</td><td>90.00</td><td>90%</td>" in page


def test_a_damaged_training_ledger_is_refused_and_of_predictions_told(tmp_path):
    run = finished(tmp_path)
    ledger = run / "predictions" / "ledger.sqlite"
    ledger.write_bytes(b"nothing")
    for side in run.glob("predictions/ledger.sqlite-*"):
        side.unlink()
    found = run_report(run)
    assert not found.ledgers["predictions"].sound
    assert found.point_results is None
    assert "NOT sound" in run_page(found)
    for side in run.glob("ledger.sqlite-*"):
        side.unlink()
    (run / "ledger.sqlite").write_bytes(b"nothing")
    with pytest.raises(LedgerError):
        run_report(run)


def test_unfinished_and_labelless_runs(tmp_path):
    stopped = run_report(interrupted(tmp_path / "stopped"))
    assert stopped.state == "interrupted"
    assert stopped.point_results is None
    assert "640 shots are left" in answers(stopped)["What to do next?"]
    assert "not predicted yet" in answers(stopped)["How accurate is it?"]
    acquire(MatrixBackend(make_kernel(6)), make_labels(6), 100, directory=tmp_path / "python")
    bare = run_report(tmp_path / "python")
    assert bare.sensitivity is None
    assert "begun from Python" in run_page(bare)
    comparison_page([stopped, bare])
    with pytest.raises(InputError, match="there is no run"):
        run_report(tmp_path / "none")


@pytest.mark.parametrize(
    "content",
    [
        b"null",
        b"{}",
        b'{"results": 3}',
        b'{"results": {"predictions": [], "settled": []}}',
        b'{"results": {"predictions": [1,2,3,4,5,6], "settled": [[],{},1,2,3,4]}}',
        b'{"test_shots": "x", "quote": []}',
    ],
)
def test_strange_results_do_no_harm(run, tmp_path, content):
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    (copy / "results.json").write_bytes(content)
    with suppress(InputError):  # told, not believed
        run_page(run_report(copy))


def test_a_comparison_pairs_the_same_points(report, tmp_path):
    found = report.point_results
    other = replace(report, point_results=replace(found, right=~found.right))
    [sentence] = compared([report, other])
    each = (~found.right).astype(float) - found.right
    assert f"{each.mean():+.3f} ± {np.std(each) / np.sqrt(6):.3f} point by point" in sentence
    [elsewhere] = compared([report, replace(other, data="others")])
    assert "on different test points" in elsewhere
    assert "right on the same points" in compared([report, report])[0]
    one = found.right.copy()
    one[0] = ~one[0]
    close = replace(report, point_results=replace(found, right=one))
    assert "cannot be told" in compared([report, close])[0]
    page = comparison_page([report, replace(report, settings={"method.allocator": "leverage"})])
    assert "method.allocator" in page
    with pytest.raises(InputError, match="at most 6"):
        collect([tmp_path] * 7)


def test_hostile_names_are_escaped(tmp_path):
    run = hostile(tmp_path / "h")
    page = run_page(run_report(run))
    for name in HOSTILE_LABELS[:1]:
        assert name not in page
    assert "<img" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert page.count("<script") == page.count("</script>") == 2
    assert json.loads(safe_json("</script><!--&")) == "</script><!--&"


def test_ticks_are_round_and_inside():
    for low, high in ((0, 1), (0.61, 0.93), (-3, 17), (0, 21_000), (1e-9, 3e-9)):
        ticks = Scale(low, high).ticks()
        assert 2 <= len(ticks) <= 7
        assert low - 1e-12 <= min(ticks) <= max(ticks) <= high * 1.000001
    assert Scale(3000, 40_000, log=True).ticks() == [5000.0, 10_000.0, 20_000.0]


def test_the_command_writes_prints_and_refuses(run, tmp_path, monkeypatch, capsys):
    code, out, _ = call(monkeypatch, capsys, "report", run)
    assert code == 0
    assert "What was spent? 1,200 of 1,200 shots" in out
    assert (run / "report.html").read_text().startswith("<!DOCTYPE html>")
    target = tmp_path / "both.html"
    code, out, _ = call(monkeypatch, capsys, "report", run, run, "--output", target, "--json")
    assert code == 0
    answer = json.loads(out)
    assert answer["file"] == str(target)
    assert [one["shots"] for one in answer["runs"]] == [1200, 1200]
    assert "Comparison of 2 runs" in target.read_text()
    missing = tmp_path / "no" / "where.html"
    code, _, told = call(monkeypatch, capsys, "report", run, "--output", missing)
    assert code == 2
    assert "name another with --output" in told
    assert call(monkeypatch, capsys, "report", tmp_path)[0] == 2


def test_a_run_writes_its_report_and_never_fails_for_it(tmp_path, monkeypatch, capsys):
    path = write_study(tmp_path / "a", quick(small()))
    code, out, _ = call(monkeypatch, capsys, "run", path)
    assert code == 0
    assert "The report is in" in out
    assert (tmp_path / "a" / "run" / "report.html").exists()

    def fail(_):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("aqka.report.write_report.collect", fail)
    path = write_study(tmp_path / "b", quick(small()))
    code, out, told = call(monkeypatch, capsys, "run", path, "--json")
    assert code == 0
    assert json.loads(out)["report"] is None
    assert "No report: a bug. Try: aqka report" in told


def test_commands_have_help_with_an_example(monkeypatch, capsys):
    for command in ("report", "predict", "bench"):
        code, out, _ = call(monkeypatch, capsys, command, "--help")
        assert code == 0
        assert f"Example: aqka {command}" in " ".join(out.split())


def test_bench_runs_in_a_clone_and_says_so_elsewhere(tmp_path, monkeypatch, capsys):
    ran = []

    def make(command, cwd, check):
        ran.append((command, cwd))
        return type("Done", (), {"returncode": 7})

    monkeypatch.setattr("subprocess.run", make)
    assert call(monkeypatch, capsys, "bench")[0] == 7  # make's own exit code
    [(command, clone)] = ran
    assert command == ["make", "bench"]
    assert (clone / "Makefile").is_file()
    monkeypatch.setattr("aqka.__file__", str(tmp_path / "site" / "aqka" / "__init__.py"))
    code, _, told = call(monkeypatch, capsys, "bench")
    assert code == 2
    assert "make bench" in told
