"""Readout errors: found by a calibration, explained by the likelihood, followed by the errors."""

from functools import reduce

import numpy as np
import pytest
from scipy.optimize import minimize

from aqka import InputError
from aqka.backends.statevector import zz_kernel, zz_states
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import even_plan
from aqka.core.points import PointTable
from aqka.core.settings import choose_settings
from aqka.estimates.projected import squared_distances
from aqka.estimates.readout import confusion_matrices
from aqka.estimates.reduced_states import reduced_states
from aqka.estimates.state_errors import kernel_errors
from aqka.estimates.state_rank import choose_rank
from aqka.estimates.states import draw_counts, fit_states
from aqka.maths.likelihood import confuse
from aqka.maths.state_errors import ProductBases, tangent_roots
from tests.estimates.points import probabilities


def unlike_errors(n_qubits):
    """Another error for every qubit and bit, 2 to 9 %."""
    wrong = 0.02 + 0.01 * np.arange(2 * n_qubits).reshape(n_qubits, 2) % 0.08
    return np.array([[[1 - a, b], [a, 1 - b]] for a, b in wrong])


def as_one_matrix(confusion):
    return reduce(np.kron, confusion[::-1])  # qubit 0 is the least significant


def misread(states, settings, shots, seed, confusion):
    """A table whose outcomes were read with errors, through one large matrix."""
    p = probabilities(states, settings) @ as_one_matrix(confusion).T
    plan = even_plan(np.arange(len(states)), settings, shots)
    table = PointTable(len(states), settings)
    counts = np.random.default_rng(seed).multinomial(plan.shots, p[plan.points, plan.settings])
    table.add(plan, OutcomeCounts.of_dense(counts))
    return table


def points(n_points, n_qubits, seed=0):
    return np.random.default_rng(seed).uniform(0, 2.0, size=(n_points, n_qubits))


def root_mean_square(values):
    return float(np.sqrt(np.mean(values**2)))


def test_qubit_by_qubit_is_the_product_of_all_matrices():
    confusion = unlike_errors(3)
    p = np.random.default_rng(0).random((2, 4, 8))
    np.testing.assert_allclose(confuse(p, confusion), p @ as_one_matrix(confusion).T, atol=1e-14)
    np.testing.assert_allclose(
        confuse(p, confusion.transpose(0, 2, 1)), p @ as_one_matrix(confusion), atol=1e-14
    )


def test_two_circuits_calibrate_all_qubits():
    confusion = unlike_errors(4)
    shots = 200_000
    whole = as_one_matrix(confusion)
    rows = np.random.default_rng(0).multinomial(shots, whole[:, [0, 15]].T)
    found = confusion_matrices(OutcomeCounts.of_dense(rows), 4)
    np.testing.assert_allclose(found, confusion, atol=4 * np.sqrt(0.09 / shots))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


