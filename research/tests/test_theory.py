"""Bounds hold and ratios are what they say, on problems where both sides can be computed."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from aqka.core import PairTable
from aqka.maths.sensitivity import cauchy_schwarz_ratio, krr_gradient, solve_dual
from aqka.maths.spectrum import Spectrum, project_psd
from aqka_research.benchmarks.agreement import independent_svm_dual, ridge_parts, small_problem
from aqka_research.theory import (
    delta_variance,
    derivative_bound,
    expected_unseen,
    geometric_difference,
    krr_gauss_newton,
    krr_remainder,
    krr_squared_gradient,
    lipschitz_constant,
    planted_ceiling,
    planted_support_size,
    plug_in_bound,
    plug_in_multiplier,
    remainder_bound,
    squared_gradient_bound,
    svm_ceiling,
    svm_variance_weights,
    training_loss,
    variance_weights,
    warmup_concentration,
)
from tests.conftest import make_kernel, make_labels


def weights_of(kernel, y, ridge, table):
    alpha, beta, _ = ridge_parts(kernel, y, ridge)
    gradient = table.condense(krr_gradient(alpha, beta, ridge))
    return variance_weights(gradient, np.clip(table.condense(kernel), 0, 1))


def test_training_loss_is_the_residual_of_the_fit():
    kernel, y, ridge = small_problem()
    alpha = np.linalg.solve(kernel + ridge * np.eye(8), y)
    assert training_loss(kernel, y, ridge) == pytest.approx(np.sum((y - kernel @ alpha) ** 2))


@given(seed=st.integers(0, 50), ridge=st.sampled_from([0.01, 0.3, 3.0]))
def test_lemma_1_bounds(seed, ridge):
    kernel, y = make_kernel(7, seed), make_labels(7)
    alpha, beta, inverse = ridge_parts(kernel, y, ridge)
    gauss_newton = krr_gauss_newton(alpha, inverse, ridge)
    assert np.all(gauss_newton >= 0)
    remainder = krr_remainder(alpha, beta, inverse, ridge)
    assert np.all(np.abs(remainder) <= remainder_bound(alpha, y, ridge) * (1 + 1e-9))
    proxy = krr_squared_gradient(alpha, beta)
    np.testing.assert_allclose(proxy, krr_gradient(alpha, beta, ridge) ** 2 / (4 * ridge**4))
    off = ~np.eye(7, dtype=bool)
    bound = squared_gradient_bound(gauss_newton, alpha, ridge)
    assert np.all(proxy[off] <= bound[off] * (1 + 1e-9))


def test_sensitivities_vanish_where_both_coefficients_do():
    kernel = make_kernel(6)
    c = np.array([1.0, -2.0, 0, 0, 0, 0])
    alpha, beta, inverse = ridge_parts(kernel, (kernel + 0.1 * np.eye(6)) @ c, 0.1)
    np.testing.assert_allclose(alpha, c, atol=1e-9)
    for matrix in (
        krr_gradient(alpha, beta, 0.1),
        krr_gauss_newton(alpha, inverse, 0.1),
        krr_remainder(alpha, beta, inverse, 0.1),
    ):
        np.testing.assert_allclose(matrix[2:, 2:], 0, atol=1e-7)
        assert np.abs(matrix[0, 2:]).min() > 1e-4  # the strip, not only the block


@given(n=st.integers(1, 40), data=st.data())
def test_planted_support_size_counts_the_strip(n, data):
    m = data.draw(st.integers(1, n))
    anchor = np.arange(n) < m
    pairs = itertools.combinations_with_replacement(range(n), 2)
    assert planted_support_size(n, m) == sum(anchor[i] or anchor[j] for i, j in pairs)
    assert planted_ceiling(n, m) <= 2 * m / (n + 1) + 1e-12


@pytest.mark.parametrize("m", [1, 3, 8])
def test_planted_problems_stay_below_their_ceiling(m):
    n = 30
    kernel = 0.9 * make_kernel(n)
    c = np.zeros(n)
    c[:m] = np.random.default_rng(m).normal(size=m)
    table = PairTable(n, "measured")
    a = weights_of(kernel, (kernel + 0.1 * np.eye(n)) @ c, 0.1, table)
    assert np.count_nonzero(a > a.max() * 1e-12) == planted_support_size(n, m)
    assert cauchy_schwarz_ratio(a) <= planted_ceiling(n, m)


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=30))
def test_rho_is_one_only_for_equal_weights(values):
    a = np.array(values)
    assert cauchy_schwarz_ratio(a) <= 1 + 1e-12
    assert cauchy_schwarz_ratio(np.full_like(a, 3.0)) == pytest.approx(1)


def test_delta_variance_counts_only_pairs_that_matter():
    assert delta_variance(np.array([4.0, 0.0]), np.array([2, 0])) == 2.0
    assert delta_variance(np.array([4.0, 1.0]), np.array([2, 0])) == np.inf


def test_svm_dual_agrees_with_a_general_optimiser_and_its_ceiling_holds():
    kernel, y, _ = small_problem(12)
    solution = solve_dual(kernel, y, 1.5)
    np.testing.assert_allclose(solution.dual, independent_svm_dual(kernel, y, 1.5), atol=1e-4)
    free = (solution.dual > 1e-6) & (solution.dual < 1.5 - 1e-6)
    assert free.any()  # not only bound support vectors: the case the theorem is about
    support = np.count_nonzero(solution.dual > 1e-9)
    a = svm_variance_weights(solution.dual, kernel)
    assert cauchy_schwarz_ratio(a) <= svm_ceiling(12, support)


def test_the_svm_of_a_kernel_of_very_low_rank_is_found_in_bounded_steps():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(300, 4))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    kernel = project_psd(features @ features.T)
    y = np.where(rng.random(300) < 0.33, 1.0, -1.0)
    found = solve_dual(kernel, y, 5.0)
    signed = found.dual * y
    norm = signed @ kernel @ signed
    hinge = np.maximum(0, 1 - y * (kernel @ signed + found.intercept)).sum()
    primal, dual = norm / 2 + 5.0 * hinge, found.dual.sum() - norm / 2
    assert 0 <= primal - dual < 1e-3 * dual


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_stay_below_their_bound(order):
    kernel, y, ridge = small_problem(5)
    rng = np.random.default_rng(order)
    for _ in range(20):
        i, j = rng.integers(0, 5, size=2)
        direction = np.zeros((5, 5))
        direction[i, j] = direction[j, i] = 1.0
        # Derivatives along one pair, from a polynomial through 9 points of the loss.
        steps = np.linspace(-0.02, 0.02, 9)
        losses = [training_loss(kernel + s * direction, y, ridge) for s in steps]
        fit = np.polynomial.Polynomial.fit(steps, losses, 8)
        assert abs(fit.deriv(order)(0.0)) <= derivative_bound(order, y, ridge)


@given(seed=st.integers(0, 60))
def test_weights_are_lipschitz_and_the_plug_in_bound_holds(seed):
    y, ridge, n = make_labels(4), 1.0, 4
    rng = np.random.default_rng(seed)
    kernel = 0.2 + 0.6 * make_kernel(n, seed)
    noise = rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-7, -2)
    other = project_psd(kernel + noise + noise.T)
    table = PairTable(n)
    a, a_hat = (weights_of(k, y, ridge, table) for k in (kernel, other))
    distance = float(np.linalg.norm(other - kernel, 2))
    constant = lipschitz_constant(y, ridge)
    assert np.abs(a - a_hat).max() <= constant * distance
    multiplier = plug_in_multiplier(a, a_hat)
    assert 1 - 1e-12 <= multiplier <= plug_in_bound(a, constant, distance)


def test_the_plug_in_bound_says_something_close_to_the_kernel():
    y, table = make_labels(4), PairTable(4)
    kernel = 0.2 + 0.6 * make_kernel(4)
    other = kernel + 1e-8 * (1 - np.eye(4))
    a, a_hat = (weights_of(k, y, 1.0, table) for k in (kernel, other))
    bound = plug_in_bound(a, lipschitz_constant(y, 1.0), float(np.linalg.norm(other - kernel, 2)))
    assert 1 - 1e-12 <= plug_in_multiplier(a, a_hat) <= bound < 1.1


def test_the_plug_in_bound_is_finite_near_and_infinite_far():
    a = np.array([1.0, 2.0])
    assert plug_in_bound(a, 1.0, 0.01) == pytest.approx(1.01**2)
    assert plug_in_bound(a, 1.0, 0.6) == np.inf


def test_warm_up_concentration_bounds_the_mean_distance():
    kernel = 0.5 + 0.4 * make_kernel(15)
    rng = np.random.default_rng(0)
    table = PairTable(15, "measured")
    k = table.condense(np.clip(kernel, 0, 1))
    for shots in (1, 10, 100):
        distances = [
            np.linalg.norm(table.square(rng.binomial(shots, k) / shots - k), 2) for _ in range(50)
        ]
        assert np.mean(distances) <= warmup_concentration(15, shots)
        assert np.mean(distances) >= 0.1 * warmup_concentration(15, shots)  # not vacuous


def test_projection_at_most_doubles_the_distance():
    rng = np.random.default_rng(0)
    for _ in range(50):
        kernel = make_kernel(8, int(rng.integers(100)))
        noise = rng.normal(size=(8, 8))
        noisy = kernel + noise + noise.T
        raw = np.linalg.norm(noisy - kernel, 2)
        assert np.linalg.norm(project_psd(noisy) - kernel, 2) <= 2 * raw + 1e-6


def exact_remainder(kernel, y, ridge, shots):
    """E[L(K-hat)] - L(K) - ½ Σ H K(1-K)/s for three points, by summing over all outcomes."""
    alpha, beta, inverse = ridge_parts(kernel, y, ridge)
    table = PairTable(3)
    hessian = krr_gauss_newton(alpha, inverse, ridge) + krr_remainder(alpha, beta, inverse, ridge)
    k = table.condense(kernel)
    leading = 0.5 * np.sum(table.condense(hessian) * k * (1 - k) / shots)
    counts = np.arange(shots + 1)
    mass = [binom.pmf(counts, shots, p) for p in k]
    a, b, c = np.meshgrid(*(counts / shots,) * 3, indexing="ij")
    matrices = np.zeros((*a.shape, 3, 3)) + (1 + ridge) * np.eye(3)
    for (i, j), values in zip(((0, 1), (0, 2), (1, 2)), (a, b, c), strict=True):
        matrices[..., i, j] = matrices[..., j, i] = values
    alphas = np.linalg.solve(matrices, np.broadcast_to(y[:, None], (*a.shape, 3, 1)))[..., 0]
    losses = ridge**2 * np.sum(alphas**2, axis=-1)
    expected = np.einsum("i,j,k,ijk->", *mass, losses)
    return float(expected - training_loss(kernel, y, ridge) - leading)


def test_the_higher_order_bias_scales_as_predicted():
    kernel = np.array([[1.0, 0.4, 0.2], [0.4, 1.0, 0.3], [0.2, 0.3, 1.0]])
    y, ridge = np.array([1.0, -1.0, 1.0]), 1.0
    few, many = (exact_remainder(kernel, y, ridge, s) for s in (40, 80))
    scales = [(3 / s) ** 2 / ridge**4 for s in (40, 80)]  # λ^-4 (Σ 1/s_p)², Props. 2 and 3
    # Both fall by 4 when the shots double (Prop. 3: B^-2).
    assert scales[0] / scales[1] == pytest.approx(4)
    assert few / many == pytest.approx(4, rel=0.1)
    assert abs(few) <= scales[0]


def test_expected_unseen_is_what_uniform_draws_leave():
    rng = np.random.default_rng(0)
    left = [500 - len(np.unique(rng.integers(0, 500, 800))) for _ in range(400)]
    # 400 repetitions of a count with sd below 10: standard error below 0.5.
    assert abs(np.mean(left) - expected_unseen(500, 800)) < 2.5


def test_geometric_difference_of_a_kernel_with_itself_is_one():
    kernel = make_kernel(6)
    assert geometric_difference(kernel, kernel) == pytest.approx(1, abs=1e-4)
    spectrum = Spectrum.of(kernel)
    assert geometric_difference(4 * spectrum.kernel(), kernel) == pytest.approx(2, abs=1e-4)
