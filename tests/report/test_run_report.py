"""The numbers of a report, against other ways to get them."""

import json
import shutil

import numpy as np
import pytest

from aqka import InputError, LedgerError, MatrixBackend, acquire
from aqka.report.answers import answer_questions, decide
from aqka.report.comparison import comparison_page
from aqka.report.run_page import run_page
from aqka.report.run_report import run_report
from aqka.study.carry_out import carry_out
from aqka.study.directory import prepare
from tests.conftest import make_kernel, make_labels
from tests.report.runs import finished_run, interrupted_run, with_quick_learner
from tests.study.helpers import small, write_study


def test_it_agrees_with_the_results(run, report):
    stored = json.loads((run / "results.json").read_text())
    results, found = stored["results"], report.tested
    assert found.score == pytest.approx(results["accuracy"])
    shown = found.facts(report.guess)["test_points"]
    assert shown["standard_error"] == pytest.approx(results["standard_error"])
    assert found.balanced_accuracy == pytest.approx(results["balanced_accuracy"])
    assert report.guess.score == pytest.approx(results["majority_accuracy"])
    assert found.predicted == results["predictions"]
    assert int(found.shots.sum()) == stored["actual"]["test_shots"]
    assert report.diagnostics.gini == pytest.approx(results["diagnostics"]["gini"])
    assert [r.shots for r in report.rounds] == [r["shots"] for r in stored["history"]]
    assert [r.accuracy for r in report.rounds] == [r["accuracy"] for r in stored["history"]]
    assert report.usage == stored["quote_versus_actual"]
    assert report.usage[5]["quoted"] == stored["test_shots"]
    assert all(audit.sound for audit in report.ledgers.values())
    assert report.state == "finished"


def test_no_shot_is_spent_for_it(run, report):
    before = (run / "ledger.sqlite").read_bytes()
    again = run_report(run)
    assert (run / "ledger.sqlite").read_bytes() == before
    assert np.array_equal(again.table.hits, report.table.hits)
    assert run_page(again) == run_page(report)  # the same run gives the same page


def test_a_run_that_ends_while_it_is_read_is_not_called_stopped(tmp_path, monkeypatch):
    def spend(on_round=None):
        acquire(
            MatrixBackend(make_kernel(4)), [1, -1, 1, -1], 60, directory=tmp_path, on_round=on_round
        )

    def stop(session):
        raise KeyboardInterrupt

    def at_work_until_now(directory):
        spend()
        return True

    with pytest.raises(KeyboardInterrupt):
        spend(stop)
    monkeypatch.setattr("aqka.report.run_report.is_held", at_work_until_now)
    assert run_report(tmp_path).state == "finished"


def test_an_allocator_that_completes_rows_is_not_judged_by_its_raw_noise(tmp_path):
    path = write_study(tmp_path, small().replace("rounds = 3", 'rounds = 1\nallocator = "nystrom"'))
    carry_out(prepare(path), tmp_path / "run")
    found = run_report(tmp_path / "run")
    assert found.steering is None
    assert "not computed" in " ".join(found.notes)
    assert "Was adaptive allocation worth it?" not in answer_questions(found)


@pytest.mark.parametrize("ledger", ["ledger.sqlite", "predictions/ledger.sqlite"])
def test_a_damaged_ledger_is_refused(tmp_path, ledger):
    run = finished_run(tmp_path)
    (run / ledger).write_bytes(b"nothing")
    for side in run.glob(f"{ledger}-*"):
        side.unlink()
    with pytest.raises(LedgerError, match="not a database"):
        run_report(run)


def test_predictions_that_are_still_to_begin_are_not_called_unsound(tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    path = write_study(tmp_path, with_quick_learner(small()))
    with monkeypatch.context() as patch:
        patch.setattr("aqka.study.carry_out._Spending.predict", stop)
        with pytest.raises(KeyboardInterrupt):
            carry_out(prepare(path), tmp_path / "run")
    pending = run_report(tmp_path / "run")
    assert list(pending.ledgers) == ["training"]
    assert pending.notes == []
    assert decide(pending).outcome == "open"
    next_words = answer_questions(pending)["What to do next?"]
    assert "the test points have not been predicted yet" in next_words
    assert "NOT sound" not in run_page(pending)


def test_unfinished_and_labelless_runs(tmp_path):
    stopped = run_report(interrupted_run(tmp_path / "stopped"))
    assert stopped.state == "interrupted"
    assert stopped.tested is None
    assert "640 shots are left" in answer_questions(stopped)["What to do next?"]
    assert "not been predicted yet" in answer_questions(stopped)["How accurate is it?"]
    acquire(MatrixBackend(make_kernel(6)), make_labels(6), 100, directory=tmp_path / "python")
    bare = run_report(tmp_path / "python")
    assert bare.measured.sensitivity is None
    assert "started from Python" in run_page(bare)
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
def test_strange_results_are_told_not_believed(run, tmp_path, content):
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    (copy / "results.json").write_bytes(content)
    with pytest.raises((InputError, LedgerError), match=r"results\.json"):
        run_report(copy)
