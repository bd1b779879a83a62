import numpy as np
import pytest

from aqka_research.spending import all_rows, baseline_rows
from aqka_research.tasks import ad_hoc, planted_sparse


def test_rows_measure_what_they_say():
    task = planted_sparse(40, 30, 4, seed=2)
    exact, majority = baseline_rows(task, "paper")
    assert exact["accuracy"] == 1.0
    assert exact["mse"] < 1e-20
    assert exact["correlation"] == pytest.approx(1.0)
    assert majority["accuracy"] == np.mean(task.test_labels == np.sign(np.sum(np.sign(task.y))))
    poor, rich = all_rows(task, ["uniform"], [820, 10**12], "paper", seed=0)
    assert rich["correlation"] > 0.999 > poor["correlation"]
    assert rich["mse"] < poor["mse"]
    assert rich["accuracy"] == 1.0
    assert poor["seen"] == rich["seen"] == 1.0
    (few,) = all_rows(task, ["uniform"], [205], "paper", seed=0)
    assert few["seen"] == 0.25


def test_rows_of_another_head_are_that_heads():
    task = ad_hoc(40, 30, seed=0)
    (row,) = all_rows(task, ["uniform"], [10**11], "paper", seed=0, learner="svm")
    assert row["correlation"] > 0.999  # with the exact SVM's decision
    (ridge,) = all_rows(task, ["uniform"], [10**11], "paper", seed=0)
    assert ridge["correlation"] > 0.999
    assert ridge["mse"] != row["mse"]
