"""The SVM's oracle and its labels."""

import numpy as np

from aqka import Problem
from aqka.core import PairTable
from aqka.maths.sensitivity import solve_dual
from aqka_research.reproduce.experiments.svm import SvmOracle, svm_task
from aqka_research.tasks import ad_hoc


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
