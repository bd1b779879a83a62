import numpy as np
import pytest

from aqka.core.plans import Landmarks
from aqka.maths.spectrum import (
    EIGENVALUE_FLOOR,
    FeatureSpectrum,
    Spectrum,
    project_psd,
    reconstruct,
)
from aqka.maths.state_features import expectations, overlap_kernel, state_features
from aqka_research.benchmarks.many_points import observable
from tests.conftest import make_noisy_kernel


def test_projection_is_the_nearest_positive_matrix():
    noisy = make_noisy_kernel(shots=1)
    projected = project_psd(noisy)
    values, vectors = np.linalg.eigh(noisy)
    assert values.min() < -0.1
    expected = (vectors * np.maximum(values, EIGENVALUE_FLOOR)) @ vectors.T
    np.testing.assert_allclose(projected, expected, atol=1e-12)
    assert np.linalg.eigvalsh(projected).min() >= EIGENVALUE_FLOOR * (1 - 1e-6)
    # Nearest in Frobenius norm: the distance is the norm of what was cut off.
    cut = np.linalg.norm(np.minimum(values - EIGENVALUE_FLOOR, 0))
    assert np.linalg.norm(projected - noisy) == pytest.approx(cut)


def test_solves_inverses_and_leverages_are_those_of_the_projected_kernel():
    spectrum, ridge = Spectrum.of(make_noisy_kernel()), 0.3
    system = spectrum.kernel() + ridge * np.eye(20)
    inverse = np.linalg.inv(system)
    several = np.random.default_rng(0).normal(size=(20, 3))
    np.testing.assert_allclose(spectrum.inverse(ridge), inverse, atol=1e-10)
    np.testing.assert_allclose(spectrum.solve(several, ridge), inverse @ several, atol=1e-10)
    np.testing.assert_allclose(spectrum.solve(several[:, 0], ridge), inverse @ several[:, 0])
    expected = (spectrum.kernel() @ inverse).diagonal()
    np.testing.assert_allclose(spectrum.leverage(ridge), expected, atol=1e-10)


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


@pytest.mark.parametrize("keep_block", [False, True])
def test_nystrom_formula(keep_block):
    kernel, points = make_noisy_kernel(), np.array([3, 11, 7])
    full = reconstruct(kernel, Landmarks(points, keep_block), ridge=0.1)
    inverse = np.linalg.inv(kernel[np.ix_(points, points)] + 0.1 * np.eye(3))
    expected = np.clip(kernel[:, points] @ inverse @ kernel[points], 0, 1)
    if keep_block:
        expected[:, points] = kernel[:, points]
        expected[points] = kernel[points]
    np.testing.assert_allclose(full, expected, atol=1e-12)
    np.testing.assert_allclose(full, full.T)


def test_nystrom_recovers_a_low_rank_kernel_from_few_rows():
    features = np.random.default_rng(0).normal(size=(30, 3))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    kernel = (features @ features.T) ** 2  # rank 6
    landmarks = Landmarks(np.arange(8), keep_block=False)
    np.testing.assert_allclose(reconstruct(kernel, landmarks, 1e-9), kernel, atol=1e-5)


def test_nystrom_of_a_singular_block_stays_a_kernel():
    kernel = np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 0.5], [0.5, 0.5, 0.0]])
    full = reconstruct(kernel, Landmarks(np.array([0, 1]), keep_block=False), ridge=1.0)
    assert np.all((full >= 0) & (full <= 1))
