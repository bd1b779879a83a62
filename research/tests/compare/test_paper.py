"""The paper's allocators side by side, on a task that takes no time."""

import numpy as np
import pytest

from aqka_research.compare import paper as demo
from aqka_research.tasks import planted_sparse


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(demo, "SHOTS_PER_PAIR", (demo.TABLE_SHOTS_PER_PAIR,))
    monkeypatch.setattr(demo, "ALLOCATORS", ("uniform", "aqka"))
    monkeypatch.setattr(demo, "TASKS", (lambda seed: planted_sparse(40, 15, 4, seed),))


def test_every_run_is_counted_and_spends_its_budget(small):
    seen = []
    found = demo.run_demo(2, seen.append)
    assert seen == found.results
    assert len(seen) == demo.count_runs(2) == 8
    assert {run.shots for run in seen} == {4 * 40 * 41 // 2}


def test_means_and_errors_are_over_seeds(small):
    found = demo.run_demo(2, lambda run: None)
    (task,) = found.majority
    runs = [r for r in found.results if (r.reading, r.allocator) == ("fair", "aqka")]
    values = [run.accuracy for run in runs]
    mean, error = found.mean(task, "fair", "aqka", demo.TABLE_SHOTS_PER_PAIR, "accuracy")
    assert mean == pytest.approx(np.mean(values))
    assert error == pytest.approx(np.std(values, ddof=1) / 2**0.5)
    # Planted labels are the signs of the exact kernel's own decision.
    assert found.exact[task] == 1.0


def test_heat_maps_have_the_anchors_first(small):
    found = demo.run_demo(1, lambda run: None)
    shots = found.heatmaps["aqka-oracle"]
    anchors = demo.HEATMAP_ANCHORS
    assert shots.shape == (30, 30)
    assert shots[:anchors].mean() > 2 * shots[anchors:, anchors:].mean()
