from dataclasses import replace

import numpy as np
import pytest
from qiskit.quantum_info import Statevector, partial_trace

from aqka import InputError
from aqka.backends.statevector import zz_kernel, zz_states
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import PointPlan
from aqka.core.points import PointTable
from aqka.core.settings import choose_settings, uniform_settings
from aqka.estimates.projected import (
    distance_variances,
    expectation_covariances,
    gaussian_projected_kernel,
    linear_projected_kernel,
    median_gamma,
    squared_distances,
)
from aqka.estimates.reduced_states import (
    Operators,
    exact_reduced_states,
    given_states,
    least_shots,
    reduced_states,
    shrunk_to_signal,
)
from tests.estimates.points import measured


def qiskit_reduced(state, kept):
    n = int(np.log2(len(state)))
    return partial_trace(Statevector(state), [q for q in range(n) if q not in kept]).data


def exact_reduced(states, locality, pairs="neighbours"):
    """Reduced density matrices of all points, points × reduced states × matrix."""
    n = int(np.log2(states.shape[1]))
    groups = [(q,) for q in range(n)]
    if locality == 2:
        groups = [(q, r) for q in range(n) for r in range(q) if pairs == "all" or q == r + 1]
    return np.array([[qiskit_reduced(state, group) for group in groups] for state in states])


@pytest.mark.parametrize(("locality", "pairs"), [(1, "neighbours"), (2, "neighbours"), (2, "all")])
def test_many_shots_give_the_reduced_states_of_qiskit(locality, pairs):
    states = zz_states(np.random.default_rng(0).uniform(0, 3, size=(4, 3)))
    table = measured(states, choose_settings(3, seed=0), 27 * 4_000_000, seed=1)
    fitted = reduced_states(table, locality, pairs=pairs)
    exact = exact_reduced(states, locality, pairs)
    difference = exact[:, None] - exact[None]
    distances = np.sum(np.abs(difference) ** 2, axis=(2, 3, 4))
    np.testing.assert_allclose(squared_distances(fitted), distances, atol=3e-3)
    np.testing.assert_allclose(
        gaussian_projected_kernel(fitted, 0.7), np.exp(-0.7 * distances), atol=3e-3
    )
    linear = np.einsum("igab,jgba->ij", exact, exact).real
    np.testing.assert_allclose(linear_projected_kernel(fitted), linear, atol=3e-3)


@pytest.mark.parametrize("n_qubits", [1, 2, 3, 4])
def test_all_strings_are_the_whole_state(n_qubits):
    X = np.random.default_rng(3).uniform(0, 3, size=(5, n_qubits))
    found = exact_reduced_states(zz_states(X), locality=4)
    assert found.expectations.shape == (5, 4**n_qubits - 1)
    np.testing.assert_allclose(linear_projected_kernel(found), zz_kernel(X), atol=1e-12)


@pytest.mark.parametrize(("locality", "pairs"), [(1, "neighbours"), (2, "neighbours"), (2, "all")])
@pytest.mark.parametrize("n_qubits", [2, 4])
def test_exact_reduced_states_are_those_of_qiskit(locality, pairs, n_qubits):
    states = zz_states(np.random.default_rng(3).uniform(0, 3, size=(5, n_qubits)))
    found = exact_reduced_states(states, locality, pairs)
    exact = exact_reduced(states, locality, pairs)
    linear = np.einsum("igab,jgba->ij", exact, exact).real
    np.testing.assert_allclose(linear_projected_kernel(found), linear, atol=1e-12)
    distances = np.sum(np.abs(exact[:, None] - exact[None]) ** 2, axis=(2, 3, 4))
    np.testing.assert_allclose(squared_distances(found), distances, atol=1e-12)
    assert not found.variances.any()
    # Qubit by qubit: the first operators are X, Y and Z of single qubits.
    pauli = [[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]]
    one = exact_reduced(states, 1)
    bloch = np.einsum("iqab,pba->iqp", one, np.array(pauli)).real.reshape(5, -1)
    np.testing.assert_allclose(exact_reduced_states(states).expectations, bloch, atol=1e-12)


@pytest.mark.parametrize("locality", [1, 2])
def test_squared_distances_and_linear_kernel_have_no_shot_noise_bias(locality):
    states = zz_states(np.random.default_rng(1).uniform(0, 3, size=(3, 2)))
    exact = exact_reduced(states, locality)
    distances = np.sum(np.abs(exact[:, None] - exact[None]) ** 2, axis=(2, 3, 4))
    linear = np.einsum("igab,jgba->ij", exact, exact).real
    settings = choose_settings(2, seed=0)
    repeats = 500
    # All repetitions side by side: points 0, 1, 2 of each.
    fitted = reduced_states(measured(np.tile(states, (repeats, 1)), settings, 36, seed=2), locality)
    found, products = [], []
    whole_distances = squared_distances(fitted)
    whole_linear = linear_projected_kernel(fitted)
    for k in range(repeats):
        block = slice(3 * k, 3 * k + 3)
        found.append(whole_distances[block, block])
        products.append(whole_linear[block, block])
    for values, truth in ((np.array(found), distances), (np.array(products), linear)):
        error = values.mean(axis=0) - truth
        standard = values.std(axis=0) / np.sqrt(repeats)
        assert np.all(np.abs(error) <= 3.5 * standard + 1e-12)
    # Without the correction the bias would be plain to see.
    noise = 2 * np.mean(fitted.variances @ fitted.weights)
    assert noise > 10 * np.max(np.array(found).std(axis=0) / np.sqrt(repeats))


