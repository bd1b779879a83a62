"""Tasks and arms of the runs that send their shots to a device, and the SVM's oracle."""

import numpy as np
import pytest

from aqka import MatrixBackend, Problem
from aqka.backends.zz import zz_kernel
from aqka.core import PairTable
from aqka.evaluation.reproduce.experiments._two_arms import arm_rows, online_task
from aqka.evaluation.reproduce.experiments.svm import SvmOracle, svm_task
from aqka.evaluation.results import Results
from aqka.evaluation.spending import all_rows
from aqka.evaluation.tasks import ad_hoc
from aqka.maths.svm import solve_dual


def test_points_belong_to_the_task():
    task, x = online_task(12, 9, 3, seed=4)
    assert x.shape == (12, 4)
    np.testing.assert_array_equal(zz_kernel(x), task.kernel)
    assert task.test_kernel.shape == (9, 12)
    assert len(task.anchors) == 3


def test_arms_spend_their_budget_on_the_backend_they_are_given():
    task, _ = online_task(12, 9, 3, seed=4)
    other = 0.5 * task.kernel
    rows = arm_rows(task, MatrixBackend(other, seed=1), [1e7], "paper", seed=0)
    assert [row["method"] for row in rows] == ["uniform", "aqka"]
    assert all(row["budget"] == 78 * 10**7 for row in rows)
    # With so many shots what is read is the backend's kernel, not the task's.
    distance = np.linalg.norm(other - task.kernel, 2)
    for row in rows:
        assert row["operator_error"] == pytest.approx(distance, rel=1e-2)


def test_gains_are_of_the_same_seed():
    rows = [
        {"method": method, "seed": seed, "accuracy": accuracy}
        for method, accuracies in (("uniform", (0.5, 0.75)), ("aqka", (0.75, 0.5)))
        for seed, accuracy in enumerate(accuracies)
    ]
    assert Results(rows, "paper").seed_gains("aqka", "uniform") == [25.0, -25.0]


def test_the_svm_oracle_scores_by_the_true_dual():
    task = ad_hoc(20, 5, seed=0)
    problem = Problem(task.y, true_kernel=task.kernel, reading="paper")
    table = PairTable(20, "measured")
    dual = solve_dual(task.kernel, task.y, problem.C).dual
    found = table.square(SvmOracle().sensitivity(table, problem))
    off = ~np.eye(20, dtype=bool)
    np.testing.assert_allclose(found[off], np.outer(dual, dual)[off], rtol=1e-3, atol=1e-4)


def test_labels_for_the_svm_are_of_both_classes():
    for seed in range(6):
        task = svm_task(seed, {"device": "FakeMarrakesh", "points": 12})
        assert set(task.y) == {-1.0, 1.0}


def test_rows_of_another_head_are_that_heads():
    task = ad_hoc(40, 30, seed=0)
    (row,) = all_rows(task, ["uniform"], [10**11], "paper", seed=0, readout="svm")
    assert row["correlation"] > 0.999  # with the exact SVM's decision
    (ridge,) = all_rows(task, ["uniform"], [10**11], "paper", seed=0)
    assert ridge["correlation"] > 0.999
    assert ridge["mse"] != row["mse"]
