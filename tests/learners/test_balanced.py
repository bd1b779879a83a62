"""The border between classes, chosen by held-out balanced accuracy."""

import numpy as np
import pytest

from aqka import InputError, MatrixBackend, Problem, acquire
from aqka.designs import KernelEstimate
from aqka.learners import make_learner
from aqka.learners.balanced import Balanced, _equal_tails, _left_out_decisions
from aqka.maths.metrics import balanced_accuracy
from aqka_research.suite import SUITE
from tests.conftest import make_kernel, make_labels


def rare_labels(n_points=60, rare=6):
    """Return a smooth kernel and labels of which few are positive."""
    kernel = make_kernel(n_points, scale=0.2)
    smooth = np.linalg.eigh(kernel)[1][:, -2]
    return kernel, np.where(smooth > np.sort(smooth)[-rare - 1], 1.0, -1.0)


def test_left_out_decisions_are_those_of_leaving_points_out():
    kernel, y = rare_labels(30, 5)
    head = make_learner("ridge-loo").fit(KernelEstimate(kernel), Problem(y))
    found = _left_out_decisions(head, Problem(y))[:, 0]
    for i in range(30):
        kept = np.arange(30) != i
        inner = head.kernel[np.ix_(kept, kept)] + head.regularisation * np.eye(29)
        assert found[i] == pytest.approx(head.kernel[i, kept] @ np.linalg.solve(inner, y[kept]))


def test_equal_tails_are_equal():
    rng = np.random.default_rng(0)
    f = np.concatenate([rng.normal(-1, 0.3, 4000), rng.normal(0.5, 0.6, 500)])
    positive = np.arange(4500) >= 4000
    border = _equal_tails(f, positive)
    recalls = np.mean(f[positive] > border), np.mean(f[~positive] < border)
    assert recalls[0] == pytest.approx(recalls[1], abs=0.02)  # 2 standard errors of 500 draws
    assert _equal_tails(f, np.ones(4500, dtype=bool)) == 0
    assert _equal_tails(np.array([0.0, 1.0]), np.array([False, True])) == 0.5


def test_it_moves_only_the_border_and_only_if_that_helps():
    kernel, y = rare_labels()
    problem = Problem(y)
    plain = make_learner("ridge-noise").fit(KernelEstimate(kernel), problem)
    moved = make_learner("balanced").fit(KernelEstimate(kernel), problem)
    np.testing.assert_array_equal(moved.alpha, plain.alpha)
    held_out = _left_out_decisions(plain, problem)[:, 0]

    def score(intercept):
        return balanced_accuracy(y, np.where(held_out + intercept >= 0, 1, -1))

    strong = Balanced("ridge").fit(KernelEstimate(kernel), Problem(y, ridge=3.0))
    assert strong.intercept > 0  # a strong ridge leaves every f near the common label
    assert score(moved.intercept) >= score(0)
    # Labels that are the kernel's own signs, as many of either: nothing to gain.
    even = np.sign(np.linalg.eigh(kernel)[1][:, -2])
    assert Balanced("ridge").fit(KernelEstimate(kernel), Problem(even)).intercept == 0


def test_rare_classes_are_found_more_often():
    """Mean balanced accuracy over tasks with a tenth of positive points, two seeds each."""
    gains = []
    for entry in SUITE.values():
        if entry.half != "development" or entry.share != 0.1 or entry.points > 100:
            continue
        for seed in (0, 1):
            task = entry.draw(seed)
            n_pairs = len(task.y) * (len(task.y) - 1) // 2
            session = acquire(
                MatrixBackend(task.kernel, seed=seed), task.y, 10 * n_pairs, "uniform"
            )
            plain, moved = (
                balanced_accuracy(task.test_labels, session.fit(learner).predict(task.test_kernel))
                for learner in ("ridge-noise", "balanced")
            )
            gains.append(moved - plain)
    assert np.mean(gains) > 0.05
    assert np.mean(gains) > 2 * np.std(gains, ddof=1) / np.sqrt(len(gains))


def test_several_classes_share_one_choice():
    kernel = make_kernel(30, scale=0.2)
    labels = np.array(["a"] * 20 + ["b"] * 6 + ["c"] * 4)
    head = make_learner("balanced").fit(KernelEstimate(kernel), Problem(labels))
    assert head.intercept.shape == (3,)
    assert set(head.predict(kernel)) <= set("abc")


def test_heads_without_a_closed_form_are_refused():
    with pytest.raises(InputError, match="must be a ridge"):
        Balanced("svm").fit(KernelEstimate(make_kernel(20)), Problem(make_labels(20)))