@pytest.mark.parametrize("rank", [1, 2])
def test_no_optimiser_of_scipy_finds_a_higher_likelihood_nearby(rank):
    confusion, settings = unlike_errors(2), choose_settings(2, seed=0)
    table = misread(zz_states(points(3, 2)), settings, 360, 1, confusion)
    fitted = fit_states(table, rank, confusion=confusion)
    assert fitted.converged.all()
    turned = ProductBases(settings).amplitudes(np.eye(4, dtype=complex))
    counts, whole = table.dense([0, 1, 2]), as_one_matrix(confusion)

    def minus_log_likelihood(real, counts):
        v = (real[: len(real) // 2] + 1j * real[len(real) // 2 :]).reshape(rank, 4)
        p = np.sum(np.abs(np.tensordot(v / np.linalg.norm(v), turned, axes=1)) ** 2, axis=0)
        return -np.sum(counts * np.log(p @ whole.T))

    for i in range(3):
        v = fitted.vectors[:, i].reshape(-1)
        start = np.concatenate([v.real, v.imag])
        own = minus_log_likelihood(start, counts[i])
        assert own == pytest.approx(-fitted.log_likelihood[i], rel=1e-9)
        best = minimize(minus_log_likelihood, start, args=(counts[i],), method="BFGS")
        assert own <= best.fun + 1e-2


def test_the_kernel_is_the_one_before_the_readout():
    confusion, settings, x = unlike_errors(4), choose_settings(4, seed=0), points(40, 4)
    many = misread(zz_states(x), settings, 10**6, 0, confusion)
    exact = zz_kernel(x)
    np.testing.assert_allclose(fit_states(many, confusion=confusion).kernel(), exact, atol=0.01)
    table = misread(zz_states(x), settings, 1024, 0, confusion)
    ignored = root_mean_square(fit_states(table).kernel() - exact)
    explained = root_mean_square(fit_states(table, confusion=confusion).kernel() - exact)
    assert explained < 0.8 * ignored


def test_readout_errors_that_are_explained_leave_the_states_pure():
    confusion, settings = unlike_errors(3), choose_settings(3, seed=0)
    table = misread(zz_states(points(30, 3)), settings, 1080, 0, confusion)
    fitted, tests = choose_rank(table, np.random.default_rng(0), confusion=confusion)
    assert tests[0].p_value > 0.01
    assert fitted.rank == 1
    assert choose_rank(table, np.random.default_rng(0))[1][0].p_value < 1e-6


def test_the_information_is_that_of_finite_differences():
    confusion, settings = unlike_errors(2), choose_settings(2, seed=0)
    state = zz_states(points(1, 2))
    shots = np.arange(1.0, 10.0)[None] * 100
    root = tangent_roots(ProductBases(settings), state, shots, confusion)[0]

    def read(real):
        u = (real[:4] + 1j * real[4:])[None]
        return probabilities(u / np.linalg.norm(u), settings)[0] @ as_one_matrix(confusion).T

    at = np.concatenate([state[0].real, state[0].imag])
    h = 1e-6
    steps = np.array([(read(at + h * e) - read(at - h * e)) / (2 * h) for e in np.eye(8)])
    information = np.einsum("xsb,ysb,s,sb->xy", steps, steps, shots[0], 1 / read(at))
    # Moving u along itself or turning its phase moves nothing: both are null directions.
    np.testing.assert_allclose(root @ root.T, np.linalg.pinv(information, 1e-6), atol=1e-8)


def test_without_errors_both_ways_to_the_information_agree():
    settings = choose_settings(3, seed=0)
    states = zz_states(points(3, 3))
    shots = np.full((3, len(settings)), 20.0)
    none = np.tile(np.eye(2), (3, 1, 1))
    plain = tangent_roots(ProductBases(settings), states, shots)
    general = tangent_roots(ProductBases(settings), states, shots, none)
    np.testing.assert_allclose(
        general @ general.transpose(0, 2, 1), plain @ plain.transpose(0, 2, 1), atol=1e-9
    )


def test_standard_errors_cover_with_readout_errors():
    confusion, settings, x = unlike_errors(3), choose_settings(3, seed=0), points(100, 3, seed=5)
    exact = zz_kernel(x)
    table = misread(zz_states(x), settings, 540, 6, confusion)
    fitted = fit_states(table, confusion=confusion)
    errors = kernel_errors(table, fitted, np.random.default_rng(0))
    upper = np.triu_indices(100, k=1)
    z = ((fitted.kernel() - errors.bias - exact) / np.sqrt(errors.variance + np.eye(100)))[upper]
    assert 0.92 < np.mean(np.abs(z) < 1.96) < 0.98
    ideal = draw_counts(fitted, table, np.random.default_rng(0))
    p = probabilities(fitted.vectors[0][:1], settings)[0] @ as_one_matrix(confusion).T
    seen = ideal.dense([0])[0] / ideal.shots[0][:, None]
    assert root_mean_square(seen - p) < 2 * np.sqrt(np.mean(p * (1 - p)) / ideal.shots[0].min())


@pytest.mark.parametrize("locality", [1, 2])
def test_distances_of_reduced_states_have_no_bias_of_readout_or_shots(locality):
    confusion, settings = unlike_errors(2), choose_settings(2, seed=0)
    states = zz_states(points(2, 2, seed=3))
    repeats = 600
    exact = reduced_states(
        misread(states, settings, 9 * 4_000_000, 0, np.tile(np.eye(2), (2, 1, 1))), locality
    )
    table = misread(np.tile(states, (repeats, 1)), settings, 90, 1, confusion)
    fitted = reduced_states(table, locality, confusion)
    blocks = fitted.expectations.reshape(repeats, 2, -1)
    error = blocks.mean(axis=0) - exact.expectations
    assert np.all(np.abs(error) < 4 * blocks.std(axis=0) / np.sqrt(repeats) + 2e-3)
    # The variances that are stated are those that are seen.
    stated = fitted.variances.reshape(repeats, 2, -1).mean(axis=0)
    np.testing.assert_allclose(stated, blocks.var(axis=0), rtol=0.25, atol=1e-4)
    whole = squared_distances(fitted)
    distances = np.array([whole[2 * k, 2 * k + 1] for k in range(repeats)])
    standard = distances.std() / np.sqrt(repeats)
    assert abs(distances.mean() - squared_distances(exact)[0, 1]) < 4 * standard + 2e-3
    ignored = squared_distances(reduced_states(table, locality))
    biased = np.mean([ignored[2 * k, 2 * k + 1] for k in range(repeats)])
    assert abs(biased - squared_distances(exact)[0, 1]) > 4 * standard


def test_impossible_calibrations_are_refused():
    with pytest.raises(InputError, match="5 and 0 shots"):
        confusion_matrices(OutcomeCounts([0], [0], [5]), 1)
    with pytest.raises(InputError, match="all zeros, then all ones"):
        confusion_matrices(OutcomeCounts([0, 1], [1, 0], [5, 5]), 1)
    table = PointTable(1, [[2]])
    table.add(even_plan([0], table.settings, 2), OutcomeCounts([0], [0], [2]))
    with pytest.raises(InputError, match="each of 1 qubits, got shape"):
        fit_states(table, confusion=np.eye(2))
    with pytest.raises(InputError, match="columns sum to 1"):
        fit_states(table, confusion=np.array([[[0.9, 0.1], [0.2, 0.9]]]))
