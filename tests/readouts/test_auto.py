import numpy as np
import pytest
from sklearn.linear_model import Lasso

from aqka import MatrixBackend, Problem, Schedule, acquire
from aqka.demo.tasks import breast_cancer, planted_sparse
from aqka.maths.spectrum import Spectrum
from aqka.readouts import make_readout
from aqka.readouts._sparse import sparse_coefficients
from aqka.readouts.auto import RIDGES, _weights
from tests.conftest import make_kernel, make_labels


def correlation(head, task, exact):
    return np.corrcoef(head.decision_function(task.test_kernel), exact)[0, 1]


def exact_decision(task):
    head = make_readout("ridge-kfold").fit_kernel(task.kernel, Problem(task.y))
    return head.decision_function(task.test_kernel)


def test_sparse_coefficients_solve_the_lasso():
    """½‖z - Fα‖² + p‖α‖₁ with FᵀF = K + λI and Fᵀz = y is the same problem."""
    kernel, y = make_kernel(30), make_labels(30)
    spectrum = Spectrum.of(kernel)
    ridges, penalty = np.array([0.1, 1.0, 10.0]), 0.3
    start = np.stack([spectrum.solve(y, ridge) for ridge in ridges], axis=1)
    ours = start
    for _ in range(40):  # far more steps than the readout takes
        ours = sparse_coefficients(spectrum.kernel(), spectrum.values[-1], y, ridges, penalty, ours)
    for column, ridge in enumerate(ridges):
        factor = np.linalg.cholesky(kernel + ridge * np.eye(30)).T
        z = np.linalg.solve(factor.T, y)
        lasso = Lasso(alpha=penalty / 30, fit_intercept=False, tol=1e-12, max_iter=100_000)
        np.testing.assert_allclose(ours[:, column], lasso.fit(factor, z).coef_, atol=2e-3)
    assert np.any(ours == 0)


def test_weights_favour_small_errors_and_ridges_above_the_noise():
    rng = np.random.default_rng(0)
    errors = (
        rng.normal(1.0, 0.1, (50, 1)) + np.array([0.0, 0.0, 0.5]) + rng.normal(0, 0.01, (50, 3))
    )
    weights = _weights(errors, np.array([0.01, 1.0, 1.0]))
    assert weights.sum() == pytest.approx(1)
    assert weights[1] > 0.95  # as good as the first but not far below the noise; the third errs
    equal = _weights(np.ones((20, 2)), np.ones(2))
    np.testing.assert_allclose(equal, 0.5)


@pytest.mark.parametrize("shots", [1, 10])
@pytest.mark.parametrize("make", [breast_cancer, planted_sparse])
def test_it_follows_the_exact_predictor_better_than_simple_readouts(make, shots):
    """Mean correlation over 6 seeds, uniform shots: above a fixed ridge, no worse than tuned."""
    found = {"auto": [], "ridge": [], "ridge-kfold": []}
    for seed in range(6):
        task = make(80, 60, seed=seed)
        exact = exact_decision(task)
        backend = MatrixBackend(task.kernel, seed=seed)
        session = acquire(backend, task.y, shots * 3160, "uniform", ridge=task.ridge)
        for name, values in found.items():
            values.append(correlation(session.fit(name), task, exact))
    mean = {name: np.mean(values) for name, values in found.items()}
    assert mean["auto"] > mean["ridge"] + 0.02
    assert mean["auto"] > mean["ridge-kfold"] - 0.01


def test_without_noise_it_is_as_good_as_any_ridge():
    task = planted_sparse(80, 60, seed=1)
    head = make_readout("auto").fit_kernel(task.kernel, Problem(task.y))
    assert (
        correlation(
            head, task, task.test_kernel @ np.linalg.solve(task.kernel + 0.01 * np.eye(80), task.y)
        )
        > 0.99
    )


def test_the_chosen_ridge_grows_with_the_noise_and_needs_no_setting():
    task = breast_cancer(80, 30)
    ridges = []
    for shots in (1, 10, 1000):
        session = acquire(MatrixBackend(task.kernel), task.y, shots * 3160, "uniform", ridge=1e-9)
        ridges.append(session.fit("auto").regularisation)
    assert ridges[0] > ridges[1] > ridges[2]


def test_it_reads_several_classes_landmarks_and_the_papers_reading():
    kernel, labels = make_kernel(30), np.array(list("abc") * 10)
    session = acquire(MatrixBackend(kernel), labels, 3_000)
    head = session.fit("auto")
    assert head.alpha.shape == (30, 3)
    assert set(head.predict(kernel)) <= set("abc")
    for allocator, reading in (("nystrom", "fair"), ("aqka", "paper")):
        run = acquire(MatrixBackend(kernel), make_labels(30), 3_000, allocator, reading=reading)
        assert np.all(np.isfinite(run.fit("auto").alpha))


@pytest.mark.parametrize("n_points", [2, 3, 5])
def test_it_works_on_a_handful_of_points(n_points):
    y = np.array([0, 1, 1, 0, 1])[:n_points]
    session = acquire(MatrixBackend(make_kernel(n_points)), y, 10, schedule=Schedule(rounds=1))
    assert np.all(np.isfinite(session.fit("auto").alpha))
    assert RIDGES > 1
