"""`aqka report`, and the report that `aqka run` writes."""

import html
import json
import re

import pytest

from aqka.report.answers import answer_questions, decide
from aqka.report.run_report import run_report
from tests.cli.in_process import call
from tests.report.runs import finished_run, with_quick_learner
from tests.study.helpers import small, write_study


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("one"))


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


def test_terminal_page_and_json_say_the_same(tmp_path, monkeypatch, capsys):
    path = write_study(tmp_path / "a", with_quick_learner(small()))
    code, out, _ = call(monkeypatch, capsys, "run", path)
    assert code == 0
    run = tmp_path / "a" / "run"
    report = run_report(run)
    verdict, answers = decide(report), answer_questions(report)
    lines = out.splitlines()
    assert lines[0] == verdict.words
    page = html.unescape((run / "report.html").read_text())
    assert f"<b>{verdict.headline}:</b> {verdict.reason}</p>" in page
    for question, answer in answers.items():
        assert f"{question} {answer}" in lines
        assert f"<dt>{question}</dt><dd>{answer}</dd>" in re.sub("</?a[^>]*>", "", page)
    words = set(re.findall('<a class="word" href="#([^"]*)"', page))
    assert {"word-shot", "word-settled"} <= words <= set(re.findall('<dt id="([^"]*)"', page))
    low, high = report.tested.interval
    assert f"95 %: {low:.2f} to {high:.2f}" in out
    assert " ± 0.000" not in out
    code, again, _ = call(monkeypatch, capsys, "report", run)
    assert again.splitlines()[0] == verdict.words
    code, out, _ = call(monkeypatch, capsys, "report", run, "--json")
    told = json.loads(out)
    assert told["words"][0] == told["runs"][0]["words"] == verdict.words
    assert told["runs"][0]["verdict"] == verdict.outcome


def test_a_run_writes_its_report_and_never_fails_for_it(tmp_path, monkeypatch, capsys):
    path = write_study(tmp_path / "a", with_quick_learner(small()))
    code, out, _ = call(monkeypatch, capsys, "run", path)
    assert code == 0
    assert "The report is in" in out
    assert (tmp_path / "a" / "run" / "report.html").exists()

    def fail(_):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("aqka.report.run_report.study_report", fail)
    path = write_study(tmp_path / "b", with_quick_learner(small()))
    code, out, told = call(monkeypatch, capsys, "run", path, "--json")
    assert code == 0
    assert json.loads(out)["report"] is None
    assert "No report: a bug. Try: aqka report" in told
