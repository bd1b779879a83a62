"""`aqka demo` as a user meets it."""

import json
import os
import pty
import subprocess
import sys

import pytest

from aqka.cli import app as cli
from aqka.demo import figures, iris
from aqka.demo import paper as demo


@pytest.fixture
def short_demo(monkeypatch):
    monkeypatch.setattr(demo, "SHOTS_PER_PAIR", (4.0,))
    monkeypatch.setattr(demo, "TASKS", (lambda seed: demo.planted_sparse(60, 20, 4, seed),))


@pytest.fixture
def short_iris(monkeypatch):
    steps = (iris.Step("4 a pair", 4), iris.Step("16 a point", 16, 20, looks=1))
    for module in (iris, figures):
        monkeypatch.setattr(module, "STEPS", steps)


def call(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["aqka", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0
    return capsys.readouterr()


def test_demo_prints_a_table_and_draws(short_demo, monkeypatch, capsys, tmp_path):
    picture = tmp_path / "demo.png"
    shown = call(monkeypatch, capsys, "demo", "--paper", "--seeds", "2", "--picture", str(picture))
    for words in ("majority class", "exact kernel", "7,320 shots", "balanced", "Gini", "uniform"):
        assert words in shown.out
    assert shown.err == ""  # no progress bar where nobody watches
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_terminal_sees_a_progress_bar(tmp_path):
    ours, theirs = pty.openpty()
    picture = str(tmp_path / "demo.png")
    demo_process = subprocess.Popen(
        [sys.executable, "-m", "aqka", "demo", "--seeds", "1", "--picture", picture],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    )
    os.close(theirs)
    seen = b""
    while b"spending shots" not in seen:
        seen += os.read(ours, 1024)
    demo_process.kill()
    demo_process.wait()
    os.close(ours)


def test_demo_as_json_says_the_same(short_demo, monkeypatch, capsys, tmp_path):
    picture = tmp_path / "demo.png"
    shown = call(
        *(monkeypatch, capsys, "demo", "--paper", "--seeds", "1"),
        *("--json", "--picture", str(picture)),
    )
    answer = json.loads(shown.out)
    runs = {(r["reading"], r["allocator"]) for r in answer["results"]}
    assert runs == {(p, a) for p in demo.READINGS for a in demo.ALLOCATORS}
    assert all(r["shots"] == 7320 for r in answer["results"])
    for which in ("diagnostics", "exact_kernel_diagnostics"):
        (found,) = answer[which].values()
        assert {"gini", "rho", "advice"} <= set(found)
    assert answer["picture"] == str(picture)


def test_demo_without_matplotlib_says_what_to_install(short_demo, monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "aqka.demo.figures", None)
    shown = call(
        *(monkeypatch, capsys, "demo", "--paper", "--seeds", "1"),
        *("--picture", str(tmp_path / "demo.png")),
    )
    assert "pip install 'aqka[plot]'" in shown.err
    assert "majority class" in shown.out


def test_the_usual_way_beside_ours_in_shots_time_and_money(
    short_iris, monkeypatch, capsys, tmp_path
):
    picture = tmp_path / "demo.png"
    shown = call(monkeypatch, capsys, "demo", "--seeds", "2", "--picture", str(picture))
    for words in ("4 a pair", "39,800", "a plain SVM", "16 a point", "Less QPU time by step"):
        assert words in shown.out
    assert max(map(len, shown.out.splitlines()[:9])) <= 80
    assert picture.read_bytes().startswith(b"\x89PNG")
    shown = call(
        *(monkeypatch, capsys, "demo", "--seeds", "1", "--json", "--picture", str(picture)),
    )
    facts = json.loads(shown.out)
    assert {run["step"] for run in facts["runs"]} == {"4 a pair", "16 a point"}
    assert facts["runs"][0]["bill"]["shots"] == 4 * 9950
