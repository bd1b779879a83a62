"""Points against pairs: agreement, the shots until it is reached, and the page."""

from functools import partial

import numpy as np
import pytest

from aqka.errors import InputError
from aqka_research.circuit_tasks import LABELLED, circuit_tasks, kind_of, qubits_of
from aqka_research.compare.total import compare_totals, measure, simulators
from aqka_research.compare.total_findings import (
    AUTO,
    BASELINE,
    OURS,
    POINTS,
    TotalFindings,
    crossing,
    geometric_mean,
)
from aqka_research.compare.total_page import auto_losses, means, target_lines, total_blocks
from aqka_research.suite import SUITE
from aqka_research.sweep.cells import run_cells

TASK = "iris, RY-CZ 2 qubits, 60 points, half width, 50% positive"
LEVELS, POINT_LEVELS = [1.0, 8.0, 512.0], [8, 64, 2048]


@pytest.fixture(scope="module")
def found():
    cells_of = partial(run_cells, workers=1)
    return compare_totals(
        2, tasks=[TASK], levels=LEVELS, point_levels=POINT_LEVELS, cells_of=cells_of
    )


def test_the_tasks_are_circuits_of_both_halves_with_enough_of_them():
    for half in ("development", "confirmation"):
        tasks = circuit_tasks(half)
        qubits = [qubits_of(name) for name in tasks]
        assert sum(count <= 6 for count in qubits) >= 16
        assert 8 in qubits
        assert all(SUITE[name].half == half for name in tasks if kind_of(name) != LABELLED)
        assert sum(kind_of(name) == LABELLED for name in tasks) >= 12


def test_agreement_rises_with_shots_and_follows_from_the_seed(found):
    cell = {"task": TASK, "seed": 1, "levels": LEVELS, "point_levels": POINT_LEVELS}
    again = measure(cell)
    assert again == found.by_task[TASK][1]
    for result in found.by_task[TASK]:
        for method in (BASELINE, OURS):
            table = np.array(result["agreement"][method])
            assert table.shape == (3, 3)
            assert table[2, 2] > table[0, 0]
        assert result["agreement"][POINTS][2] > 0.9


@pytest.mark.parametrize(
    ("agreement", "target", "level"),
    [
        ([0.5, 0.8, 1.0], 0.5, 1.0),
        ([0.5, 0.8, 1.0], 0.9, 8.0),
        ([0.5, 0.6, 0.7], 0.9, np.inf),
        ([0.6, 0.4, 1.0], 0.75, 8.0),  # pooled to 0.5, 0.5, 1.0
    ],
)
def test_crossings_are_interpolated_on_a_rising_curve(agreement, target, level):
    assert crossing(np.array([1.0, 4.0, 16.0]), np.array(agreement), target) == level


def made(baseline, points):
    """One task of 10 points and 2 qubits with given agreement at two levels."""
    result = {
        "points": 10,
        "qubits": 2,
        "agreement": {BASELINE: baseline, OURS: baseline, POINTS: points},
    }
    return TotalFindings({"task": [result, result]}, [1.0, 4.0], [16, 64])


def test_the_baseline_may_choose_its_split_in_hindsight():
    # 45 training pairs, 1,000 test pairs: many training shots spare test shots.
    findings = made([[0.5, 1.0], [0.9, 1.0]], [0.5, 0.9])
    saving = findings.savings(0.9, 100)[0]
    assert saving.shots[BASELINE] == 4 * 45 + 1 * 1000
    assert saving.shots[POINTS] == 64 * 110
    assert saving.ratio[POINTS] == pytest.approx(1180 / 7040)
    assert saving.error[POINTS] == pytest.approx(0.0, abs=1e-12)  # both seeds are alike
    assert not saving.unreached


