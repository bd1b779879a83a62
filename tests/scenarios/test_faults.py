"""Processes killed at random instants: no shot lost, none counted twice, no job sent twice."""

from collections import Counter

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from aqka import Schedule, StatevectorBackend, acquire
from aqka.backends import RuntimeBackend
from aqka.runs import driver as run
from aqka.runs.ledger import LEDGER_NAME, Ledger
from tests.conftest import make_labels
from tests.fake_runtime import FakeRuntime
from tests.scenarios.killing import Killer

X = np.random.default_rng(0).uniform(0, 1, (5, 2))
BUDGET, ROUNDS = 20, 3  # little, because the fake service simulates every row of a job
KILLS = 30  # per backend, and more until both windows were hit
WINDOWS = {"planned", "submitted"}  # where a shot could be lost or bought twice


def statevector(directory):
    return StatevectorBackend(X)


def service(directory):
    # A short queue, so that kills also find jobs in flight.
    backend = RuntimeBackend(FakeRuntime(directory / "service", delay=0.02), X)
    for design in ("points", "pairs"):  # here: Qiskit's threads do not survive a fork
        backend.settle_on(design)
    return backend


def play(backend, directory):
    with threadpool_limits(1):
        return acquire(
            backend,
            make_labels(len(X)),
            BUDGET,
            schedule=Schedule(rounds=ROUNDS),
            directory=directory / "run",
        )


def table_of(backend, directory):
    """The finished run's counts, read back without a shot."""
    table = play(backend, directory).table
    return table.shots.tolist(), table.hits.tolist()


@pytest.mark.parametrize("make_backend", [statevector, service])
def test_killed_at_random_instants_a_run_ends_as_if_nothing_had_happened(
    make_backend, tmp_path, monkeypatch, record_property
):
    # Jobs are tagged with the run's name, on which a fake service's outcomes depend.
    monkeypatch.setattr(run, "new_run_id", lambda: "the-run")
    expected = table_of(make_backend(tmp_path / "whole"), tmp_path / "whole")
    killer = Killer(play, np.random.default_rng(1))
    killer.measure(make_backend(tmp_path / "timed"), tmp_path / "timed")
    stages = Counter()
    lost = twice = resubmitted = different = 0
    while killer.kills < KILLS or (not set(stages) >= WINDOWS and killer.pieces < 500):
        directory = tmp_path / f"killed-{killer.pieces}"
        backend = make_backend(directory)
        for _ in killer(backend, directory):
            stages[last_entry(directory)] += 1
        shots, hits = table_of(backend, directory)
        lost += max(0, BUDGET - sum(shots))
        twice += max(0, sum(shots) - BUDGET)
        different += (shots, hits) != expected
        if make_backend is service:
            jobs = FakeRuntime(directory / "service").jobs([])
            tags = Counter(job.record["tags"][0] for job in jobs)
            resubmitted += sum(count - 1 for count in tags.values())
            assert len(tags) == 1 + ROUNDS  # the warm-up is one too
    record_property(
        "summary",
        f"{make_backend.__name__}: {killer.kills} kills over {killer.pieces} runs (last entry "
        f"before the kill: {dict(stages)}); shots lost {lost}, counted twice {twice}, jobs "
        f"submitted twice {resubmitted}, tables that differ {different}",
    )
    assert (lost, twice, resubmitted, different) == (0, 0, 0, 0)
    assert set(stages) >= WINDOWS  # or the harness proves nothing


def last_entry(directory):
    path = directory / "run" / LEDGER_NAME
    if not path.exists():
        return "nothing"
    with Ledger(path, write=True) as ledger:  # as a resuming process would open it
        entries = ledger.read()
    return entries[-1].kind if entries else "nothing"
