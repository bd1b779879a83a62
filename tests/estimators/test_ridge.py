import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import MinMaxScaler

from aqka import InputError, QuantumRidge, QuantumRidgeClassifier
from aqka.backends.statevector import zz_kernel
from aqka.maths.spectrum import FeatureSpectrum, Spectrum, left_out
from tests.estimators.counting import Counting


def test_three_classes_share_one_kernel(counted):
    X, y = load_iris(return_X_y=True)
    X = MinMaxScaler((0, np.pi / 4)).fit_transform(X)
    keep = np.random.default_rng(0).permutation(150)
    train, test = keep[:60], keep[60:]
    model = QuantumRidgeClassifier(backend=counted, budget=60_000).fit(X[train], y[train])
    assert Counting.spent == 60_000
    assert model.decision_function(X[test]).shape == (90, 3)
    assert model.predict_proba(X[test]).shape == (90, 3)
    assert model.score(X[test], y[test]) > 0.8
    found = model.prediction(X[test], budget=300_000)
    exact = model.predict(X[test])
    assert np.mean(model.classes_[found.labels][found.settled] == exact[found.settled]) > 0.95


def test_regression_agrees_with_scikit_learn_in_the_limit_of_many_shots():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, (40, 2))
    y = np.cos(X[:, 0]) * X[:, 1] + 5
    kernel = zz_kernel(X)
    model = QuantumRidge(backend="precomputed", learner="ridge").fit(kernel, y)
    reference = KernelRidge(alpha=0.01, kernel="precomputed").fit(kernel, y - y.mean())
    np.testing.assert_allclose(
        model.predict(kernel), reference.predict(kernel) + y.mean(), rtol=1e-4
    )
    shots = QuantumRidge(budget=10**12, learner="ridge").fit(X, y)
    assert np.corrcoef(shots.predict(X), model.predict(kernel))[0, 1] > 0.99
    two = QuantumRidge(backend="precomputed").fit(kernel, np.where(y > 5, 7.0, 3.0))
    assert 2 < two.predict(kernel).min() < two.predict(kernel).max() < 8


def test_a_single_target_cannot_be_learnt():
    with pytest.raises(InputError, match=r"y has a single value, 3\.0"):
        QuantumRidge().fit(np.ones((4, 2)), np.full(4, 3.0))


def test_a_regression_has_no_border_to_move():
    model = QuantumRidge(budget=100, learner="balanced")
    with pytest.raises(InputError, match="a regression has none"):
        model.fit(np.linspace(0, 3, 8).reshape(4, 2), [0.1, 0.7, 1.3, 0.2])


def test_regression_predicts_values_in_target_units_and_no_classes(counted, tmp_path):
    X = np.linspace(0.1, 3, 40).reshape(-1, 1).repeat(2, axis=1)
    y = 100 + 20 * np.cos(2 * X[:, 0])
    settings = {"backend": counted, "budget": 200_000, "directory": tmp_path, "design": "pairs"}
    model = QuantumRidge(**settings).fit(X[::2], y[::2])
    Counting.spent = 0
    found = model.prediction(X[1::2], budget=400_000, total=True)
    assert Counting.spent == found.shots.sum() == 400_000
    assert not hasattr(found, "labels")
    exact = model.predict(X[1::2])
    assert np.sqrt(np.mean((found.f - exact) ** 2)) < 5  # of an amplitude of 20
    assert np.mean((found.low <= exact) & (exact <= found.high)) > 0.7
    assert np.all(found.total_low <= found.low)
    assert np.all(found.total_high >= found.high)
    np.testing.assert_array_equal(model.predict(X[1::2], budget=400_000), found.f)
    assert Counting.spent == 400_000  # the ledger remembers


