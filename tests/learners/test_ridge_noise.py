"""The default learner: leave-one-out errors that know the noise."""

import numpy as np
import pytest

from aqka import MatrixBackend, Problem, acquire
from aqka.designs import KernelEstimate
from aqka.learners import make_learner
from aqka.learners.balanced import Balanced
from aqka.learners.ridge import (
    LOWEST_RIDGE,
    SMALLEST_RIDGE,
    TOLERANCE,
    RidgeNoise,
    ridge_above_noise,
    smallest_as_good,
)
from aqka.maths.spectrum import Spectrum
from aqka_research.tasks import breast_cancer, planted_sparse
from tests.conftest import make_kernel, make_labels


def noise_edge(estimate):
    """Where the learner takes the noise to end: on a kernel that tells nothing, every ridge is as
    good, and the smallest that the noise allows is taken."""
    n_points = len(estimate.kernel)
    nothing, problem = Spectrum.of(np.eye(n_points)), Problem(make_labels(n_points))
    return ridge_above_noise(nothing, problem, estimate.mean_variance()) / LOWEST_RIDGE


class Noisy(KernelEstimate):
    """A kernel with the same variance in every entry off the diagonal."""

    def __init__(self, kernel, variance):
        super().__init__(kernel)
        self._variance = np.full(kernel.shape, variance)
        np.fill_diagonal(self._variance, 0.0)

    @property
    def variance(self):
        return self._variance


def bought(kernel, y, shots_a_pair, seed=0, **options):
    n_points = len(y)
    budget = shots_a_pair * n_points * (n_points - 1) // 2
    return acquire(MatrixBackend(kernel, seed=seed), y, budget, "uniform", **options)


@pytest.mark.parametrize(("shots", "tolerance"), [(2, 0.2), (20, 0.1)])
def test_the_noise_edge_is_where_the_noise_ends(shots, tolerance):
    """Against the eigenvalues of K̂ - K itself, whose largest is 2σ√N up to N^(-2/3) of it.

    Posterior means of two shots spread less than the entries, so their k(1-k) is too large.
    """
    kernel = make_kernel(200)
    session = bought(kernel, make_labels(200), shots)
    noise = session.table.square(session.table.estimate()) - kernel
    np.fill_diagonal(noise, 0.0)
    assert np.linalg.eigvalsh(noise)[-1] == pytest.approx(
        noise_edge(session.estimate()), rel=tolerance
    )


def test_it_is_the_smallest_ridge_that_predicts_left_out_points_as_well_as_any():
    """By refits without a point, and a finer search than the learner's own."""
    task = breast_cancer(40, 30)
    session = bought(task.kernel, task.y, 10)
    head = session.fit("ridge-noise")
    assert head.regularisation >= LOWEST_RIDGE * noise_edge(session.estimate()) * (1 - 1e-12)

    def squared(ridge):
        errors = []
        for i in range(40):
            kept = np.arange(40) != i
            inner = head.kernel[np.ix_(kept, kept)] + ridge * np.eye(39)
            f = head.kernel[i, kept] @ np.linalg.solve(inner, task.y[kept])
            errors.append((task.y[i] - f) ** 2)
        return np.array(errors)

    lowest = LOWEST_RIDGE * noise_edge(session.estimate())
    finer = {ridge: squared(ridge) for ridge in np.geomspace(lowest, 400, 120)}
    best = min(finer.values(), key=np.mean)

    def is_as_good(errors):
        difference = errors - best
        return difference.mean() <= TOLERANCE * difference.std() / np.sqrt(40)

    smallest = min(ridge for ridge, errors in finer.items() if is_as_good(errors))
    assert head.regularisation == pytest.approx(smallest, rel=0.35)  # ten ridges a decade


def test_the_first_column_as_good_as_the_best_wins():
    rng = np.random.default_rng(0)
    base = rng.exponential(size=(400, 1))
    errors = base + np.array([0.5, 0.0, -0.001, 0.3]) + 0.1 * rng.normal(size=(400, 4))
    assert smallest_as_good(errors) in (1, 2)
    assert smallest_as_good(np.ones((10, 3))) == 0
    far = base + np.array([0.5, 0.2, 0.0]) + 0.01 * rng.normal(size=(400, 3))
    assert smallest_as_good(far) == 2


