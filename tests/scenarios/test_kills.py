"""Studies and runs of points killed at random instants, from the first file to the last result."""

import json
from collections import Counter

import numpy as np
from threadpoolctl import threadpool_limits

from aqka import Points, Schedule, StatevectorBackend, acquire
from aqka.runs.audit import verify
from aqka.runs.export import table_of
from aqka.runs.ledger import LEDGER_NAME, Ledger
from aqka.study.carry_out import carry_out, resume
from aqka.study.directory import prepare
from aqka.study.store import RunStore
from tests.scenarios.killing import Killer
from tests.study.helpers import QUICK, write_study

KILLS = 15  # and more until they found what they are for
WINDOWS = {"planned", "submitted"}  # where rounds are planned and not yet counted


def play(prepared, directory):
    """Begin the run, or go on with it, as the command line would."""
    with threadpool_limits(1):
        if directory.exists():
            resume(RunStore(directory))
        else:
            carry_out(prepared, directory)


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
    prepared = prepare(write_study(tmp_path, rounds=30, method=QUICK))
    play(prepared, tmp_path / "whole")
    expected = outcome(tmp_path / "whole")
    killer = Killer(play, np.random.default_rng(2))
    killer.measure(prepared, tmp_path / "timed")
    different, stages = 0, Counter()
    both = {"training", "predictions"}
    while killer.kills < KILLS or (not both <= set(stages) and killer.pieces < 100):
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
    assert both <= set(stages)


POINTS = np.random.default_rng(0).uniform(0, 3, (24, 2))
BUDGET, CALIBRATION, ROUNDS = 6000, 400, 5


def measure_points(directory):
    """Begin a run of points, or go on with it."""
    with threadpool_limits(1):
        return acquire(
            StatevectorBackend(POINTS),
            POINTS[:, 0] > 1.5,
            BUDGET,
            "aqka",
            design=Points(calibration_shots=CALIBRATION),
            schedule=Schedule(rounds=ROUNDS),
            directory=directory,
        )


def counts_of(directory):
    """All that a run of points has counted, calibration and settings, from its ledger alone."""
    table, _, calibration = table_of(directory)
    columns = [
        getattr(table, name) for name in ("settings", "shots", "cells", "outcomes", "counts")
    ]
    answer = calibration.answer
    columns += [calibration.shots, answer.rows, answer.outcomes, answer.counts]
    return [column.tolist() for column in columns]


def rounds_and_last_entry(directory):
    """How many rounds are in the ledger, and what it says last: where a kill has struck."""
    if not (directory / LEDGER_NAME).exists():
        return 0, "nothing"
    with Ledger(directory / LEDGER_NAME, write=True) as ledger:  # as a resuming process opens it
        kinds = [entry.kind for entry in ledger.read()]
    return kinds.count("planned"), kinds[-1] if kinds else "nothing"


def test_killed_at_random_instants_a_run_of_points_loses_no_shot_and_buys_none_twice(
    tmp_path, record_property
):
    whole = measure_points(tmp_path / "whole")
    expected = counts_of(tmp_path / "whole")
    assert (whole.table.total, whole.calibration.shots.sum()) == (BUDGET - CALIBRATION, CALIBRATION)
    killer = Killer(measure_points, np.random.default_rng(3))
    killer.measure(tmp_path / "timed")
    found, different = Counter(), 0

    def found_windows():
        rounds, kinds = {rounds for rounds, _ in found}, {kind for _, kind in found}
        return len(rounds) > 2 and bool(WINDOWS & kinds)

    while killer.kills < KILLS or (not found_windows() and killer.pieces < 300):
        directory = tmp_path / f"killed-{killer.pieces}"
        for _ in killer(directory):
            found[rounds_and_last_entry(directory)] += 1
        audit = verify(directory)
        assert (audit.sound, audit.finished, audit.shots) == (True, True, BUDGET)
        assert audit.ended == 2 + ROUNDS  # a calibration and a warm-up go before them
        different += counts_of(directory) != expected
    record_property("summary", f"points: {killer.kills} kills over {killer.pieces} runs: {found}")
    assert different == 0
    assert found_windows()  # or the harness proves nothing
