"""Studies killed at random instants, from the making of the directory to the last result."""

import json
from collections import Counter

import numpy as np
from threadpoolctl import threadpool_limits

from aqka.runs.export import table_of
from aqka.study.carry_out import carry_out
from aqka.study.directory import prepare, read_run
from tests.scenarios.killing import Killer
from tests.study.helpers import QUICK, write_study

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
    prepared = prepare(write_study(tmp_path, rounds=6, method=QUICK))
    play(prepared, tmp_path / "whole")
    expected = outcome(tmp_path / "whole")
    killer = Killer(play, np.random.default_rng(2))
    killer.measure(prepared, tmp_path / "timed")
    different, stages = 0, Counter()
    while killer.kills < KILLS:
        directory = tmp_path / f"killed-{killer.pieces}"
        for _ in killer(prepared, directory):
            stages[stage(directory)] += 1
        different += outcome(directory) != expected
    record_property(
        "summary",
        f"studies: {killer.kills} kills over {killer.pieces} runs (found: {dict(stages)}); results "
        f"that differ {different}",
    )
    assert different == 0
    assert {"training", "predictions"} <= set(stages)
