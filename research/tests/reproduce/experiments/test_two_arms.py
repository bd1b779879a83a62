"""Tasks and arms of the runs that send their shots to a device."""

import numpy as np
import pytest
from scipy.stats import chi2

from aqka import MatrixBackend
from aqka.backends.runtime import RuntimeBackend
from aqka.backends.statevector import zz_kernel
from aqka.core.plans import ShotPlan
from aqka_research.reproduce.experiments._two_arms import (
    arm_rows,
    exact_device,
    fake_device,
    online_task,
)


def test_points_belong_to_the_task():
    task, x = online_task(12, 9, 3, seed=4)
    assert x.shape == (12, 4)
    np.testing.assert_allclose(zz_kernel(x), task.kernel, atol=1e-14)
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


def test_the_exact_kernel_is_what_the_same_circuit_gives_on_the_device():
    _, x = online_task(6, 6, 2, seed=0)
    rows, cols = np.triu_indices(6)
    plan = ShotPlan(rows, cols, np.full(21, 2000))
    with RuntimeBackend(fake_device("FakeMarrakesh"), x, seed=3) as device:
        hits = device.collect(device.submit(plan, "same"))
    k = exact_device(x, "FakeMarrakesh", 0).kernel()[rows, cols]
    statistic = np.sum((hits - plan.shots * k) ** 2 / (plan.shots * k * (1 - k)))
    assert statistic < chi2.ppf(1 - 1e-4, 21)  # a fixed seed; else wrong once in 10,000
    assert np.abs(k - zz_kernel(x)[rows, cols]).max() > 0.05  # the noise is there


def test_readings_of_one_seed_share_the_device():
    _, x = online_task(6, 6, 2, seed=0)
    assert exact_device(x, "depolarising", 1) is exact_device(x.copy(), "depolarising", 1)
    assert exact_device(x, "depolarising", 1) is not exact_device(x + 1, "depolarising", 1)