@pytest.mark.parametrize("shots", [1, 10])
@pytest.mark.parametrize("make", [breast_cancer, planted_sparse])
def test_it_follows_the_exact_predictor_at_least_as_well_as_other_ridges(make, shots):
    """Mean correlation over 12 seeds, uniform shots; of one seed it differs by 0.012."""
    found = {"ridge-noise": [], "ridge": [], "ridge-loo": [], "ridge-kfold": []}
    for seed in range(12):
        task = make(80, 60, seed=seed)
        exact = make_learner("ridge-kfold").fit(KernelEstimate(task.kernel), Problem(task.y))
        session = bought(task.kernel, task.y, shots, seed, ridge=task.ridge)
        for name, values in found.items():
            f = session.fit(name).decision_function(task.test_kernel)
            values.append(np.corrcoef(f, exact.decision_function(task.test_kernel))[0, 1])
    mean = {name: np.mean(values) for name, values in found.items()}
    assert mean["ridge-noise"] > mean["ridge"] + 0.02
    assert mean["ridge-noise"] > mean["ridge-loo"] - 0.01
    assert mean["ridge-noise"] > mean["ridge-kfold"] - 0.01


def test_a_kernel_without_noise_may_have_any_ridge():
    task = planted_sparse(80, 60, seed=1)
    head = make_learner("ridge-noise").fit(KernelEstimate(task.kernel), Problem(task.y))
    assert head.regularisation == pytest.approx(SMALLEST_RIDGE)
    alpha = np.linalg.solve(task.kernel + 0.01 * np.eye(80), task.y)
    f = head.decision_function(task.test_kernel)
    assert np.corrcoef(f, task.test_kernel @ alpha)[0, 1] > 0.99


def test_the_chosen_ridge_grows_with_the_noise_and_needs_no_setting():
    task = breast_cancer(80, 30)
    ridges = [
        bought(task.kernel, task.y, shots, ridge=1e-9).fit("ridge-noise").regularisation
        for shots in (1, 10, 1000)
    ]
    assert ridges[0] > ridges[1] > ridges[2]


def test_it_reads_several_classes_landmarks_and_the_papers_reading():
    kernel, labels = make_kernel(30), np.array(list("abc") * 10)
    head = acquire(MatrixBackend(kernel), labels, 3_000).fit("ridge-noise")
    assert head.alpha.shape == (30, 3)
    assert set(head.predict(kernel)) <= set("abc")
    for allocator, reading in (("nystrom", "fair"), ("aqka", "paper")):
        run = acquire(MatrixBackend(kernel), make_labels(30), 3_000, allocator, reading=reading)
        assert np.all(np.isfinite(run.fit("ridge-noise").alpha))


@pytest.mark.parametrize("n_points", [2, 3, 5])
def test_it_works_on_a_handful_of_points(n_points):
    y = np.array([0, 1, 1, 0, 1])[:n_points]
    session = acquire(MatrixBackend(make_kernel(n_points)), y, 10)
    assert np.all(np.isfinite(session.fit("ridge-noise").alpha))


def test_variances_of_a_kernel_that_was_not_counted_give_the_same_edge():
    """Independent symmetric noise of one variance: the edge is where its spectrum ends."""
    rng, n_points, sigma = np.random.default_rng(0), 400, 0.03
    noise = np.triu(rng.normal(0, sigma, (n_points, n_points)), 1)
    edge = noise_edge(Noisy(np.eye(n_points), sigma**2))
    assert edge == pytest.approx(np.abs(np.linalg.eigvalsh(noise + noise.T)).max(), rel=0.05)


@pytest.mark.parametrize("learner", [RidgeNoise(), Balanced()])
def test_a_noisier_kernel_of_points_gets_a_larger_ridge(learner):
    task = breast_cancer(40, 30)
    problem = Problem(task.y)
    few, many = Noisy(task.kernel, 0.04), Noisy(task.kernel, 1e-6)
    noisy, good = learner.fit(few, problem), learner.fit(many, problem)
    assert noisy.regularisation >= LOWEST_RIDGE * noise_edge(few) * (1 - 1e-12)
    assert noisy.regularisation > 2 * good.regularisation
    plain = make_learner("ridge-loo")  # makes no use of them
    same = plain.fit(few, problem), plain.fit(KernelEstimate(task.kernel), problem)
    assert same[0].regularisation == same[1].regularisation
