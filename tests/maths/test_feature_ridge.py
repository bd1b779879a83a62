import numpy as np
import pytest

from aqka.maths.feature_ridge import FeatureSpectrum
from aqka.maths.state_features import expectations, observable, overlap_kernel, state_features

RIDGES = np.array([0.03, 1.0, 20.0])


@pytest.fixture(params=[12, 60], ids=["fewer points than features", "more points than features"])
def problem(request):
    random = np.random.default_rng(0)
    features = random.normal(size=(request.param, 16))
    return features, features @ features.T, random.normal(size=request.param), random


def test_predictions_are_those_of_kernel_ridge_regression(problem):
    features, kernel, y, random = problem
    new = random.normal(size=(5, 16))
    spectrum = FeatureSpectrum.of(features)
    for ridge in RIDGES:
        alpha = np.linalg.solve(kernel + ridge * np.eye(len(y)), y)
        np.testing.assert_allclose(
            new @ spectrum.weights(y, ridge), new @ features.T @ alpha, rtol=1e-8
        )
        np.testing.assert_allclose(spectrum.solve(y, ridge), alpha, rtol=1e-8, atol=1e-10)


def test_leave_one_out_residuals_are_those_of_refits(problem):
    features, kernel, y, _ = problem
    residuals = FeatureSpectrum.of(features).loo_residuals(y, RIDGES)
    for column, ridge in zip(residuals.T, RIDGES, strict=True):
        for i in (0, 5):
            rest = np.delete(np.arange(len(y)), i)
            inner = kernel[np.ix_(rest, rest)] + ridge * np.eye(len(rest))
            prediction = kernel[i, rest] @ np.linalg.solve(inner, y[rest])
            assert column[i] == pytest.approx(y[i] - prediction, rel=1e-7)


def random_states(rank, n_points, dimension, seed=0):
    random = np.random.default_rng(seed)
    shape = (rank, n_points, dimension)
    vectors = random.normal(size=shape) + 1j * random.normal(size=shape)
    return vectors / np.sqrt(np.sum(np.abs(vectors) ** 2, axis=(0, 2), keepdims=True))


@pytest.mark.parametrize("rank", [1, 3])
def test_features_give_the_kernel_and_one_matrix_predicts(rank):
    states = random_states(rank, 6, 8)
    densities = np.einsum("kid,kie->ide", states, states.conj())
    exact = np.einsum("iab,jba->ij", densities, densities).real
    features = state_features(states)
    assert features.shape == (6, 64)
    np.testing.assert_allclose(features @ features.T, exact, atol=1e-13)
    np.testing.assert_allclose(overlap_kernel(states), exact, atol=1e-13)
    weights = np.random.default_rng(1).normal(size=64)
    operator = observable(weights)
    np.testing.assert_allclose(operator, operator.conj().T)
    np.testing.assert_allclose(expectations(operator, states), features @ weights, atol=1e-12)
