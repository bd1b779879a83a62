"""The tasks that methods are compared on."""

import numpy as np
import pytest

from aqka_research.compare.tasks import TASKS


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
