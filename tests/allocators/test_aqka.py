"""AQKA by estimated or true sensitivities, filled or drawn."""

import numpy as np
import pytest

from aqka import InputError, MatrixBackend, Problem, acquire
from aqka.allocators import make_allocator
from aqka.allocators.aqka import Aqka
from aqka.allocators.baselines import Shofar
from aqka.allocators.targets import raise_to_floor
from aqka.maths.sensitivity import krr_gradient
from aqka.maths.spectrum import EIGENVALUE_FLOOR, Spectrum, project_psd
from tests.allocators.tables import measured_table
from tests.conftest import make_kernel, make_labels


@pytest.mark.parametrize("reading", ["paper", "fair"])
def test_aqka_fills_toward_the_printed_formula(reading):
    kernel, y = make_kernel(9), make_labels(9)
    problem = Problem(y, ridge=0.2, reading=reading)
    table = measured_table(problem, kernel)
    # Straight from the paper, with a plain solver instead of the shared decomposition.
    k_hat = project_psd(problem.reading.kernel(table))
    inverse = np.linalg.inv(k_hat + 0.2 * np.eye(9))
    alpha, beta = inverse @ y, inverse @ inverse @ y
    g = np.abs(np.outer(beta, alpha) + np.outer(alpha, beta))
    g[np.diag_indices(9)] /= 2
    g = table.condense(g)
    score = np.maximum(g, 0.05 * g.max()) * problem.reading.deviation(table)
    shots = 100_000
    target = (table.total + shots) * score / score.sum()
    deficit = np.maximum(0, target - table.shots)
    expected = deficit * shots / deficit.sum()
    plan = make_allocator("aqka").ask(table, problem, shots, np.random.default_rng(0)).shots
    assert np.abs(plan - expected).max() < 1 + 1e-6


def test_the_papers_defaults():
    assert Aqka().floor == 0.05
    assert Shofar().threshold == 0.05
    assert EIGENVALUE_FLOOR == 1e-6


@pytest.mark.parametrize(
    ("ridge", "scale"), [(1e-200, 1.0), (1e200, 1.0), (0.1, 1e-200), (0.1, 1e200)]
)
def test_targets_do_not_depend_on_scale(ridge, scale):
    targets = np.array([0.3, -1.0, 2.0, 0.5, -0.7, 1.1])
    problem = Problem(scale * targets, ridge=ridge)
    table = measured_table(problem, make_kernel(6))
    score = make_allocator("aqka").score(table, problem)
    assert np.all(np.isfinite(score))
    assert score.std() > 0.01 * score.mean()  # not silently uniform


def test_oracle_follows_the_true_kernel_whatever_was_measured():
    kernel, y = 0.9 * make_kernel(9), make_labels(9)
    problem = Problem(y, ridge=0.2, true_kernel=kernel)
    first = make_allocator("aqka-oracle").score(measured_table(problem, kernel, seed=1), problem)
    second = make_allocator("aqka-oracle").score(measured_table(problem, kernel, seed=2), problem)
    assert np.array_equal(first, second)
    spectrum = Spectrum.of(kernel)
    alpha = spectrum.solve(y, 0.2)
    gradient = krr_gradient(alpha, spectrum.solve(alpha, 0.2), 0.2)
    table = problem.new_table()
    k = table.condense(kernel)
    expected = raise_to_floor(table.condense(gradient)) * np.sqrt(k * (1 - k))
    np.testing.assert_allclose(first / first.sum(), expected / expected.sum())


@pytest.mark.parametrize("name", ["aqka-oracle", "multinomial-oracle"])
def test_oracle_without_the_true_kernel_says_so(name):
    with pytest.raises(InputError, match="true_kernel is needed"):
        acquire(MatrixBackend(make_kernel(6)), make_labels(6), 100, name)


def test_multinomial_draws_from_the_score_of_aqka():
    kernel, y = make_kernel(9), make_labels(9)
    problem = Problem(y, ridge=0.2)
    table = measured_table(problem, kernel)
    score = make_allocator("aqka").score(table, problem)
    shots = make_allocator("multinomial").ask(table, problem, 10**6, np.random.default_rng(0)).shots
    expected = 10**6 * score / score.sum()
    chi_square = np.sum((shots - expected) ** 2 / expected)
    assert abs(chi_square - (table.n_pairs - 1)) < 5 * np.sqrt(2 * table.n_pairs)
