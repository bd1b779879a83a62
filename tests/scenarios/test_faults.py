"""Processes killed at random instants: no shot lost, none counted twice, no job sent twice."""

import multiprocessing
import time
from collections import Counter

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from aqka import Schedule, StatevectorBackend, acquire
from aqka.backends import RuntimeBackend
from aqka.runs import driver as run
from aqka.runs.ledger import LEDGER_NAME, Ledger
from aqka.testing.fake_runtime import FakeRuntime
from tests.conftest import make_labels

# Forked children inherit the imports, so that a kill can hit the run itself and not its start.
FORK = multiprocessing.get_context("fork")
X = np.random.default_rng(0).uniform(0, 1, (8, 2))
BUDGET = 160  # the fake service simulates every row of a job
KILLS = 110  # per backend


def statevector(directory):
    return StatevectorBackend(X)


def service(directory):
    # A short queue, so that kills also find jobs in flight.
    return RuntimeBackend(FakeRuntime(directory / "service", delay=0.02), X)


def play(backend, directory):
    with threadpool_limits(1):
        return acquire(
            backend,
            make_labels(8),
            BUDGET,
            schedule=Schedule(rounds=7),
            directory=directory / "run",
        )


def table_of(make_backend, directory):
    """The finished run's counts, read back without a shot."""
    table = play(make_backend(directory), directory).table
    return table.shots.tolist(), table.hits.tolist()


@pytest.mark.parametrize("make_backend", [statevector, service])
def test_killed_at_random_instants_a_run_ends_as_if_nothing_had_happened(
    make_backend, tmp_path, monkeypatch, record_property
):
    # Jobs are tagged with the run's name, on which a fake service's outcomes depend.
    monkeypatch.setattr(run, "new_run_id", lambda: "the-run")
    expected = table_of(make_backend, tmp_path / "whole")
    backend = make_backend(tmp_path / "timed")
    child = FORK.Process(target=play, args=(backend, tmp_path / "timed"))
    start = time.perf_counter()
    child.start()
    child.join()
    duration = time.perf_counter() - start  # forking included, which is part of each try
    rng = np.random.default_rng(1)
    kills, runs, stages = 0, 0, Counter()
    lost = twice = resubmitted = different = 0
    while kills < KILLS:
        directory = tmp_path / f"killed-{runs}"
        backend = make_backend(directory)  # here, so that children do not transpile again
        runs, tries = runs + 1, 0
        while True:
            child = FORK.Process(target=play, args=(backend, directory))
            child.start()
            # A little later each time, so that every run ends even where the machine is slow.
            tries += 1
            child.join(rng.uniform(0.0, 0.7 + tries / 20) * duration)
            alive = child.is_alive()
            child.kill()
            child.join()
            if not alive:
                assert child.exitcode == 0
                break
            kills += 1
            stages[last_entry(directory)] += 1
        shots, hits = table_of(make_backend, directory)
        lost += max(0, BUDGET - sum(shots))
        twice += max(0, sum(shots) - BUDGET)
        different += (shots, hits) != expected
        if make_backend is service:
            jobs = FakeRuntime(directory / "service").jobs([])
            tags = Counter(job.record["tags"][0] for job in jobs)
            resubmitted += sum(count - 1 for count in tags.values())
            assert len(tags) == 8  # the warm-up and seven rounds
    record_property(
        "summary",
        f"{make_backend.__name__}: {kills} kills over {runs} runs (last entry before the kill: "
        f"{dict(stages)}); shots lost {lost}, counted twice {twice}, jobs submitted twice "
        f"{resubmitted}, tables that differ {different}",
    )
    assert (lost, twice, resubmitted, different) == (0, 0, 0, 0)
    # Kills must have found the windows where shots could be lost, or the harness proves nothing.
    assert {"planned", "submitted"} <= set(stages)


def last_entry(directory):
    path = directory / "run" / LEDGER_NAME
    if not path.exists():
        return "nothing"
    with Ledger(path, write=True) as ledger:  # as a resuming process would open it
        entries = ledger.read()
    return entries[-1].kind if entries else "nothing"
