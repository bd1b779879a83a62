"""Commands of aqka in processes of their own, forked from a warm parent."""

import errno
import faulthandler
import fcntl
import json
import multiprocessing
import os
import resource
import sys
import traceback
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from unittest import mock

import numpy as np

from aqka.cli import app as cli
from aqka.cli.options import BUSY, CEILING_REACHED, DISK_FULL, FAILED, INTERRUPTED
from tests.chaos.file_faults import arm

FORK = multiprocessing.get_context("fork")  # children inherit the imports
CRASHED = 70
MAX_SECONDS = 120  # of a command; more, and it hangs
KNOWN_CODES = (0, 1, 2, INTERRUPTED, FAILED, BUSY, DISK_FULL, CEILING_REACHED, -9)


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    arguments: tuple[str, ...]
    code: int
    out: str
    err: str

    @property
    def crashed(self):
        return "Traceback" in self.err or self.code not in KNOWN_CODES

    def facts(self):
        """What it says, as JSON; None where it says none."""
        try:
            return json.loads(self.out)
        except ValueError:
            return None


class Command:
    """A command that may still be running.

    Parameters
    ----------
    limit
        Bytes that a file may have: more, and the disk is full.
    full
        How often the disk is full for a moment.
    fault
        Which file operation of the run suffers, and how: see ``file_faults``.
    """

    def __init__(self, kind, place, arguments, *, limit=None, full=0.0, fault=None, **world):
        self.arguments = tuple(map(str, arguments))
        # Pipes: what is printed must not count as written to the full disk.
        self._pipes = [os.pipe(), os.pipe()]
        for _, end in self._pipes:
            fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, 2**20)
        self._child = FORK.Process(target=self._play, args=(kind, place, limit, full, fault, world))
        self._child.start()
        for _, end in self._pipes:
            os.close(end)

    def _play(self, kind, place, limit, full, fault, world):
        for number, (_, end) in enumerate(self._pipes, 1):
            os.dup2(end, number)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        faulthandler.enable(sys.stderr)
        warnings.resetwarnings()
        sys.argv = ["aqka", *self.arguments]
        code = CRASHED
        try:
            with kind.entered(place, **world), sometimes_full(full):
                if fault is not None:
                    arm(place.run, *fault)
                if limit is not None:
                    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
                    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
                cli.main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        except BaseException:
            traceback.print_exc()
        finally:
            try:
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code)

    def is_running(self):
        return self._child.is_alive()

    def wait(self, seconds=None):
        """Wait for the end, or kill it after so many seconds."""
        self._child.join(MAX_SECONDS if seconds is None else seconds)
        hung = seconds is None and self._child.is_alive()
        self._child.kill()
        self._child.join()
        out, err = (read_all(end) for end, _ in self._pipes)
        return Ended(self.arguments, CRASHED if hung else self._child.exitcode, out, err)


def read_all(end):
    with os.fdopen(end, "rb") as stream:
        return stream.read().decode(errors="replace")


@contextmanager
def sometimes_full(share):
    """Let what is written fail now and then for want of space."""
    rng = np.random.default_rng()

    def failing(real):
        def write(*arguments):
            if rng.random() < share:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*arguments)

        return write

    with ExitStack() as stack:
        for name in ("pwrite", "fsync", "replace") if share else ():
            stack.enter_context(mock.patch.object(os, name, failing(getattr(os, name))))
        yield


def call(kind, place, *arguments, seconds=None, **circumstances):
    """Call a command and wait for its end."""
    return Command(kind, place, arguments, **circumstances).wait(seconds)


def go_on(place):
    """The command that begins a run or goes on with it."""
    if place.run.exists():
        return ("resume", place.run, "--yes", "--json")
    return ("run", place.home / "study.toml", "--output", place.run, "--yes", "--json")


def reading(place):
    """The commands that look at a run, by name."""
    return {
        "status": ("status", place.run, "--json"),
        "report": ("report", place.run, "--json"),
        "export": ("ledger", "export", place.run, place.home / "counts.csv"),
        "verify": ("ledger", "verify", place.run, "--json"),
    }


def predicting(place):
    return ("predict", place.run, place.new_points, "--yes", "--json")
