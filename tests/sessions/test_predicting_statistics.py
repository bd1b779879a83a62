"""How often intervals of predictions cover, measured at fixed seeds."""

import numpy as np
import pytest

from aqka import MatrixBackend, Problem, acquire
from aqka.core.pairs import BlockTable
from aqka.core.plans import ShotPlan
from aqka.designs import KernelEstimate, Settle
from aqka.insight.intervals import with_total_interval
from aqka.learners import make_learner
from aqka.sessions import predict
from aqka_research.tasks import breast_cancer, planted_sparse


def trained(task, shots_a_pair, seed=0):
    n_pairs = len(task.y) * (len(task.y) - 1) // 2
    backend = MatrixBackend(task.kernel, seed=seed)
    return acquire(backend, task.y, shots_a_pair * n_pairs, "uniform", ridge=task.ridge, seed=seed)


def coverage(intervals, truth):
    return np.mean([(low <= truth) & (truth <= high) for low, high in intervals])


TASKS = {
    "zz": breast_cancer(30, 8),
    "planted": planted_sparse(30, 8, 5, seed=1, largest_class=0.7),
}


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("shots_a_pair", [10, 40])
def test_the_interval_from_equal_test_shots_covers_in_85_to_95_percent(name, shots_a_pair):
    task, rng, found = TASKS[name], np.random.default_rng(0), []
    block = task.test_kernel
    rows, cols = (axis.ravel() for axis in np.indices(block.shape))
    plan = ShotPlan(rows, cols, np.full(rows.size, shots_a_pair))
    for seed in range(8):  # heads: the eight points of one of them cover by up to 0.07 less or more
        head = trained(task, 16, seed).fit("ridge-kfold")
        for _ in range(25):
            table = BlockTable(*block.shape)
            table.add(plan, rng.binomial(shots_a_pair, block.ravel()))
            read = head.decide(table)
            miss = np.abs(head.decision_function(block) - read.f)
            found.append(miss <= 1.645 * read.deviation)
    assert 0.85 <= np.mean(found) <= 0.95


@pytest.mark.parametrize(("name", "shots_a_pair"), [("zz", 10), ("planted", 10), ("zz", 40)])
def test_the_interval_covers_in_85_to_95_percent_with_allocation_and_stopping(name, shots_a_pair):
    task = TASKS[name]
    head, block = trained(task, 16).fit("ridge-kfold"), task.test_kernel
    found = []
    for seed in range(100):
        backend = MatrixBackend(block, rectangular=True, seed=seed)
        got = predict(head, backend, shots_a_pair * block.size)
        found.append((got.low, got.high))
    assert 0.85 <= coverage(found, head.decision_function(block)) <= 0.95


def total_intervals(name, learner, shots, repetitions=80):
    """Return coverage by the total interval, where labels flip and where that is flagged."""
    task = TASKS[name]
    exact = make_learner(learner).fit(KernelEstimate(task.kernel), Problem(task.y, task.ridge))
    found, flips, flagged = [], [], []
    for seed in range(repetitions):
        session = trained(task, shots, seed)
        backend = MatrixBackend(task.test_kernel, rectangular=True, seed=seed)
        head, budget = session.fit(learner), 6 * task.test_kernel.size
        got = predict(head, backend, budget, stop=Settle())  # of real targets, by their signs
        got = with_total_interval(got, session, learner, repetitions=12, seed=seed)
        found.append((got.total_low, got.total_high))
        flips.append(got.labels != exact.predict(task.test_kernel))
        flagged.append(got.could_flip)
    truth = exact.decision_function(task.test_kernel)
    return coverage(found, truth), np.array(flips), np.array(flagged)


@pytest.mark.parametrize(("name", "learner", "shots"), [("zz", "ridge", 16), ("zz", "svm", 16)])
def test_the_total_interval_covers_the_same_learner_on_the_exact_kernel(name, learner, shots):
    covered, flips, flagged = total_intervals(name, learner, shots)
    assert covered >= 0.85
    assert flips.mean() > 0.1
    assert flagged[flips].mean() > 0.9
    assert flagged[~flips].mean() < flagged[flips].mean() - 0.05


@pytest.mark.parametrize(("name", "shots"), [("planted", 16), ("zz", 4)])
def test_the_total_interval_covers_where_held_out_points_cannot_tell_the_ridge(name, shots):
    # The ridge chosen on 4 shots a pair is thousands of times the one chosen on the exact kernel:
    # the interval is then wide, and hardly a class is beyond doubt.
    covered, flips, flagged = total_intervals(name, "ridge-kfold", shots, repetitions=60)
    assert covered >= 0.85
    assert flips.mean() > 0.1
    assert flagged[flips].mean() > 0.9