def test_what_is_not_reached_counts_with_the_most_that_was_tried():
    saving = made([[0.5, 0.5], [0.5, 0.5]], [0.5, 0.9]).savings(0.9, 100)[0]
    assert saving.unreached == {BASELINE, OURS}
    assert saving.shots[BASELINE] == 4 * 1045
    neither = made([[0.5, 0.5], [0.5, 0.5]], [0.5, 0.5]).savings(0.9, 100)[0]
    assert neither.unreached == {BASELINE, OURS, POINTS, AUTO}


def test_means_over_tasks_that_fell_short_are_marked():
    assert means(made([[0.5, 0.5], [0.5, 0.5]], [0.5, 0.9]))[1].bound == "> "
    assert means(made([[0.5, 1.0], [0.9, 1.0]], [0.5, 0.5]))[1].bound == "< "
    assert means(made([[0.5, 0.5], [0.5, 0.5]], [0.5, 0.5]))[1].bound == "~ "
    assert means(made([[0.5, 1.0], [0.9, 1.0]], [0.5, 0.9]))[1].bound == ""


def test_a_ratio_above_its_target_that_is_no_lower_bound_is_undecided():
    few = made([[0.5, 0.5], [0.5, 0.5]], [0.5, 0.5])  # both fall short
    few.levels[-1] = 1000.0
    assert "~ " in target_lines(few)[0]
    assert "(target: ≥ 3; **undecided**: points fell short on some task)" in target_lines(few)[0]
    some = made([[0.5, 0.5], [0.5, 0.5]], [0.5, 0.9])
    some.levels[-1] = 1000.0
    assert "(target: ≥ 3; reached)" in target_lines(some)[0]


def test_auto_is_the_cheapest_budget_at_which_its_choice_gets_there():
    findings = made([[0.5, 0.5], [0.5, 1.0]], [0.9, 1.0])
    saving = findings.savings(0.9, 100)[0]
    assert saving.shots[AUTO] == saving.shots[POINTS] == 16 * 110
    assert auto_losses(made([[1.0, 1.0], [1.0, 1.0]], [0.1, 0.2]))


def test_geometric_means():
    value, error = geometric_mean([1.0, 4.0])
    assert value == 2.0
    assert error == pytest.approx(np.log(4) / np.sqrt(2) / np.sqrt(2))


def test_on_a_device_both_designs_are_measured_through_its_noise():
    old, new, between = simulators(SUITE[TASK].draw(0), 0, "fake_fez")
    exact = SUITE[TASK].draw(0)
    assert np.all(np.diagonal(old.kernel()) < 0.995)
    assert between.kernel().shape == exact.test_kernel.shape
    assert 0.001 < np.max(np.abs(between.kernel() - exact.test_kernel)) < 0.1
    assert (old.n_qubits, new.shape[0]) == (2, len(exact.test_kernel))
    cell = {"task": TASK, "seed": 0, "levels": [2.0**16], "point_levels": [2**13]}
    for agreement in measure({**cell, "device": "fake_fez"})["agreement"].values():
        assert np.min(agreement) > 0.9  # the bias that is left of so many shots is small
    for name in ("fez", "fake_provider_for_backend_v2"):  # in the same module, but no device
        with pytest.raises(InputError, match="device must be one of IBM's fake ones"):
            measure({**cell, "device": name})


@pytest.mark.parametrize(("classical", "left"), [(0.5, "1"), (0.99, "0")])
def test_the_page_says_what_a_classical_model_gives_without_shots(found, tmp_path, classical, left):
    path = tmp_path / "total.md"
    control = {TASK: {"agreement, classical": classical, "agreement, majority": 0.4}}
    text = "\n".join(total_blocks(found, path, "development", None, control))
    for line in target_lines(found):
        assert line in text
    assert f"A classical model gives {classical:.1%} of them with none" in text
    assert f"| {classical:.1%} | 40.0% | {left} |" in text
    assert (tmp_path / "total.png").stat().st_size > 5000
    assert {mean.method for mean in means(found)} == {OURS, POINTS, AUTO}
