"""Rows of test points by linear Bayes, against direct solves and a regression on drawn rows."""

import numpy as np
import pytest

from aqka.core.pairs import BlockTable
from aqka.core.plans import ShotPlan
from aqka.estimates import rows
from aqka.estimates.rows import RowPrior, RowReading
from aqka.maths.spectrum import Spectrum
from tests.conftest import make_kernel

N = 14


def noisy_kernel(deviation=0.1, seed=0):
    noise = np.random.default_rng(seed).normal(0, deviation, (N, N))
    return make_kernel(N) + (noise + noise.T) / np.sqrt(2)


def moment(prior):
    """M as a matrix."""
    return prior.times(np.eye(N))


def some_counts(seed=0, n_rows=5, most=9):
    rng = np.random.default_rng(seed)
    shots = rng.integers(0, most, (n_rows, N))
    row, col = np.nonzero(shots)
    table = BlockTable(n_rows, N)
    table.add(ShotPlan(row, col, shots[row, col]), rng.binomial(shots[row, col], 0.4))
    return table


def test_the_second_moment_is_that_of_the_training_rows():
    kernel = make_kernel(N)
    prior = RowPrior.of(Spectrum.of(kernel))
    np.testing.assert_allclose(moment(prior), kernel @ kernel / N, atol=1e-9)


def test_below_the_reach_of_the_noise_only_the_mean_square_is_believed():
    spectrum = Spectrum.of(noisy_kernel())
    prior = RowPrior.of(spectrum)
    hidden = spectrum.measured < -spectrum.measured[0]
    assert 0 < hidden.sum() < N
    assert prior.directions.shape == (N, N - hidden.sum())
    assert prior.rest == pytest.approx(np.mean(spectrum.measured[hidden] ** 2) / N)
    # The trace, which is the mean square of the training rows, is kept.
    assert np.trace(moment(prior)) == pytest.approx(np.sum(noisy_kernel() ** 2) / N)


def test_of_a_large_kernel_the_first_directions_are_kept(monkeypatch):
    monkeypatch.setattr(rows, "MOST_DIRECTIONS", 5)
    spectrum = Spectrum.of(make_kernel(N))
    prior = RowPrior.of(spectrum)
    assert prior.directions.shape == (N, 5)
    assert prior.rest == pytest.approx(np.mean(spectrum.measured[:-5] ** 2) / N)


@pytest.mark.parametrize("shots", [1, 7, 1000])
def test_at_equal_shots_it_is_the_closed_form(shots):
    """v = V diag[w²/(w² + N k̄(1-k̄)/s)] Vᵀα."""
    kernel, alpha = make_kernel(N), np.random.default_rng(1).normal(size=N)
    mean = 0.3
    w, vectors = np.linalg.eigh(kernel)
    shrunk = w**2 / (w**2 + N * mean * (1 - mean) / shots)
    expected = vectors @ (shrunk * (vectors.T @ alpha))
    prior = RowPrior.of(Spectrum.of(kernel))
    found = prior.coefficients(alpha[:, None], np.full(N, mean * (1 - mean) / shots))
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-8)


def test_at_unequal_shots_it_solves_the_normal_equations_of_what_was_measured():
    prior = RowPrior.of(Spectrum.of(noisy_kernel()))
    rng = np.random.default_rng(2)
    alpha, noise = rng.normal(size=(N, 3)), rng.uniform(0.01, 0.3, N)
    noise[[2, 5]] = np.inf
    seen = np.isfinite(noise)
    second = moment(prior)
    reference = np.zeros((N, 3))
    reference[seen] = np.linalg.solve(
        second[np.ix_(seen, seen)] + np.diag(noise[seen]), (second @ alpha)[seen]
    )
    np.testing.assert_allclose(prior.coefficients(alpha, noise), reference, atol=1e-10)


def test_no_regression_on_drawn_rows_does_better():
    """Drawn rows and noise: least squares finds v, and its error is what is foretold."""
    prior = RowPrior.of(Spectrum.of(make_kernel(N)))
    rng = np.random.default_rng(3)
    alpha, noise = rng.normal(size=N), rng.uniform(0.02, 0.2, N)
    draws = 200_000
    exact = rng.normal(size=(draws, N)) @ np.linalg.cholesky(moment(prior) + 1e-12 * np.eye(N)).T
    measured = exact + np.sqrt(noise) * rng.normal(size=(draws, N))
    f = exact @ alpha
    fitted, *_ = np.linalg.lstsq(measured, f, rcond=None)
    v = prior.coefficients(alpha[:, None], noise)[:, 0]
    residual = np.mean((measured @ fitted - f) ** 2)
    inverse = np.linalg.inv(measured.T @ measured)
    errors = np.sqrt(residual * np.diag(inverse))
    assert np.abs((fitted - v) / errors).max() < 5
    reading = RowReading(alpha[:, None], v[None, :, None], np.zeros((1, 1)), noise[None], prior)
    assert reading.variance(np.ones((1, 1)))[0] == pytest.approx(residual, rel=0.02)


def test_entries_without_shots_carry_nothing_and_many_shots_give_alpha():
    prior = RowPrior.of(Spectrum.of(noisy_kernel()))
    alpha = np.random.default_rng(4).normal(size=(N, 2))
    table = some_counts()
    reading = RowReading.linear_bayes(table, prior, alpha)
    assert not reading.coefficients[~table.seen].any()
    many = BlockTable(1, N)
    many.add(ShotPlan(np.zeros(N, int), np.arange(N), np.full(N, 10**12)), np.arange(N))
    found = RowReading.linear_bayes(many, prior, alpha).coefficients[0]
    np.testing.assert_allclose(found, alpha, rtol=1e-6)


def test_mixtures_of_outputs_are_those_of_their_coefficients():
    prior = RowPrior.of(Spectrum.of(noisy_kernel()))
    alpha = np.random.default_rng(5).normal(size=(N, 2))
    table = some_counts()
    both = RowReading.linear_bayes(table, prior, alpha)
    difference = RowReading.linear_bayes(table, prior, alpha[:, :1] - alpha[:, 1:])
    np.testing.assert_allclose(both.values[:, :1] - both.values[:, 1:], difference.values)
    contrast = np.tile([1.0, -1.0], (5, 1))
    np.testing.assert_allclose(both.variance(contrast), difference.variances()[:, 0])


def test_as_measured_is_the_plain_sum():
    alpha = np.random.default_rng(6).normal(size=(N, 1))
    table = some_counts()
    reading = RowReading.as_measured(table, alpha)
    prior = table.prior()
    np.testing.assert_allclose(reading.values, table.estimate(prior.mean) @ alpha)
    np.testing.assert_allclose(reading.variances(), prior.variances(table) @ alpha**2)
