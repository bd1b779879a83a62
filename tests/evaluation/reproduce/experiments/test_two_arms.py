"""Tasks and arms of the runs that send their shots to a device."""

import numpy as np
import pytest

from aqka import MatrixBackend
from aqka.backends.zz import zz_kernel
from aqka.evaluation.reproduce.experiments._two_arms import arm_rows, online_task


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
