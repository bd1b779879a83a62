from functools import partial

import numpy as np
import pytest

from aqka import InputError, Problem, diagnose
from aqka_research.tasks import (
    ad_hoc,
    breast_cancer,
    breast_cancer_rbf,
    digits_rbf,
    planted_sparse,
    planted_zz,
)


def test_planted_targets_have_the_planted_solution():
    task = planted_sparse(60, 20, 4, seed=2)
    alpha = np.linalg.solve(task.kernel + task.ridge * np.eye(60), task.y)
    support = np.flatnonzero(np.abs(alpha) > 1e-9)
    assert set(support) == set(task.anchors)
    signs = np.where(task.test_kernel @ alpha >= 0, 1, -1)
    np.testing.assert_array_equal(signs, task.test_labels)


def test_planted_classes_can_be_kept_apart():
    for seed in range(5):
        labels = planted_sparse(60, 20, 4, seed, largest_class=0.7).test_labels
        assert 0.3 <= np.mean(labels > 0) <= 0.7


@pytest.mark.parametrize("share", [0.4, 0.5, float("nan"), 1.2])
def test_impossible_class_shares_are_refused(share):
    with pytest.raises(InputError, match="largest_class must lie"):
        planted_sparse(20, 10, 2, largest_class=share)


def test_a_share_that_no_draw_meets_is_said():
    with pytest.raises(InputError, match="1000 draws"):
        planted_sparse(20, 1, 2, largest_class=0.7)


def test_planted_data_have_unit_variance_and_the_papers_width():
    task = planted_sparse(seed=1)
    # Squared distances of 8 unit-variance coordinates average 16, so K averages (1 + 4γ)^-4.
    off = task.kernel[np.triu_indices(225, 1)]
    assert off.mean() == pytest.approx((1 + 4 * 0.1) ** -4, rel=0.1)


def test_majority_accuracy_is_that_of_a_constant_answer():
    task = planted_sparse(60, 20, 4)
    majority = 1.0 if np.mean(task.y > 0) >= 0.5 else -1.0
    assert task.majority_accuracy == np.mean(task.test_labels == majority)


def test_breast_cancer_is_a_fidelity_kernel_of_real_data():
    task = breast_cancer()
    assert task.kernel.shape == (80, 80)
    assert task.test_kernel.shape == (30, 80)
    np.testing.assert_allclose(task.kernel.diagonal(), 1)
    assert set(task.y) == {-1.0, 1.0}
    assert np.linalg.eigvalsh(task.kernel).min() > -1e-10


def test_planted_targets_on_the_zz_kernel():
    task = planted_zz(60, 20, 4, seed=2)
    alpha = np.linalg.solve(task.kernel + task.ridge * np.eye(60), task.y)
    assert np.flatnonzero(np.abs(alpha) > 1e-9).tolist() == task.anchors.tolist()
    np.testing.assert_array_equal(np.where(task.test_kernel @ alpha >= 0, 1, -1), task.test_labels)
    # 16-dimensional states that overlap a little more than Haar-random ones.
    off_diagonal = task.kernel[~np.eye(60, dtype=bool)].mean()
    assert 1 / 16 < off_diagonal < 0.1


@pytest.mark.parametrize(
    ("task", "gini", "rho", "accuracy"),
    [
        # What the paper's Table 4 says of the exact kernels, means over three splits.
        (breast_cancer_rbf, 0.71, 0.17, 0.97),
        (partial(digits_rbf, 3, 5), 0.57, 0.19, 0.98),
        (partial(digits_rbf, 0, 8), 0.52, 0.27, 1.00),
    ],
)
def test_real_data_has_the_papers_concentration(task, gini, rho, accuracy):
    found = []
    for seed in range(3):
        made = task(seed=seed)
        problem = Problem(made.y, made.ridge, reading="paper")
        exact = diagnose(problem.new_table(), problem, made.kernel)
        alpha = np.linalg.solve(made.kernel + made.ridge * np.eye(len(made.y)), made.y)
        right = np.sign(made.test_kernel @ alpha) == made.test_labels
        found.append((exact.gini, exact.rho, right.mean()))
    np.testing.assert_allclose(np.mean(found, axis=0), (gini, rho, accuracy), atol=0.02)


def test_ad_hoc_labels_are_clear_balanced_and_within_the_kernels_reach():
    task = ad_hoc(1500, 300, seed=1, ridge=0.01)
    share = np.mean(np.append(task.y, task.test_labels) > 0)
    # The clear points on both sides of the median: not exactly half, for the tails differ.
    assert 0.35 < share < 0.65
    np.testing.assert_allclose(task.kernel.diagonal(), 1.0)
    # With far more points than the kernel's 256 dimensions the labels are found: no mismatch.
    alpha = np.linalg.solve(task.kernel + task.ridge * np.eye(1500), task.y)
    few = np.linalg.solve(task.kernel[:80, :80] + 0.5 * np.eye(80), task.y[:80])
    many = np.mean(np.sign(task.test_kernel @ alpha) == task.test_labels)
    assert many > 0.9
    assert np.mean(np.sign(task.test_kernel[:, :80] @ few) == task.test_labels) < many - 0.1
