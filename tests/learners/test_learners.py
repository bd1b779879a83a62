from dataclasses import replace

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from aqka import InputError, MatrixBackend, Problem, Schedule, StatevectorBackend, acquire
from aqka.core import FAIR, Landmarks
from aqka.designs import KernelEstimate, PairEstimate, Points, Projected, point_kernel_names
from aqka.learners import Decided, FittedHead, learner_names, make_learner
from aqka.learners.ridge import RIDGE_GRID, RidgeKfold, RidgeLoo, kfold_errors
from aqka.maths.metrics import split_folds
from aqka.maths.spectrum import Spectrum, project_psd
from tests.conftest import make_kernel, make_labels, make_noisy_kernel


@pytest.mark.parametrize("ridge", [0.01, 1.0])
def test_fixed_ridge_agrees_with_scikit_learn(ridge):
    problem = Problem(make_labels(20), ridge=ridge)
    head = make_learner("ridge").fit(KernelEstimate(make_noisy_kernel()), problem)
    other = KernelRidge(alpha=ridge, kernel="precomputed").fit(head.kernel, problem.y)
    np.testing.assert_allclose(head.alpha, other.dual_coef_, rtol=1e-6)
    test = make_kernel(25)[20:, :20]
    np.testing.assert_allclose(head.decision_function(test), other.predict(test), rtol=1e-6)
    assert head.regularisation == ridge


def test_loo_residuals_are_those_of_leaving_points_out():
    kernel, y = project_psd(make_noisy_kernel()), make_labels(20)
    ridges = np.array([0.03, 2.0])
    closed = Spectrum.of(kernel).loo_residuals(y, ridges)
    for column, ridge in enumerate(ridges):
        for i in range(20):
            kept = np.arange(20) != i
            alpha = np.linalg.solve(kernel[np.ix_(kept, kept)] + ridge * np.eye(19), y[kept])
            assert closed[i, column] == pytest.approx(y[i] - kernel[i, kept] @ alpha, rel=1e-5)


def test_kfold_errors_are_those_of_holding_folds_out():
    kernel, y = make_noisy_kernel(), make_labels(20)
    errors = kfold_errors(kernel, y[:, None], np.array([0.5]))
    squared = 0.0
    for kept, held in split_folds(20):
        train = project_psd(kernel[np.ix_(kept, kept)])
        model = KernelRidge(alpha=0.5, kernel="precomputed").fit(train, y[kept])
        squared += np.sum((model.predict(kernel[np.ix_(held, kept)]) - y[held]) ** 2)
    assert errors[0] == pytest.approx(squared / 20)


@pytest.mark.parametrize("learner", ["ridge", "svm"])
def test_three_classes_are_three_heads_on_one_kernel(learner):
    kernel, labels = project_psd(make_noisy_kernel(21)), np.array(list("abc") * 7)
    head = make_learner(learner).fit(KernelEstimate(kernel), Problem(labels))
    decision = head.decision_function(kernel)
    for column, label in enumerate("abc"):
        part = Problem(np.where(labels == label, 1, -1))
        alone = make_learner(learner).fit(KernelEstimate(kernel), part)
        np.testing.assert_allclose(decision[:, column], alone.decision_function(kernel))
    assert np.array_equal(head.predict(kernel), np.array(list("abc"))[decision.argmax(axis=1)])


def test_the_grid_is_wide():
    assert min(RIDGE_GRID) <= 0.003
    assert max(RIDGE_GRID) >= 30


@pytest.mark.parametrize("learner", [RidgeLoo(), RidgeKfold()])
def test_tuned_ridges_grow_with_the_noise(learner):
    smooth = make_kernel(60, scale=0.2)
    rng = np.random.default_rng(1)
    problem = Problem(np.sign(np.linalg.eigh(smooth)[1][:, -2]))  # a smooth border
    chosen = []
    for shots in (2, 20_000):
        upper = np.triu(rng.binomial(shots, smooth) / shots, 1)
        chosen.append(
            learner.fit(KernelEstimate(upper + upper.T + np.eye(60)), problem).regularisation
        )
    assert chosen[0] > chosen[1]


def test_svm_agrees_with_scikit_learn():
    problem = Problem(make_labels(20), C=2.0)
    head = make_learner("svm").fit(KernelEstimate(make_noisy_kernel()), problem)
    machine = SVC(kernel="precomputed", C=2.0).fit(head.kernel, problem.y)
    test = make_kernel(30)[20:, :20]
    np.testing.assert_allclose(
        head.decision_function(test), machine.decision_function(test), atol=2e-3
    )
    np.testing.assert_array_equal(head.predict(test), machine.predict(test))


@pytest.mark.parametrize("name", ["nystrom", "nystrom-leverage", "hybrid"])
def test_landmark_runs_are_read_through_their_reconstruction(name):
    kernel, y = make_kernel(30, scale=0.05), make_labels(30)
    schedule = Schedule(warmup=0.003, rounds=1, explore=0.0)  # about one shot a pair
    session = acquire(MatrixBackend(kernel), y, 200_000, name, schedule=schedule)
    head = make_learner("ridge").fit(session.estimate(), session.problem)
    without = make_learner("ridge").fit(
        PairEstimate(session.table, session.problem), session.problem
    )
    error, raw = (np.abs(h.kernel - kernel).mean() for h in (head, without))
    assert error < 0.05
    assert error < 0.6 * raw


def test_bad_readouts_and_test_kernels_are_refused():
    with pytest.raises(InputError, match=r"got 'rigde'\. Did you mean 'ridge'"):
        make_learner("rigde")
    with pytest.raises(InputError, match=r"or an instance of Learner, got 0\.5"):
        make_learner(0.5)
    head = make_learner("ridge").fit(KernelEstimate(make_kernel(4)), Problem(make_labels(4)))
    with pytest.raises(InputError, match=r"4 columns, one per training point; got shape \(4, 3\)"):
        head.decision_function(np.ones((4, 3)))


