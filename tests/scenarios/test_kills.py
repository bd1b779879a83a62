"""Studies killed at random instants, from the making of the directory to the last result."""

import json
import multiprocessing
import time
from collections import Counter

import numpy as np
from threadpoolctl import threadpool_limits

from aqka.runs.export import table_of
from aqka.study.carry_out import carry_out
from aqka.study.directory import prepare, read_run
from tests.study.helpers import write_study

FORK = multiprocessing.get_context("fork")  # children inherit the imports
KILLS = 25


def play(prepared, directory):
    """Begin the run, or go on with it, as the command line would."""
    with threadpool_limits(1):
        if directory.exists():
            carry_out(read_run(directory), directory, new=False)
        else:
            carry_out(prepared, directory, new=True)


def outcome(directory):
    results = json.loads((directory / "results.json").read_text())["results"]
    table = table_of(directory).table
    return results, table.shots.tolist(), table.hits.tolist()


def stage(directory):
    """How far the run was when it was killed."""
    if not directory.exists():
        return "no directory"
    names = {path.name for path in directory.iterdir()}
    if "predictions" in names:
        return "predictions"
    return "training" if "ledger.sqlite" in names else "directory"


def test_killed_at_random_instants_a_study_ends_as_if_nothing_had_happened(
    tmp_path, record_property
):
    prepared = prepare(write_study(tmp_path, rounds=12))
    play(prepared, tmp_path / "whole")
    expected = outcome(tmp_path / "whole")
    start = time.perf_counter()
    child = FORK.Process(target=play, args=(prepared, tmp_path / "timed"))
    child.start()
    child.join()
    duration = time.perf_counter() - start
    rng = np.random.default_rng(2)
    kills, runs, different, stages = 0, 0, 0, Counter()
    while kills < KILLS:
        directory = tmp_path / f"killed-{runs}"
        runs, tries = runs + 1, 0
        while True:
            child = FORK.Process(target=play, args=(prepared, directory))
            child.start()
            tries += 1
            child.join(rng.uniform(0.0, 0.7 + tries / 20) * duration)
            alive = child.is_alive()
            child.kill()
            child.join()
            if not alive:
                assert child.exitcode == 0
                break
            kills += 1
            stages[stage(directory)] += 1
        different += outcome(directory) != expected
    record_property(
        "summary",
        f"studies: {kills} kills over {runs} runs (found: {dict(stages)}); results that differ "
        f"{different}",
    )
    assert different == 0
    assert {"training", "predictions"} <= set(stages)
