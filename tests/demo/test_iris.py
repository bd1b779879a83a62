"""The demo's bills and accuracies."""

import numpy as np
import pytest

from aqka.demo import iris
from aqka.designs import Pairs, Points
from aqka.planning.device import HERON


def test_a_bill_counts_executions_jobs_and_money():
    tiled = iris.Step("tiled", 1, tiles=20)
    bill = iris.IrisRun.of(tiled, 1.0, [100, 50], depth=100)
    assert (bill.shots, bill.executions, bill.jobs) == (150, 5 + 3, 2)
    assert bill.seconds == pytest.approx(4 + 8 * HERON.execution_seconds(100))
    assert bill.cost == pytest.approx(bill.seconds / 60 * 96)
    assert iris.IrisRun.of(iris.Step("plain", 1), 1.0, [10_000_001], depth=100).jobs == 2


def test_each_step_is_billed_and_many_shots_reach_the_exact_kernel(monkeypatch):
    few, many = 2, 4096
    steps = [iris.Step(f"{n} on pairs", n) for n in (few, many)]
    steps += [iris.Step(f"{n} on points", n, iris.TILES, looks=2) for n in (8, many)]
    monkeypatch.setattr(iris, "STEPS", tuple(steps))
    seen = []
    found = iris.run_iris(2, seen.append)
    assert len(seen) == len(found.runs) == 8
    exact = np.mean(found.exact)
    for step in steps:
        assert step.shots < many or abs(found.mean(step.name)[0] - exact) <= 0.03
    assert found.mean(steps[0].name)[0] < found.mean(steps[1].name)[0]
    assert found.bill(steps[1].name).shots == many * (99 * 50 + 100 * 50)
    bill = found.bill(steps[3].name)
    assert bill.shots <= many * 150
    assert bill.executions < bill.shots / 15
    assert bill.jobs <= 3


def test_the_steps_are_the_defaults_of_the_designs():
    usual, pairs, tiled, points, jobs = iris.STEPS
    n_pairs = iris.TRAIN * (iris.TRAIN - 1) // 2
    assert pairs.shots * n_pairs == Pairs().default_shots(iris.TRAIN, iris.QUBITS)
    assert points.shots * iris.TRAIN == Points().default_shots(iris.TRAIN, iris.QUBITS)
    for before, after in ((usual, pairs), (pairs, tiled), (points, jobs)):
        names = ("shots", "tiles", "looks")
        assert sum(getattr(before, name) != getattr(after, name) for name in names) == 1