def test_bad_grids_are_refused():
    for make in (RidgeLoo, RidgeKfold):
        for grid in ((), (-1.0,), (float("nan"), 1.0)):
            with pytest.raises(InputError, match="grid"):
                make(grid=grid)


def test_test_kernels_must_be_numbers():
    head = make_learner("ridge").fit(KernelEstimate(make_kernel(4)), Problem(make_labels(4)))
    for wrong in ([[np.nan] * 4], [["a"] * 4], [[1j] * 4], [[1.0], [1.0, 2.0]]):
        with pytest.raises(InputError, match="test_kernel"):
            head.predict(wrong)


def test_a_head_is_named_by_its_counts_labels_and_settings_and_by_no_computed_number():
    y, zero = make_labels(9), replace(FAIR, unseen="zero")
    tables = [acquire(MatrixBackend(make_kernel(9), seed=s), y, 900).table for s in (0, 0, 1)]

    def fitted(learner="ridge-loo", table=tables[0], y=y, points=None, keep=True, **options):
        problem = Problem(y, **options)
        landmarks = None if points is None else Landmarks(np.array(points), keep)
        return make_learner(learner).fit(PairEstimate(table, problem, landmarks), problem)

    head = fitted()
    moved = replace(head, alpha=head.alpha * (1 + 1e-9), intercept=head.intercept + 1e-9)
    of_another_processor = RidgeLoo(grid=tuple(np.nextafter(RIDGE_GRID, 1.0).tolist()))
    same = (head, fitted(table=tables[1]), moved, fitted(of_another_processor))
    assert len({one.identity for one in same}) == 1
    others = [
        *(fitted(name) for name in learner_names()),  # its own among them
        fitted(RidgeLoo(grid=(0.1, 1.0))),
        fitted(table=tables[2]),
        fitted(y=-y),
        fitted(ridge=0.02),
        fitted(reading=zero),
        fitted(points=[0, 1]),
        fitted(points=[0, 1], keep=False),
        fitted(points=[0, 2]),
        make_learner("ridge-loo").fit(KernelEstimate(fitted().estimate.kernel), Problem(y)),
    ]
    assert len({other.identity for other in others}) == len(others)


def test_a_head_that_no_learner_fitted_is_named_by_its_coefficients():
    made = FittedHead(np.ones(3), np.array(0.0), KernelEstimate(np.eye(3)), 0.1, np.array([0, 1]))
    changes = ({"alpha": np.array([1.0, 1.0, 2.0])}, {"intercept": np.array(0.5)})
    assert len({made.identity, *(replace(made, **change).identity for change in changes)}) == 3
    assert replace(made, alpha=np.nextafter(made.alpha, 2)).identity == made.identity


def test_a_head_of_points_is_named_by_its_kernel_but_not_by_a_chosen_width():
    x = np.random.default_rng(0).uniform(0, 2, size=(12, 2))
    session = acquire(StatevectorBackend(x), make_labels(12), 12 * 400, design="points")
    heads = [session.fit("ridge-loo", Points(name)) for name in point_kernel_names()]
    heads += [session.fit("ridge-loo", Points(Projected(gamma=g))) for g in (0.3, 0.4)]
    assert len({head.identity for head in heads}) == len(heads)
    projected = heads[2]
    kernel = projected.estimate.kernel_of_points
    assert kernel.gamma is not None
    before = projected.identity
    projected.estimate.kernel_of_points = replace(kernel, gamma=kernel.gamma * (1 + 1e-12))
    assert projected.identity == before
    confused = replace(kernel, confusion=np.tile([[0.95, 0.1], [0.05, 0.9]], (2, 1, 1)))
    projected.estimate.kernel_of_points = confused
    assert projected.identity != before


def test_two_points_can_be_read():
    session = acquire(MatrixBackend(make_kernel(2)), [0, 1], 50)
    for name in ("ridge", "ridge-loo", "ridge-kfold", "svm"):
        head = session.fit(name)
        np.testing.assert_array_equal(head.predict(make_kernel(2)), [0, 1])


def test_of_f_the_sign_decides_and_of_columns_the_largest():
    two = make_learner("ridge").fit(KernelEstimate(make_kernel(4)), Problem(list("baab")))
    assert two.labels(np.array([-0.1, 0.0, 0.1])).tolist() == ["a", "b", "b"]
    three = make_learner("ridge").fit(KernelEstimate(make_kernel(6)), Problem(list("abcabc")))
    assert three.labels(np.array([[0.0, 2.0, 1.0], [-1.0, -3.0, -2.0]])).tolist() == ["b", "a"]


def test_guesses_are_combined_by_precision():
    """The mean square error is the least of all weights, which a grid finds too."""
    rng, sizes = np.random.default_rng(0), (0.5, 1.5)
    truth = rng.normal(size=20_000)
    guesses = [truth + size * rng.normal(size=len(truth)) for size in sizes]
    plain = Decided(guesses[0], np.full(len(truth), sizes[0]))
    points = np.arange(10_000)
    found = plain.combined(guesses[1], np.full(len(truth), sizes[1]), points)
    errors = [
        np.mean((w * guesses[0] + (1 - w) * guesses[1] - truth)[points] ** 2)
        for w in np.linspace(0, 1, 101)
    ]
    error = np.mean((found.f - truth)[points] ** 2)
    assert error == pytest.approx(min(errors), rel=0.01)
    assert found.deviation[0] ** 2 == pytest.approx(error, rel=0.06)  # four standard errors
    np.testing.assert_array_equal(found.f[10_000:], guesses[0][10_000:])
