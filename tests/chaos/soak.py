"""Plays scenarios until the time is up."""

import os
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from aqka.cli import app as cli
from tests.chaos.account import Tally
from tests.chaos.commands import call, go_on, predicting, reading
from tests.chaos.kinds import KINDS
from tests.chaos.scenarios import SCENARIOS, References, Stage, what_is_said


@contextmanager
def scratch():
    """A directory for the soak, in memory where that is possible: nobody cuts the power."""
    memory = "/dev/shm"
    usable = os.path.isdir(memory) and os.access(memory, os.W_OK)
    with tempfile.TemporaryDirectory(prefix="aqka-chaos-", dir=memory if usable else None) as name:
        yield Path(name)


def soak(seconds, seed, tell=lambda text: None):
    """Play scenarios for so many seconds, each at least once; return what was found."""
    tally, end = Tally(), time.monotonic() + seconds
    with threadpool_limits(1), scratch() as place:
        references = prepare_all(place)
        number = 0
        while number < len(SCENARIOS) or time.monotonic() < end:
            play(tally, seed + number, references, place / str(number), tell)
            number += 1
    return tally


def repeat(seed, tell=lambda text: None):
    """Play the one scenario of a seed."""
    tally = Tally()
    with threadpool_limits(1), scratch() as place:
        kind = kind_of(seed)
        references = {kind.name: prepare(kind, place / "reference")}
        play(tally, seed, references, place / "again", tell)
    return tally


def kind_of(seed):
    """Return the kind of run of a seed: each time around the scenarios take the next one."""
    around, which = divmod(seed, len(SCENARIOS))
    return KINDS[(which + around) % len(KINDS)]


def play(tally, seed, references, home, tell):
    """Play one scenario; all about it but the instants of its kills comes from its seed."""
    name, kind = list(SCENARIOS)[seed % len(SCENARIOS)], kind_of(seed)
    label = f"seed {seed} ({name}, {kind.name})"
    stage = Stage(
        label,
        kind,
        references[kind.name],
        kind.prepare(home / "stage"),
        np.random.default_rng(seed),
        tally,
    )
    before = len(tally.failures)
    SCENARIOS[name](stage)
    tally.scenarios[name] += 1
    for message in tally.failures[before:]:
        tell(message)
    shutil.rmtree(home)


def prepare_all(place):
    return {kind.name: prepare(kind, place / "references" / kind.name) for kind in KINDS}


def prepare(kind, home):
    """Carry out a run that nothing happens to; others of its shape follow when they are needed."""

    def carry_out(name, seed):
        place = kind.prepare(home / name, seed)
        started = time.perf_counter()
        finished = [call(kind, place, *go_on(place), run_id=name)]
        duration = time.perf_counter() - started
        finished.append(call(kind, place, *predicting(place), run_id=name))
        assert all(ended.code == 0 for ended in finished), finished
        return place, duration

    warm(kind, home / "warm")
    own, duration = carry_out("the-run", 0)

    def make_others():
        return carry_out("twin", 0)[0], carry_out("other", 7)[0]

    return References(own, make_others, what_is_said(kind, own), duration)


def warm(kind, home):
    """Do once in this process what its children shall not have to import and transpile."""
    place = kind.prepare(home)
    commands = [go_on(place), predicting(place), *reading(place).values()]
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        for arguments in commands:
            with (
                kind.entered(place),
                mock.patch.object(sys, "argv", ["aqka", *map(str, arguments)]),
                suppress(SystemExit),
            ):
                cli.main()
