"""The Gaussian process on gate angles, against scikit-learn's and finite differences."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from aqka.backends.statevector import fidelities, phase_states, zz_states
from aqka.maths import angle_prior
from aqka.maths.angle_prior import (
    WIDTH_SPREAD,
    AngleKernel,
    AnglePrior,
    Basis,
    WidthObjective,
    as_correlation,
    lead,
    slowest,
)


def zz_angles(X):
    return np.hstack([2 * X, 2 * (np.pi - X[:, :-1]) * (np.pi - X[:, 1:])])


@pytest.fixture
def points(rng):
    return rng.uniform(0, 1.5, (25, 3))


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def test_the_kernel_is_its_formula(points):
    angles = zz_angles(points)
    widths, scales = np.linspace(0.5, 2, 5), np.linspace(0.3, 1, 5)
    apart = 4 * np.sin((angles[:, None] - angles[None]) / 2) ** 2
    by_hand = np.exp(-0.5 * np.sum(apart / (scales * widths**2), axis=2))
    assert np.allclose(AngleKernel(widths, scales)(angles), by_hand)
    assert np.allclose(WidthObjective(angles, np.eye(25), 8).scales, apart.mean(axis=(0, 1)) / 2)


@pytest.mark.parametrize("periodic", [True, False])
def test_the_gradient_is_that_of_finite_differences(points, rng, periodic):
    objective = WidthObjective(zz_angles(points), fidelities(zz_states(points)), 8, periodic)
    for _ in range(3):
        theta = rng.normal(0, 0.5, 7)
        numeric = approx_fprime(theta, lambda at: objective(at)[0], 1e-6)
        assert np.allclose(objective(theta)[1], numeric, atol=2e-5)


def test_the_objective_is_the_evidence_of_a_multi_output_process(points, rng):
    """Outputs whose mean second moment is K̂; scikit-learn and scipy compute their evidence."""
    angles, outputs = zz_angles(points), 8
    raw = rng.normal(size=(25, outputs))
    raw *= np.sqrt(outputs) / np.linalg.norm(raw, axis=1)[:, None]  # a unit diagonal of the mean
    objective = WidthObjective(angles, raw @ raw.T / outputs, outputs)
    theta = np.append(rng.normal(0.8, 0.3, 5), [np.log(0.7), np.log(0.2)])
    spread = 0.5 * np.sum(((theta[:5] - objective.centre) / WIDTH_SPREAD) ** 2)
    found = objective(theta)[0] * 0.5 * outputs * 25 - spread
    kernel = AngleKernel(np.exp(theta[:5]), objective.scales)
    covariance = 0.7 * kernel(angles) + 1 + 0.2 * np.eye(25)
    constant = 0.5 * outputs * 25 * np.log(2 * np.pi)
    direct = -np.sum([multivariate_normal(cov=covariance).logpdf(z) for z in raw.T])
    assert found == pytest.approx(direct - constant)
    # The same k is an RBF of scikit-learn's on cosines and sines, each in units of its width.
    places = np.hstack([np.cos(angles), np.sin(angles)])
    length = np.tile(np.sqrt(objective.scales) * np.exp(theta[:5]), 2)
    process = GaussianProcessRegressor(
        ConstantKernel(0.7) * RBF(length) + ConstantKernel(1.0) + WhiteKernel(0.2), optimizer=None
    ).fit(places, raw)
    assert found == pytest.approx(-process.log_marginal_likelihood_value_ - constant)


def test_mean_deviation_and_evidence_are_those_of_scikit_learn(rng):
    points = rng.uniform(0.7, 1.2, (40, 3))  # close enough that noise can be told from signal
    angles, new = zz_angles(points), zz_angles(rng.uniform(0.7, 1.2, (9, 3)))
    values = np.stack([np.sin(2 * points[:, 0]), np.cos(points.sum(axis=1))], axis=1)
    values += 0.2 * rng.normal(size=values.shape)
    prior = AnglePrior.fit(angles, fidelities(zz_states(points)), values, 8)
    mean, deviation = prior.predict(new)
    places = [np.hstack([np.cos(a), np.sin(a)]) for a in (angles, new)]
    length = np.tile(np.sqrt(prior.kernel.scales) * prior.kernel.widths, 2)
    for k, (amplitude, ratio) in enumerate(zip(prior.amplitudes, prior.ratios, strict=True)):
        fixed = ConstantKernel(amplitude) * RBF(length)
        process = GaussianProcessRegressor(fixed, alpha=amplitude * ratio, optimizer=None)
        found = process.fit(places[0], values[:, k]).predict(places[1], return_std=True)
        assert np.allclose(mean[:, k], found[0], atol=1e-5)
        assert np.allclose(deviation[:, k], found[1], atol=1e-4)
        best = process.log_marginal_likelihood_value_
        for a, r in ((1.2, 1), (0.8, 1), (1, 1.5), (1, 0.7)):
            other = GaussianProcessRegressor(
                ConstantKernel(a * amplitude) * RBF(length),
                alpha=a * amplitude * r * ratio,
                optimizer=None,
            ).fit(places[0], values[:, k])
            assert other.log_marginal_likelihood_value_ < best


def test_widths_tell_an_angle_that_matters_from_one_that_does_not(rng):
    """A map of two features; a third angle that no gate has gets a long width."""
    X = rng.uniform(0, 1.5, (40, 3))
    kernel = fidelities(phase_states(X[:, :2], 2, 0))
    objective = WidthObjective(2 * X, kernel, 4)
    widths = objective.minimise().widths
    assert widths[2] > 3 * widths[:2].max()
    assert np.array_equal(objective.minimise().widths, widths)


def test_a_decision_function_is_covered_and_settled_points_are_right(rng):
    """f = Tr ρA of a random observable A: nine in ten within 1.645 sd, few settled ones wrong."""
    X = rng.uniform(0.5, 1.2, (260, 3))
    states, kernel = zz_states(X), fidelities(zz_states(X[:60]))
    raw = rng.normal(size=(8, 8, 2)) @ [1, 1j]
    f = np.einsum("ia,ab,ib->i", states.conj(), raw + raw.conj().T, states).real
    f -= np.median(f)
    angles = zz_angles(X)
    prior = AnglePrior.fit(angles[:60], kernel, f[:60], 8)
    mean, deviation = prior.predict(angles[60:])
    assert np.mean(np.abs(mean[:, 0] - f[60:]) < 1.645 * deviation[:, 0]) > 0.85
    sure = lead(mean, deviation) > 1.645
    assert np.mean(sure) > 0.5
    assert np.mean((mean[sure, 0] > 0) != (f[60:][sure] > 0)) < 0.05


def test_many_points_are_regressed_on_some_of_them(monkeypatch, points):
    """The deterministic training conditional of Quiñonero-Candela and Rasmussen (2005), Eq. 20."""
    monkeypatch.setattr(angle_prior, "INDUCING_POINTS", 12)
    angles, values = zz_angles(points), np.sin(points.sum(axis=1))
    prior = AnglePrior.fit(angles, fidelities(zz_states(points)), values, 8)
    mean, deviation = prior.predict(angles + 0.1)
    inducing = prior.angles[angle_prior.spread_evenly(25, 12)]
    uu, uf, us = (prior.kernel(inducing, other) for other in (inducing, angles, angles + 0.1))
    amplitude, noise = prior.amplitudes[0], prior.amplitudes[0] * prior.ratios[0]
    inner = np.linalg.inv(amplitude * uu + amplitude**2 * uf @ uf.T / noise)
    along = amplitude * us.T @ inner @ (amplitude * us)
    left = amplitude - amplitude * us.T @ np.linalg.solve(uu, us) + along
    assert np.allclose(mean[:, 0], amplitude * us.T @ inner @ (amplitude * uf) @ values / noise)
    assert np.allclose(deviation[:, 0] ** 2, left.diagonal(), atol=1e-6)


def test_far_from_every_point_nothing_is_known(points):
    angles = zz_angles(points)
    prior = AnglePrior.fit(angles, fidelities(zz_states(points)), np.ones(25), 8)
    basis = Basis(AngleKernel(np.full(5, 0.05), prior.kernel.scales), angles)
    assert np.abs(basis.place(angles + 2.0)).max() < 1e-6
    narrow = AnglePrior(
        basis.kernel, prior.columns, angles, np.ones((25, 1)), np.array([4.0]), np.array([0.1])
    )
    mean, deviation = narrow.predict(angles + 2.0)
    assert np.allclose(mean, 0)
    assert np.allclose(deviation, 2.0)


def test_several_classes_are_settled_by_the_lead_over_each_other():
    mean = np.array([[0.9, 0.1, -0.5], [0.9, 0.1, 0.6]])
    deviation = np.array([[0.2, 0.2, 0.2], [0.2, 0.2, 0.1]])
    assert np.allclose(lead(mean, deviation), [2.0, 1.0])


def test_of_parallel_angles_the_slowest_is_kept(points):
    x = points[:, 0]
    columns = np.stack([4 * x, np.full(25, 3.0), 1 - 2 * x, x * points[:, 1]], axis=1)
    assert slowest(columns).tolist() == [2, 3]
    assert slowest(np.ones((5, 2))).tolist() == [0]  # nothing varies: one column stays


def test_a_kernel_with_negative_eigenvalues_is_projected(rng):
    noisy = np.eye(12) + 0.3 * rng.normal(size=(12, 12))
    found = as_correlation(noisy + noisy.T)
    assert np.allclose(found.diagonal(), 1)
    assert np.linalg.eigvalsh(found).min() > -1e-12
