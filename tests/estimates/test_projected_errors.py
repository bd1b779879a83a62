import numpy as np
import pytest

from aqka.backends.statevector import zz_states
from aqka.core.settings import choose_settings, uniform_settings
from aqka.estimates.projected import (
    distance_variances,
    expectation_covariances,
    median_gamma,
    reduced_states,
    squared_distances,
)
from tests.estimates.points import measured

REPEATS = 500


@pytest.fixture(scope="module", params=[(1, 3), (2, 9)], ids=["one-qubit", "two-qubit"])
def repeated(request):
    """Three states of two entangled qubits, all repetitions side by side."""
    locality, n_settings = request.param
    settings = uniform_settings(2) if n_settings == 3 else choose_settings(2, seed=0)
    states = zz_states(np.array([[0.4, 1.1], [0.45, 1.0], [2.0, 0.3]]))
    table = measured(np.tile(states, (REPEATS, 1)), settings, 30 * n_settings, seed=2)
    return table, reduced_states(table, locality)


def test_covariances_are_those_of_repetitions(repeated):
    table, states = repeated
    seen = states.expectations.reshape(REPEATS, 3, -1)
    stated = expectation_covariances(table, states).reshape(REPEATS, 3, *[seen.shape[2]] * 2)
    for i in range(3):
        expected = np.cov(seen[:, i].T)
        # Twice the standard error of a covariance of 500 draws, and a little.
        scale = np.sqrt(np.outer(expected.diagonal(), expected.diagonal()))
        assert np.all(np.abs(stated[:, i].mean(axis=0) - expected) <= 0.2 * scale + 1e-4)
    diagonal = np.einsum("ioo->io", expectation_covariances(table, states))
    np.testing.assert_allclose(diagonal, states.variances, atol=1e-12)


def test_variances_of_distances_are_those_of_repetitions(repeated):
    table, states = repeated
    distances, variances = squared_distances(states), distance_variances(table, states)
    blocks = [slice(3 * k, 3 * k + 3) for k in range(REPEATS)]
    found = np.array([distances[block, block] for block in blocks])
    stated = np.array([variances[block, block] for block in blocks])
    upper = np.triu_indices(3, k=1)
    seen = found.var(axis=0)[upper]
    ratio = stated.mean(axis=0)[upper] / seen
    assert np.all(
        (ratio > 0.8) & (ratio < 1.6)
    )  # near points, the first pair, are on the safe side
    assert np.all(ratio[1:] < 1.25)
    np.testing.assert_array_equal(np.diagonal(variances), 0.0)


def test_intervals_of_the_kernel_cover(repeated):
    table, states = repeated
    gamma = median_gamma(states)
    distances, variances = squared_distances(states), distance_variances(table, states)
    exact_table = measured(
        zz_states(np.array([[0.4, 1.1], [0.45, 1.0], [2.0, 0.3]])), table.settings, 4_000_000, 0
    )
    exact = np.exp(
        -gamma * squared_distances(reduced_states(exact_table, states.operators.locality))
    )
    reach = 1.96 * np.sqrt(variances)
    low, high = (np.exp(-gamma * (distances + side * reach)) for side in (1, -1))
    covered = []
    for k in range(REPEATS):
        block = slice(3 * k, 3 * k + 3)
        inside = (low[block, block] <= exact) & (exact <= high[block, block])
        covered.append(inside[np.triu_indices(3, k=1)])
    # 0.95 with a standard error of 0.01, more for near points.
    assert np.all(np.mean(covered, axis=0) > 0.91)
    assert np.mean(covered) < 0.98


def test_gamma_makes_half_of_the_entries_larger_than_one_over_e(repeated):
    _, states = repeated
    distances = squared_distances(states)[np.triu_indices(len(states.expectations), k=1)]
    entries = np.exp(-median_gamma(states) * distances)
    assert np.mean(entries > np.exp(-1)) == pytest.approx(0.5, abs=0.01)
