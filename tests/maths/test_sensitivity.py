"""The variance that each point adds, against finite differences and against refitted states."""

import numpy as np
import pytest

from aqka.backends.statevector import zz_states
from aqka.core.settings import choose_settings
from aqka.estimates.states import fit_states
from aqka.maths.product_bases import ProductBases
from aqka.maths.sensitivity import loss_variances, prediction_variances
from aqka.maths.spectrum import Spectrum
from aqka.maths.state_errors import tangent_roots
from tests.estimates.points import measured

RIDGE = 0.3
STEP = 1e-5


@pytest.fixture
def problem():
    random = np.random.default_rng(0)
    states = zz_states(random.uniform(0, 2, size=(6, 2)))
    settings = choose_settings(2, seed=0)
    roots = tangent_roots(ProductBases(settings), states, np.full((6, 9), 1 / 9))
    return states, roots, random.normal(size=(6, 2)), settings


def fidelities(left, right):
    return np.abs(left @ right.conj().T) ** 2


def coefficients(states, y):
    return np.linalg.solve(fidelities(states, states) + RIDGE * np.eye(len(states)), y)


def loss(states, y):
    return np.sum(coefficients(states, y) ** 2, axis=0)  # λ²‖α‖² of each output, over λ²


def predictions(states, y, fixed):
    return fidelities(fixed, states) @ coefficients(states, y)


def slopes(function, states, roots, i):
    """Numerical derivatives along each column of the root of point i."""
    found = []
    for column in roots[i].T:
        delta = column[:4] + 1j * column[4:]
        ends = []
        for sign in (1, -1):
            moved = states.copy()
            moved[i] += sign * STEP * delta
            moved[i] /= np.linalg.norm(moved[i])
            ends.append(function(moved))
        found.append((ends[0] - ends[1]) / (2 * STEP))
    return np.array(found)


def test_the_loss_moves_as_finite_differences_say(problem):
    states, roots, y, _ = problem
    spectrum = Spectrum.of(fidelities(states, states))
    alpha = spectrum.solve(y, RIDGE)
    found = loss_variances(states, roots, alpha, spectrum.solve(alpha, RIDGE))
    for i in range(6):
        expected = np.sum(slopes(lambda s: loss(s, y), states, roots, i) ** 2, axis=0)
        np.testing.assert_allclose(found[i], expected, rtol=1e-4)


def test_the_predictions_move_as_finite_differences_say(problem):
    states, roots, y, _ = problem
    spectrum = Spectrum.of(fidelities(states, states))
    found = prediction_variances(states, roots, spectrum, spectrum.solve(y, RIDGE), RIDGE)
    for i in range(6):
        moved = slopes(lambda s: predictions(s, y, states), states, roots, i)
        np.testing.assert_allclose(found[i], np.mean(np.sum(moved**2, axis=0), axis=0), rtol=1e-3)


def test_the_sum_over_points_is_the_variance_of_refitted_losses(problem):
    states, roots, y, settings = problem
    spectrum = Spectrum.of(fidelities(states, states))
    alpha = spectrum.solve(y, RIDGE)
    v = loss_variances(states, roots, alpha, spectrum.solve(alpha, RIDGE))
    shots, draws = 9000, 400
    table = measured(np.tile(states, (draws, 1)), settings, shots, seed=1)
    fitted = fit_states(table).vectors[0].reshape(draws, 6, 4)
    seen = np.var([loss(one, y) for one in fitted], axis=0)
    # A variance of 400 draws has a standard error of 7 %.
    np.testing.assert_allclose(seen, v.sum(axis=0) / shots, rtol=0.25)