def synthetic(seed, design, noise):
    """Targets drawn from a Gaussian process with the kernel that is measured, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.5, 2.5, size=(120, 2))
    f = np.linalg.cholesky(zz_kernel(X) + 1e-9 * np.eye(120)) @ rng.normal(size=120)
    y = 5 + 3 * (f + noise * rng.normal(size=120))
    model = QuantumRidge(budget=20_000, design=design, seed=seed).fit(X[:60], y[:60])
    return model, X[60:], y[60:]


@pytest.mark.parametrize("design", ["pairs", "points"])
@pytest.mark.parametrize("budget", [None, 60_000])
def test_intervals_of_targets_cover_as_often_as_they_say(design, budget):
    covered = []
    for seed in range(12):
        model, X, y = synthetic(seed, design, noise=(0.2, 0.5, 1.0)[seed % 3])
        mean, deviation = model.predict(X, budget=budget, return_std=True)
        np.testing.assert_allclose(mean, model.predict(X, budget=budget))
        covered.append(np.abs(y - mean) <= 1.645 * deviation)
    assert 0.85 <= np.mean(covered) <= 0.95


class ExactKernel(Kernel):
    """The ZZ map's kernel as scikit-learn's Gaussian processes take it."""

    def __init__(self):
        """Take no parameters, as scikit-learn wants it said."""

    def __call__(self, X, Y=None, eval_gradient=False):
        both = zz_kernel(X if Y is None else np.vstack([X, Y]))
        return both if Y is None else both[: len(X), len(X) :]

    def diag(self, X):
        return np.ones(len(X))

    def is_stationary(self):
        return False


@pytest.mark.parametrize("design", ["pairs", "points"])
def test_covariances_are_those_of_a_gaussian_process(design):
    X = np.random.default_rng(0).uniform(0.5, 2.5, size=(40, 2))
    y = 3 + np.cos(2 * X[:, 0]) * X[:, 1]
    model = QuantumRidge(budget=10**9, design=design).fit(X[:30], y[:30])
    amplitude = model.amplitude_ * model.scale_**2
    noise = amplitude * model.head_.regularisation
    process = GaussianProcessRegressor(
        ConstantKernel(amplitude) * ExactKernel(), alpha=noise, optimizer=None
    ).fit(X[:30], y[:30] - model.intercept_)
    wanted, covariance = process.predict(X[30:], return_cov=True)
    found, of_targets = model.predict(X[30:], return_cov=True)
    np.testing.assert_allclose(found, wanted + model.intercept_, atol=2e-3)
    np.testing.assert_allclose(of_targets, covariance + noise * np.eye(10), atol=2e-3)
    deviation = model.predict(X[30:], return_std=True)[1]
    np.testing.assert_allclose(np.sqrt(of_targets.diagonal()), deviation)


def test_covariances_of_measured_points_and_where_there_are_none():
    X = np.random.default_rng(0).uniform(0.5, 2.5, size=(40, 2))
    y = np.stack([np.cos(2 * X[:, 0]), X[:, 1] ** 2], axis=1)
    model = QuantumRidge(budget=20_000, design="points").fit(X[:30], y[:30])
    found, covariance = model.predict(X[30:], budget=10**6, return_cov=True)
    assert covariance.shape == (10, 10, 2)
    np.testing.assert_allclose(found, model.predict(X[30:]), atol=0.1)
    exact = model.predict(X[30:], return_cov=True)[1]
    assert np.abs(covariance - exact).max() < 0.1 * np.abs(exact).max()
    with pytest.raises(InputError, match="return_std and return_cov exclude each other"):
        model.predict(X[30:], return_std=True, return_cov=True)
    pairs = QuantumRidge(budget=20_000, design="pairs").fit(X[:30], y[:30])
    by_shots, deviation = pairs.predict(X[30:], budget=10**7, return_std=True)
    assert deviation.shape == (10, 2)
    np.testing.assert_allclose(by_shots, pairs.predict(X[30:]), atol=0.1)
    with pytest.raises(InputError, match="whose pairs are not measured"):
        pairs.predict(X[30:], budget=20_000, return_cov=True)
    kernel = zz_kernel(X)
    given = QuantumRidge(backend="precomputed").fit(kernel[:30, :30], y[:30])
    with pytest.raises(InputError, match="not known here"):
        given.predict(kernel[30:, :30], return_cov=True)


@pytest.mark.parametrize("learner", ["ridge", "ridge-loo", "ridge-noise", "ridge-kfold"])
def test_several_outputs_and_weights_are_those_of_kernel_ridge(learner):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, size=(40, 2))
    kernel, weights = zz_kernel(X), rng.uniform(0.1, 3, size=30)
    targets = np.stack([np.sin(X[:, 0]), 10 + X[:, 1], X[:, 0] * X[:, 1]], axis=1)
    train, block = kernel[:30, :30], kernel[30:, :30]
    model = QuantumRidge(backend="precomputed", learner=learner)
    model.fit(train, targets[:30], sample_weight=weights)
    exact = KernelRidge(kernel="precomputed", alpha=model.head_.regularisation)
    exact.fit(train, targets[:30] - model.intercept_, sample_weight=weights)
    found, deviation = model.predict(block, return_std=True)
    np.testing.assert_allclose(found, exact.predict(block) + model.intercept_, rtol=1e-3, atol=1e-3)
    assert deviation.shape == found.shape == (10, 3)
    column = QuantumRidge(backend="precomputed", learner="ridge").fit(train, targets[:30, :1])
    assert column.predict(block).shape == (10,)


def test_a_point_without_weight_is_as_if_it_were_not_there():
    X = np.random.default_rng(0).uniform(0, 3, size=(40, 2))
    kernel, y = zz_kernel(X), np.sin(X[:, 0])
    weights = np.append(np.ones(25), np.zeros(5))
    model = QuantumRidge(backend="precomputed", learner="ridge")
    with_all = model.fit(kernel[:30, :30], y[:30], weights)
    found = with_all.predict(kernel[30:, :30]) - with_all.intercept_
    exact = KernelRidge(kernel="precomputed", alpha=0.01)
    exact.fit(kernel[:25, :25], y[:25] - with_all.intercept_)
    np.testing.assert_allclose(found, exact.predict(kernel[30:, :25]), atol=1e-3)
    with pytest.raises(InputError, match="not negative"):
        model.fit(kernel[:30, :30], y[:30], -weights)


def test_weighted_features_give_what_their_kernel_gives():
    rng = np.random.default_rng(0)
    features, y, weights = rng.normal(size=(30, 4)), rng.normal(size=30), rng.uniform(0.1, 3, 30)
    by_features = FeatureSpectrum.of(features, weights)
    by_kernel = Spectrum.of(features @ features.T, weights)
    ridges = np.array([0.3, 2.0])
    np.testing.assert_allclose(by_features.solve(y, 0.3), by_kernel.solve(y, 0.3), atol=1e-4)
    np.testing.assert_allclose(
        by_features.loo_residuals(y, ridges), by_kernel.loo_residuals(y, ridges), atol=1e-4
    )
    np.testing.assert_allclose(by_features.kernel(), features @ features.T, atol=1e-9)
    # Leaving a point out for real.
    rest = np.arange(1, 30)
    small = KernelRidge(kernel="precomputed", alpha=0.3)
    small.fit((features @ features.T)[np.ix_(rest, rest)], y[rest], weights[rest])
    held_out = small.predict((features @ features.T)[:1, rest])
    np.testing.assert_allclose(left_out(by_features, y[:, None], 0.3)[0], held_out, atol=1e-6)
