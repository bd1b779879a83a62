"""Plays scenarios until the time is up."""

import os
import shutil
import sys
import time
from contextlib import redirect_stderr, redirect_stdout, suppress
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from aqka.cli import app as cli
from tests.chaos.account import Tally
from tests.chaos.commands import call, go_on, predicting, reading
from tests.chaos.kinds import KINDS
from tests.chaos.scenarios import SCENARIOS, References, Stage


def soak(place, seconds, seed, only=None, tell=lambda text: None):
    """Play scenarios for so many seconds, each at least once; return what was found."""
    tally, end = Tally(), time.monotonic() + seconds
    with threadpool_limits(1):
        references = [prepare(kind, place / f"reference-{k}") for k, kind in enumerate(KINDS)]
        names = [name for name in SCENARIOS if only in (None, name)]
        number = 0
        while number < len(names) or time.monotonic() < end:
            name = names[number % len(names)]
            # Each time around the scenarios take the next kind of run.
            which = (number + number // len(names)) % len(KINDS)
            play(tally, name, which, seed + number, references[which], place / str(number), tell)
            number += 1
    return tally


def play(tally, name, which, seed, references, home, tell):
    """Play one scenario from its seed; what it leaves is removed unless it failed."""
    kind, before = KINDS[which], len(tally.failures)
    label = f"{name}, {kind.name}, seed {seed}"
    stage_place = kind.prepare(home)
    rng = np.random.default_rng([seed, which])
    stage = Stage(label, kind, references, stage_place, rng, tally)
    started = time.perf_counter()
    SCENARIOS[name](stage)
    if os.environ.get("T"): print(label, round(time.perf_counter() - started, 1), flush=True)
    tally.scenarios[name] += 1
    for message in tally.failures[before:]:
        tell(message)
    for left in home.parent.glob(f"{home.name}*"):
        if left.name.partition("-")[0].partition(".")[0] == home.name:
            shutil.rmtree(left)


def prepare(kind, home):
    """Carry out a run that nothing happens to, the same study again, and with another seed."""
    places = []
    for name, seed in (("the-run", 0), ("twin", 0), ("other", 7)):
        place = kind.prepare(home / name, seed)
        if not places:
            warm(kind, home / "warm")
        started = time.perf_counter()
        finished = [call(kind, place, *go_on(place), run_id=name)]
        duration = time.perf_counter() - started
        finished.append(call(kind, place, *predicting(place), run_id=name))
        assert all(ended.code == 0 for ended in finished), finished
        places.append(place)
    if os.environ.get("T"): print("duration", duration)
    return References(places[0], tuple(places[1:]), duration)


def warm(kind, home):
    """Do once in this process what its children shall not have to import and transpile."""
    place = kind.prepare(home)
    commands = [go_on(place), predicting(place), *reading(place).values()]
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        for arguments in commands:
            with kind.entered(place), mock.patch.object(sys, "argv", ["aqka", *map(str, arguments)]):
                with suppress(SystemExit):
                    cli.main()
