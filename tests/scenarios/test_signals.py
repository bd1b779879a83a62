"""Runs stopped in every way a terminal can stop them, and resumed from their directory."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from aqka.cli import options
from aqka.cli.app import app
from aqka.errors import LedgerError
from aqka.runs.audit import verify
from aqka.runs.export import table_of
from aqka.study.carry_out import carry_out, resume
from aqka.study.directory import prepare
from aqka.study.store import RunStore
from tests.study.helpers import PATIENCE, QUICK, aqka, progress, write_study

ROUNDS, BEFORE = 8, 3
STUDY = {"budget": "800 shots", "rounds": ROUNDS, "method": QUICK}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The table of a run that nobody interrupted."""
    base = tmp_path_factory.mktemp("whole")
    carry_out(prepare(write_study(base, **STUDY)), base / "run")
    return table_of(base / "run").table


def rounds_so_far(run):
    try:
        return verify(run).ended
    except LedgerError:
        return 0


def start(base, **options):
    """Start a run that waits in the middle of its work until the file ``gate`` is gone."""
    write_study(base, **STUDY)
    (base / "gate").touch()
    waiting_run = Path(__file__).with_name("waiting_run.py")
    command = [sys.executable, waiting_run, "gate", str(BEFORE), "run", "study.toml"]
    process = subprocess.Popen(command, cwd=base, text=True, **options)
    while rounds_so_far(base / "run") < BEFORE:
        assert process.poll() is None
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_a_stopped_run_is_resumed_to_the_same_table(number, whole, tmp_path, monkeypatch):
    process = start(tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.send_signal(number)
    _, told = process.communicate(timeout=PATIENCE)
    killed = number == signal.SIGKILL
    assert process.returncode == (-signal.SIGKILL if killed else 3)
    assert "Traceback" not in told
    if number == signal.SIGINT:
        assert "to continue: aqka resume run" in told
    assert verify(tmp_path / "run").ended < ROUNDS
    stopped = progress(tmp_path / "run")
    assert stopped.state == ("stopped" if killed else "interrupted")
    assert stopped.resumable
    (tmp_path / "study.toml").unlink()  # the directory is enough
    monkeypatch.chdir(tmp_path)
    resumed = CliRunner().invoke(app, ["resume", "run"])
    assert resumed.exit_code == 0, resumed.output
    assert "accuracy" in resumed.stdout
    table = table_of(tmp_path / "run").table
    assert np.array_equal(table.shots, whole.shots)
    assert np.array_equal(table.hits, whole.hits)
    assert progress(tmp_path / "run").state == "finished"


def test_a_closed_terminal_stops_a_run_cleanly(tmp_path):
    """The terminal itself goes away while the live view draws on it."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    process = start(tmp_path, **streams, env=environment, preexec_fn=own_terminal)
    os.close(theirs)
    os.close(ours)  # the kernel now sends SIGHUP to the terminal's processes
    assert process.wait(timeout=PATIENCE) == 3
    assert progress(tmp_path / "run").state == "interrupted"


def own_terminal():
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_the_live_view_and_a_watcher_show_the_run(tmp_path):
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = start(tmp_path, stdout=subprocess.DEVNULL, stderr=theirs, env=environment)
    os.close(theirs)
    looked = aqka("status", "run", "--json", cwd=tmp_path)
    watcher = subprocess.Popen(
        [sys.executable, "-m", "aqka", "watch", "run", "--every", "0.2", "--json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    first = watcher.stdout.readline()  # it has seen the run at work
    (tmp_path / "gate").unlink()
    seen = b""
    try:
        while chunk := os.read(ours, 4096):
            seen += chunk
    except OSError:  # Linux's word for the end of a terminal
        pass
    os.close(ours)
    assert process.wait(timeout=PATIENCE) == 0
    watched, _ = watcher.communicate(timeout=PATIENCE)
    assert watcher.returncode == 0
    for words in (b"shots left", b"pairs seen", b"Gini", b"cross-validated", b"time left"):
        assert words in seen
    assert '"state": "running"' in looked.stdout or '"state": "waiting"' in looked.stdout
    lines = [first, *watched.strip().splitlines()]
    assert '"state": "finished"' in lines[-1]
    assert len(lines) > 1


def test_two_processes_do_not_work_on_one_run(tmp_path):
    process = start(tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    process.send_signal(signal.SIGSTOP)  # so that it is still at work when we come
    try:
        with pytest.raises(LedgerError, match="another process is using"):
            resume(RunStore(tmp_path / "run"))
        assert progress(tmp_path / "run").state in ("running", "waiting")
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_polite_kill_is_a_ctrl_c(number):
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), options._stopped_by_signals():
        signal.raise_signal(number)
    assert signal.getsignal(number) is before
