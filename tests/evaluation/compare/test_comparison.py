import numpy as np
import pytest

from aqka.evaluation.compare.comparison import (
    FIXED,
    METHODS,
    OURS,
    TUNED,
    Comparison,
    compare,
)
from aqka.evaluation.results import Results


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
