"""`aqka demo` as a user meets it."""

import json
import os
import pty
import subprocess
import sys

import pytest

from aqka.cli import app as cli
from aqka.demo import iris


@pytest.fixture
def short_iris(monkeypatch):
    steps = (iris.Step("4 a pair", 4), iris.Step("16 a point", 16, 20, looks=1))
    monkeypatch.setattr(iris, "STEPS", steps)


def call(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["aqka", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0
    return capsys.readouterr()


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


def test_demo_without_matplotlib_says_what_to_install(short_iris, monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    picture = str(tmp_path / "demo.png")
    shown = call(monkeypatch, capsys, "demo", "--seeds", "1", "--picture", picture)
    assert "pip install 'aqka[plot]'" in shown.err
    assert "a plain SVM" in shown.out
    assert shown.out.count("Picture") == 0


def test_the_usual_way_beside_ours_in_shots_time_and_money(
    short_iris, monkeypatch, capsys, tmp_path
):
    picture = tmp_path / "demo.png"
    shown = call(monkeypatch, capsys, "demo", "--seeds", "2", "--picture", str(picture))
    for words in ("4 a pair", "39,800", "a plain SVM", "16 a point", "QPU time, step by step"):
        assert words in shown.out
    assert max(map(len, shown.out.splitlines()[:9])) <= 80
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert shown.err == ""  # no progress bar where nobody watches
    arguments = ("--seeds", "1", "--json", "--picture", str(picture))
    shown = call(monkeypatch, capsys, "demo", *arguments)
    facts = json.loads(shown.out)
    assert {run["step"] for run in facts["runs"]} == {"4 a pair", "16 a point"}
    assert facts["runs"][0]["shots"] == 4 * 9950
