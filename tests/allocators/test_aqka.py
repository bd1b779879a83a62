import numpy as np
import pytest

from aqka import Problem
from aqka.allocators import make_allocator
from aqka.allocators.aqka import Aqka
from aqka.allocators.baselines import Shofar
from aqka.maths.spectrum import EIGENVALUE_FLOOR, project_psd
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
