"""Exit codes and messages where another process is at work, and where the disk is full."""

import errno
import json
import os
import resource

import pytest

from aqka import LedgerError
from aqka._util import files
from aqka.cli.options import BAD_INPUT, BUSY, DISK_FULL, exit_code
from aqka.errors import InputError
from aqka.runs.ledger import LEDGER_NAME, Ledger
from aqka.study.directory import hold_run
from aqka_research.sweep.store import Store
from tests.cli.in_process import call
from tests.report.runs import finished_run, interrupted_run
from tests.study.helpers import aqka, write_study


@pytest.fixture
def stopped(tmp_path):
    return interrupted_run(tmp_path / "stopped")


def test_a_run_that_another_process_holds(stopped, monkeypatch, capsys):
    with hold_run(stopped):
        code, _, told = call(monkeypatch, capsys, "resume", stopped)
    assert code == BUSY
    assert told.startswith("error: another process is using")
    with Ledger(stopped / LEDGER_NAME, write=True):
        code, _, told = call(monkeypatch, capsys, "resume", stopped)
    assert code == BUSY
    assert "another process is writing to" in told
    assert call(monkeypatch, capsys, "resume", stopped)[0] == 0


def test_a_sweep_that_another_process_holds(tmp_path):
    with Store(tmp_path / "s"), pytest.raises(InputError) as refused, Store(tmp_path / "s"):
        pass
    assert exit_code(refused.value) == BUSY


def no_space(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_disk_that_is_full_when_a_run_begins(tmp_path, monkeypatch, capsys):
    path = write_study(tmp_path)
    with monkeypatch.context() as full:
        full.setattr(files.os, "fsync", no_space)
        code, _, told = call(full, capsys, "run", path)
    assert code == DISK_FULL
    assert "No space left on device" in told
    assert "free some space, then repeat the command" in told
    assert sorted(os.listdir(tmp_path)) == ["study.toml"]
    assert call(monkeypatch, capsys, "run", path)[0] == 0


def test_a_disk_that_is_full_when_predictions_are_written(tmp_path, monkeypatch, capsys):
    run = finished_run(tmp_path)
    new = tmp_path / "new.csv"
    new.write_text("x,y\n0.5,0.5\n")
    arguments = ("predict", run, new, "--output", tmp_path / "labels.csv")
    assert call(monkeypatch, capsys, *arguments)[0] == 0  # its shots are bought
    with monkeypatch.context() as full:
        full.setattr(files, "sync", no_space)
        code, _, told = call(full, capsys, *arguments)
    assert code == DISK_FULL
    assert "no shot is lost" in told


def test_a_disk_that_is_full_in_the_middle_of_a_run(tmp_path):
    write_study(tmp_path, budget="4000 shots", rounds=30)

    def leave_room_for_the_first_rounds():
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))

    full = aqka("run", "study.toml", cwd=tmp_path, preexec_fn=leave_room_for_the_first_rounds)
    assert full.returncode == DISK_FULL, full.stderr
    assert "free some space" in full.stderr
    assert "Traceback" not in full.stderr
    again = aqka("resume", "run", "--json", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["results"]


def test_an_error_of_the_disk_that_nobody_expected(monkeypatch, capsys):
    monkeypatch.setattr("aqka.cli.app.app", no_space)
    code, _, told = call(monkeypatch, capsys, "doctor")
    assert code == DISK_FULL
    assert told.startswith("error: No space left on device: a file. The disk is full or failing")


def test_other_errors_keep_theirs(monkeypatch, capsys, tmp_path):
    assert exit_code(InputError("bad")) == exit_code(LedgerError("damaged")) == BAD_INPUT
    assert call(monkeypatch, capsys, "status", tmp_path / "none")[0] == BAD_INPUT
    monkeypatch.setattr(
        "aqka.cli.app.app", lambda: (_ for _ in ()).throw(PermissionError(errno.EACCES, "no"))
    )
    with pytest.raises(PermissionError):
        call(monkeypatch, capsys, "doctor")


def test_the_codes_are_in_the_help(monkeypatch, capsys):
    _, told, _ = call(monkeypatch, capsys, "run", "--help")
    told = " ".join(told.split())
    for words in ("2: bad input", "3: interrupted", "4: failed", "5: another", "6: the disk"):
        assert words in told
