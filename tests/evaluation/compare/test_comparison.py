import json

import numpy as np
import pytest
from typer.testing import CliRunner

from aqka.cli.app import app
from aqka.evaluation.compare.comparison import (
    FIXED,
    METHODS,
    OURS,
    TUNED,
    Comparison,
    compare,
)
from aqka.evaluation.compare.tasks import TASKS
from aqka.evaluation.results import Results


@pytest.mark.parametrize("name", list(TASKS))
def test_tasks_are_sound_and_differ_by_seed(name):
    task, other = TASKS[name](0), TASKS[name](1)
    n_train, n_test = len(task.y), len(task.test_labels)
    assert task.kernel.shape == (n_train, n_train)
    assert task.test_kernel.shape == (n_test, n_train)
    assert n_test == 150
    np.testing.assert_allclose(task.kernel.diagonal(), 1)
    np.testing.assert_allclose(task.kernel, task.kernel.T)
    assert np.linalg.eigvalsh(task.kernel)[0] > -1e-8
    assert set(np.unique(task.test_labels)) == {-1.0, 1.0}
    assert not np.array_equal(task.kernel, other.kernel)
    assert np.array_equal(task.kernel, TASKS[name](0).kernel)


def test_the_ad_hoc_labels_are_learnable_from_the_exact_kernel():
    task = TASKS["ad hoc, ZZ 2 qubits"](3)
    alpha = np.linalg.solve(task.kernel + 0.01 * np.eye(len(task.y)), task.y)
    assert np.mean(np.sign(task.test_kernel @ alpha) == task.test_labels) > 0.95


def planted_comparison():
    """Return a comparison with correlations known in closed form: 1 - c / shots."""
    rows = [(OURS, budget, 1 - 0.1 / budget) for budget in (1.0, 10.0)]
    rows += [("aqka + ridge-kfold", budget, 1 - 0.2 / budget) for budget in (1.0, 10.0)]
    rows += [(TUNED, budget, 1 - 0.3 / budget) for budget in (1.0, 10.0, 100.0)]
    rows += [(FIXED, budget, 0.5) for budget in (1.0, 10.0, 100.0)]
    return Comparison(
        Results(
            [
                {
                    "task": "t",
                    "seed": seed,
                    "method": method,
                    "budget": budget,
                    "correlation": value + 1e-4 * seed,
                }
                for seed in range(3)
                for method, budget, value in rows
            ],
            "fair",
        ),
        ["t"],
        [1.0, 10.0],
    )


def test_shot_ratios_are_read_off_the_baseline():
    found = planted_comparison()
    # 1 - 0.3/b passes 0.9 between b = 1 (0.7) and 10 (0.97), read in log b.
    expected = 10 ** ((0.9 - 0.7) / (0.97 - 0.7))
    ratio = found.shot_ratio("t", 1.0, TUNED)
    assert ratio.value == pytest.approx(expected, rel=1e-3)
    assert not ratio.bound
    never = found.shot_ratio("t", 1.0, FIXED)
    assert never.bound
    assert never.value == 100
    mean = found.mean_ratio(FIXED)
    assert mean.value == pytest.approx(np.sqrt(100 * 10))
    assert mean.bound


def test_losses_name_who_is_ahead():
    rows = planted_comparison().results.rows
    ahead = [
        {**row, "method": "leverage + ridge-kfold", "correlation": row["correlation"] + 0.01}
        for row in rows
        if row["method"] == OURS and row["budget"] == 10.0
    ]
    found = Comparison(Results(rows + ahead, "fair"), ["t"], [1.0, 10.0])
    (loss,) = found.losses()
    assert (loss["budget"], loss["method"]) == (10.0, "leverage + ridge-kfold")
    assert loss["by"].value == pytest.approx(0.01)


def test_a_small_comparison_is_reproducible_and_complete(tmp_path):
    def small(store=None):
        return compare(
            2,
            tasks=["moons, ZZ 2 qubits"],
            budgets=[1.0],
            baseline_budgets=[1.0, 10.0],
            store=store,
            workers=1,
        )

    found = small(tmp_path / "results.jsonl")
    assert {row["method"] for row in found.results.rows} > set(METHODS)
    assert found.results.rows == small().results.rows
    assert found.overall(OURS, "correlation").value > found.overall(FIXED, "correlation").value
    best = found.best_in_hindsight("correlation").value
    assert best >= found.overall("aqka + ridge-kfold", "correlation").value


def test_the_command_writes_its_page(tmp_path):
    arguments = ["compare", "--quick", "--seeds", "2", "--json", "--workers", "1"]
    done = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "c")])
    printed = json.loads(done.stdout)
    assert {row["method"] for row in printed["means"]} > set(METHODS)
    assert set(printed["shot_ratios"]) == {FIXED, TUNED}
    page = (tmp_path / "c-quick" / "comparison.md").read_text()
    assert "## moons, ZZ 2 qubits" in page
    assert "balanced accuracy" in page
