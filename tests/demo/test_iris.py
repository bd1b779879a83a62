"""The demo's bills and accuracies."""

import numpy as np
import pytest

from aqka.demo import iris
from aqka.planning.device import HERON


def test_a_bill_counts_executions_jobs_and_money():
    bill = iris.Bill.of([100, 50], tiles=20, depth=100)
    assert (bill.shots, bill.executions, bill.jobs) == (150, 5 + 3, 2)
    assert bill.seconds == pytest.approx(4 + 8 * HERON.execution_seconds(100))
    assert bill.cost == pytest.approx(bill.seconds / 60 * 96)
    assert iris.Bill.of([10_000_001], tiles=1, depth=100).jobs == 2


def test_many_shots_reach_the_exact_kernel_both_ways(monkeypatch):
    monkeypatch.setattr(iris, "PAIR_SHOTS", (1, 4096))
    monkeypatch.setattr(iris, "POINT_SHOTS", (8, 4096))
    seen = []
    found = iris.run_iris(2, seen.append)
    assert len(seen) == len(found.runs) == iris.count_runs(2) == 8
    exact = np.mean(found.exact)
    for way, few, many in ((iris.PAIRS, 1, 4096), (iris.POINTS, 8, 4096)):
        assert abs(found.mean(way, many)[0] - exact) <= 0.03
        assert found.mean(way, few)[0] < found.mean(way, many)[0]
        assert found.enough(way) in (4096, None)
    bill = found.bill(iris.POINTS, 4096)
    assert bill.shots <= 4096 * 150
    assert bill.executions < bill.shots / 15
