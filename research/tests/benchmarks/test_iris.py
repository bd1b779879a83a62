"""The bill of Iris against the figures one gets by hand."""

import pytest

from aqka_research.benchmarks.iris import NEW, PAIRS, TRAIN, bill


def test_the_usual_way_takes_an_hour():
    executions, jobs, seconds = bill(PAIRS, 1024, 1, depth=102)
    assert (sum(PAIRS), executions, jobs) == (9950, 9950 * 1024, 2)
    assert (seconds - 2 * jobs) / 60 == pytest.approx(59.4, abs=0.1)


def test_points_on_tiles_take_seconds():
    """150 points of 512 shots, 16 in each of 32 settings, on 20 tiles."""
    executions, jobs, seconds = bill((TRAIN * 32, NEW * 32), 16, 20, depth=102)
    assert executions == pytest.approx(150 * 512 / 20, rel=0.01)
    assert seconds - 2 * jobs == pytest.approx(1.3, abs=0.06)
