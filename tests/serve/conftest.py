"""A folder with a run of each kind, and a server that shows it."""

import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from aqka.serve.server import RunServer
from aqka.study.carry_out import Watcher, carry_out
from aqka.study.directory import prepare
from tests.report.runs import finished_run, hostile_run, interrupted_run, with_quick_learner
from tests.study.helpers import PATIENCE, small, write_study

KILLED = """
import os, sys
from pathlib import Path
from aqka.study.carry_out import Watcher, carry_out
from aqka.study.directory import prepare
rounds = []
def die():
    rounds.append(1)
    if len(rounds) == 2:
        os.kill(os.getpid(), 9)
carry_out(prepare(Path(sys.argv[1])), Path(sys.argv[2]), Watcher(on_round=die))
"""


class RunInProgress:
    """A run in a thread of this process that ends a round only when it is told to."""

    def __init__(self, directory):
        path = write_study(directory, with_quick_learner(small()))
        self.directory = directory / "run"
        self._prepared, self._go = prepare(path), threading.Semaphore(0)
        self.ended_rounds = 0
        self._thread = threading.Thread(target=self._work)
        self._thread.start()
        self.let_rounds_end(0)

    def _work(self):
        carry_out(self._prepared, self.directory, Watcher(on_round=self._wait))

    def _wait(self):
        self.ended_rounds += 1
        assert self._go.acquire(timeout=PATIENCE)

    def let_rounds_end(self, count):
        """Let some rounds pass, and wait until the run waits again, one round further on."""
        wanted = self.ended_rounds + count or 1
        for _ in range(count):
            self._go.release()
        wait_until(lambda: self.ended_rounds >= wanted or not self._thread.is_alive())

    def finish(self):
        for _ in range(1000):
            self._go.release()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextmanager
def serving(folder):
    server = RunServer(folder)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.server.started)
        yield server.address
    finally:
        server.server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    base = tmp_path_factory.mktemp("folder")
    finished_run(base / "done")
    interrupted_run(base / "broken off")
    hostile_run(base / "hostile")
    path = write_study(base / "killed", with_quick_learner(small()))
    command = [sys.executable, "-c", KILLED, path, base / "killed" / "run"]
    died = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    assert died.returncode == -9, died.stderr.decode()
    (base / "damaged").mkdir()
    (base / "damaged" / "ledger.sqlite").write_bytes(b"nothing of the kind")
    return base
