import json
from functools import partial

import numpy as np
import pytest

from aqka.errors import InputError
from aqka_research.circuit_tasks import quick_tasks
from aqka_research.compare.comparison import (
    FIXED,
    METHODS,
    OURS,
    TUNED,
    compare,
    draw,
    tasks_of,
)
from aqka_research.compare.findings import Comparison, is_planted
from aqka_research.compare.page import aims, comparison_blocks
from aqka_research.compare.tasks import TASKS
from aqka_research.results import Results
from aqka_research.suite import SUITE, half_of_suite
from aqka_research.sweep.cells import run_cells

OTHER = "aqka + ridge-noise"  # any that is neither ours nor the baseline


def planted_comparison(ahead=0.0):
    """Return a comparison with correlations known in closed form: 1 - c / shots."""
    rows = [(OURS, budget, 1 - 0.1 / budget) for budget in (1.0, 10.0)]
    rows += [(OTHER, budget, 1 - 0.2 / budget + ahead * (budget == 10)) for budget in (1.0, 10.0)]
    rows += [(TUNED, budget, 1 - 0.3 / budget) for budget in (1.0, 10.0, 100.0)]
    rows += [(FIXED, budget, 0.5) for budget in (1.0, 10.0, 100.0)]
    return Comparison(
        Results(
            [
                {
                    "task": task,
                    "seed": seed,
                    "method": method,
                    "budget": budget,
                    "correlation": value + 1e-4 * seed * (method != FIXED),
                    "accuracy": 0.7,
                    "balanced_accuracy": 0.6 + 0.01 * (method == OURS),
                }
                for task in ("t", "planted t")
                for seed in range(3)
                for method, budget, value in rows
            ],
            "fair",
        ),
        ["t", "planted t"],
        [1.0, 10.0],
        TUNED,
    )


def test_shot_ratios_are_read_off_the_baseline():
    found = planted_comparison()
    # 1 - 0.3/b passes 0.9 between b = 1 (0.7) and 10 (0.97), read in log b.
    expected = 10 ** ((0.9 - 0.7) / (0.97 - 0.7))
    ratio = found.shot_ratio("t", 1.0, OURS)
    assert ratio.value == pytest.approx(expected, rel=1e-3)
    assert not ratio.bound
    assert found.shot_ratio("t", 10.0, FIXED).value == pytest.approx(0.1)
    assert found.mean_ratio(TUNED).value == pytest.approx(1)
    mean = found.mean_ratio(FIXED)
    assert mean.value == pytest.approx(np.sqrt(1 * 0.1))
    assert mean.error == pytest.approx(0, abs=1e-12)  # two equal tasks


def test_what_the_baseline_never_reaches_is_a_bound():
    found = planted_comparison(ahead=0.1)
    ratio = found.shot_ratio("t", 10.0, OTHER)
    assert ratio.bound
    assert ratio.value == pytest.approx(10)
    assert found.mean_ratio(OTHER).bound


def test_a_dip_of_the_baseline_does_not_count_against_the_others():
    rows = planted_comparison().results.rows
    dip = [dict(row) for row in rows]
    for row in dip:
        if row["method"] in (TUNED, OURS) and row["budget"] == 10.0:
            row["correlation"] = 0.69  # below what either had with fewer shots
    found = Comparison(Results(dip, "fair"), ["t"], [10.0], TUNED)
    assert found.shot_ratio("t", 10.0, OURS).value == pytest.approx(1)


def test_cells_are_lost_and_won_by_more_than_two_errors():
    found = planted_comparison()
    assert found.share(found.gaps(OURS), "won") == 1
    assert found.share(found.gaps(OURS), "lost") == 0
    assert found.share(found.gaps(FIXED), "lost") == 1
    assert found.share(found.gaps(TUNED), "won") == found.share(found.gaps(TUNED), "lost") == 0
    assert found.gaps(OURS)[0].by.value == pytest.approx(0.2)


def test_aims_are_judged():
    assert [aim.reached for aim in aims(planted_comparison())] == [True] * 4
    worse = planted_comparison()
    for row in worse.results.rows:
        if row["method"] == OURS:
            row["correlation"] -= 0.3
            row["balanced_accuracy"] -= 0.1
    assert [aim.reached for aim in aims(worse)] == [False] * 4


def test_the_eight_first_tasks_are_for_development():
    assert not set(TASKS) & set(tasks_of("confirmation"))
    assert set(tasks_of("development")) == {*TASKS, *half_of_suite("development")}
    assert is_planted("planted ZZ 4 qubits")
    assert not is_planted("wine, RBF 4 features, 60 points, 50% positive")
    with pytest.raises(InputError, match="task must be one of"):
        draw("no such task", 0)


def test_the_page_has_the_control_that_needs_no_shots():
    found = planted_comparison()
    found.results.rows += [
        {"task": task, "seed": 0, "method": name, "accuracy": 0.9, "balanced_accuracy": 0.9}
        | {"correlation": 1.0}
        for task in found.tasks
        for name in ("exact kernel", "majority class")
    ]
    name = quick_tasks()[0]
    planted = next(task.name for task in SUITE.values() if task.kind == "planted")
    for row in found.results.rows:
        row["task"] = name if row["task"] == "t" else planted
    found.tasks[:] = [name, planted]
    free = {"accuracy, classical": 0.95, "balanced, classical": 0.94}
    control = {name: free, planted: free}
    page = "\n\n".join(comparison_blocks(found, "confirmation", control))
    assert "| natural (1 tasks) | 70.0% ± 0.0% | 90.0% ± 0.0% | 95.0% ± 0.0% | 90.0%" in page
    assert "- On 1 *natural* tasks with a circuit, `uniform + ridge-loo` needs " in page
    assert "an accuracy of 95.0%, the majority class of 90.0%." in page
    assert "- On 1 *kernel-made* tasks" in page
    assert "kernel-made (1" not in page  # methods see the planted numbers, classical models signs
    assert "| best classical model, 2 tasks | 0.950 | 0.940 |" in page
    assert "| task | exact kernel | majority class | best classical model |" in page
    assert "| 0.900 / 0.900 | 0.900 / 0.900 | 0.950 / 0.940 |" in page


def test_a_small_comparison_is_reproducible_and_complete(tmp_path):
    def small(store=None):
        return compare(
            2,
            tasks=["moons, ZZ 2 qubits"],
            budgets=[1.0],
            baseline_budgets=[1.0, 10.0],
            cells_of=partial(run_cells, store=store, workers=1),
        )

    found = small(tmp_path / "results.jsonl")
    assert set(found.methods) == set(METHODS)
    assert found.results.rows == small().results.rows
    assert found.overall(OURS, "correlation").value > found.overall(FIXED, "correlation").value
    best = found.best_in_hindsight("correlation").value
    assert best >= found.overall(OTHER, "correlation").value


def test_methods_that_are_named_are_cells_of_their_own(tmp_path):
    store = tmp_path / "results.jsonl"
    for methods in ([TUNED], [TUNED, OURS]):
        compare(
            1,
            tasks=["moons, ZZ 2 qubits"],
            methods=methods,
            budgets=[1.0],
            baseline_budgets=[1.0],
            cells_of=partial(run_cells, store=store, workers=1),
        )
    kept = [json.loads(line)["cell"]["methods"] for line in store.read_text().splitlines()]
    assert kept == [[TUNED], [TUNED, OURS]]