def test_three_settings_suffice_for_one_qubit_states_of_many_qubits():
    random = np.random.default_rng(0)
    table = PointTable(2, uniform_settings(40))
    rows = np.repeat(np.arange(6), 50)
    outcomes = random.integers(2**40, size=300)
    plan = PointPlan(np.repeat([0, 1], 3), np.tile([0, 1, 2], 2), np.full(6, 50), table.settings)
    table.add(plan, OutcomeCounts(rows, outcomes, np.ones(300, dtype=np.int64)))
    fitted = reduced_states(table)
    assert fitted.expectations.shape == (2, 120)
    bit = (outcomes[:50] >> 7) & 1  # point 0, setting X
    assert fitted.expectations[0, 3 * 7] == pytest.approx(np.mean(1 - 2 * bit))
    assert abs(squared_distances(fitted)[0, 1]) < 1.0  # twice the maximally mixed states


def test_new_points_are_compared_with_the_old_ones():
    states = zz_states(np.random.default_rng(3).uniform(0, 3, size=(5, 2)))
    settings = choose_settings(2, seed=0)
    table = measured(states, settings, 900, seed=0)
    old, new = reduced_states(table.subset([0, 1, 2])), reduced_states(table.subset([3, 4]))
    together = reduced_states(table)
    np.testing.assert_allclose(
        gaussian_projected_kernel(new, 1.0, old), gaussian_projected_kernel(together, 1.0)[3:, :3]
    )
    np.testing.assert_allclose(
        linear_projected_kernel(new, old), linear_projected_kernel(together)[3:, :3]
    )


def test_what_was_not_measured_is_named():
    table = PointTable(1, uniform_settings(2))
    plan = PointPlan([0] * 3, [0, 1, 2], [9] * 3, table.settings)
    table.add(plan, OutcomeCounts([0, 1, 2], [0] * 3, [9] * 3))
    with pytest.raises(InputError, match="X0Y1"):
        reduced_states(table, locality=2)
    with pytest.raises(InputError, match="locality must be 1 or 2"):
        reduced_states(table, locality=3)


def test_a_kernel_that_keeps_its_noise_is_positive_and_that_of_the_measured_expectations():
    states = zz_states(np.random.default_rng(3).uniform(0, 3, size=(40, 2)))
    fitted = reduced_states(measured(states, uniform_settings(2), 30, seed=0))
    kept = gaussian_projected_kernel(fitted, 1.0, keep_noise=True)
    scaled = fitted.expectations / np.sqrt(2)
    plain = np.exp(-np.sum((scaled[:, None] - scaled) ** 2, axis=2))
    np.testing.assert_allclose(kept, plain, atol=1e-12)
    assert np.linalg.eigvalsh(kept)[0] > -1e-12
    assert np.linalg.eigvalsh(gaussian_projected_kernel(fitted, 1.0))[0] < -0.1


def test_how_often_a_new_point_was_measured_does_not_scale_its_row():
    states = zz_states(np.random.default_rng(3).uniform(0, 3, size=(40, 2)))
    trained = reduced_states(measured(states, uniform_settings(2), 30, seed=0))
    noise = trained.variances @ trained.weights
    exact = reduced_states(measured(states, uniform_settings(2), 10**8, seed=1))
    often = gaussian_projected_kernel(exact, 1.0, trained, keep_noise=True)
    measured_distance = np.sum(
        (exact.expectations[:, None] - trained.expectations) ** 2 * trained.weights, axis=2
    )
    np.testing.assert_allclose(often, np.exp(-measured_distance - noise.mean()), rtol=1e-5)
    # 60 shots each: their own noise would make entries smaller by exp(-0.08) on average.
    seldom = reduced_states(measured(np.tile(states, (20, 1)), uniform_settings(2), 60, seed=2))
    ratio = gaussian_projected_kernel(seldom, 1.0, trained, keep_noise=True) / np.tile(
        often, (20, 1)
    )
    assert abs(np.mean(np.log(ratio))) < 0.02
    assert np.mean(seldom.variances @ seldom.weights) > 0.06


def test_few_shots_weigh_operators_by_their_signal_and_many_do_not():
    """Half of the operators are the same for all points, so that they hold noise alone."""
    random = np.random.default_rng(0)
    exact = np.zeros((60, 24))
    exact[:, :12] = random.uniform(-0.9, 0.9, size=(60, 12))
    means = 2 * random.binomial(10, (1 + exact) / 2) / 10 - 1
    states = replace(given_states(means, Operators.of(8)), variances=(1 - means**2) / (10 - 1))
    shrunk = shrunk_to_signal(states, shots=10)
    c = np.sqrt(shrunk.weights / states.weights)
    for k in (0, 20):
        signal = 1 - states.variances[:, k].mean() / states.expectations[:, k].var(ddof=1)
        assert c[k] == pytest.approx(max(0.0, signal))
    assert c[:12].min() > 0.4 > c[12:].max()
    truth = squared_distances(given_states(exact, states.operators))
    off = ~np.eye(60, dtype=bool)
    near = [np.corrcoef(squared_distances(s)[off], truth[off])[0, 1] for s in (states, shrunk)]
    assert near[1] > near[0]
    assert shrunk_to_signal(states, shots=30) is states
    alike = replace(given_states(np.zeros((5, 3)), Operators.of(1)), variances=np.ones((5, 3)))
    assert shrunk_to_signal(alike, shots=5) is alike


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


def test_each_operator_needs_two_shots_whichever_setting_comes_first():
    assert least_shots(np.array([[0], [1], [2]])) == 6
    assert least_shots(np.array([[0, 0], [0, 1], [1, 2], [2, 0]])) == 8


def test_operators_are_named_by_letters_and_qubits():
    assert Operators.of(2, 2).names()[4:9] == ["Y1", "Z1", "X0X1", "X0Y1", "X0Z1"]
    assert Operators.of(3, 4).names()[-1] == "Z0Z1Z2"
