"""States, kernels, heads and comparisons, each against another way to compute it."""

import numpy as np
import pytest
from scipy.linalg import sqrtm
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from aqka.errors import InputError
from aqka.estimates.reduced_states import exact_reduced_states
from aqka.insight.exact_kernels import (
    concentration,
    effective_rank,
    geometric_differences,
    linear_share,
    map_features,
    map_states,
    nearest_plain_kernel,
    projected_kernels,
)
from aqka.insight.fold_scores import KernelHead, repeated_folds
from aqka.learners.ridge import RIDGE_GRID


def rbf(X, gamma):
    return np.exp(-gamma * np.sum((X[:, None] - X) ** 2, axis=2))


@pytest.mark.parametrize("name", ["zz", "zz-full", "z"])
def test_states_are_those_of_the_circuits_that_a_study_runs(name):
    from aqka.backends.feature_maps import built_in_map

    X = np.random.default_rng(0).uniform(-1, 4, (6, 3))
    for reps in (1, 2, 3):
        circuit = built_in_map(name, 3, reps)
        assert map_states(X, name, reps) == pytest.approx(map_states(X, circuit), abs=1e-12)


def test_too_many_qubits_are_refused_before_anything_is_built():
    with pytest.raises(InputError, match=r"at most 14 qubits; this feature map needs 30.*PCA"):
        map_states(np.zeros((2, 30)), "zz")


PAULIS = [np.array(p) for p in ([[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]])]


def one_qubit_states(states):
    """Partial traces, points × qubits × 2 × 2, from operators on all three qubits."""
    found = np.zeros((len(states), 3, 2, 2), dtype=complex)
    for k, psi in enumerate(states):
        for qubit in range(3):
            found[k, qubit] = np.eye(2) / 2
            for pauli in PAULIS:
                parts = [pauli if q == qubit else np.eye(2) for q in (2, 1, 0)]
                operator = np.kron(np.kron(parts[0], parts[1]), parts[2])
                found[k, qubit] += (psi.conj() @ operator @ psi) * pauli / 2
    return found


def test_one_qubit_states_are_partial_traces():
    states = map_states(np.random.default_rng(1).uniform(0, 3, (4, 3)), "zz")
    expected = [[np.trace(rho @ p).real for p in PAULIS] for rho in one_qubit_states(states)[0]]
    assert exact_reduced_states(states).expectations[0] == pytest.approx(np.ravel(expected))


def test_the_projected_kernel_is_gaussian_in_the_one_qubit_states():
    states = map_states(np.random.default_rng(2).uniform(0, 3, (5, 3)), "zz")
    rho = one_qubit_states(states)
    distances = np.array([[np.sum(np.abs(a - b) ** 2) for b in rho] for a in rho])
    middle = np.median(distances[np.triu_indices(5, 1)])
    assert projected_kernels(exact_reduced_states(states))[1] == pytest.approx(
        np.exp(-distances / middle)
    )


def test_the_head_is_ridge_tuned_by_leaving_each_point_out():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=30) > 0, "yes", "no")
    kernel = rbf(X, 0.5)
    fold = repeated_folds(y)[0]
    signs = np.where(y[fold.kept] == "yes", 1.0, -1.0)
    inner = kernel[np.ix_(fold.kept, fold.kept)]

    def left_out(ridge):
        values = []
        for k in range(len(signs)):
            rest = np.delete(np.arange(len(signs)), k)
            alpha = np.linalg.solve(
                inner[np.ix_(rest, rest)] + ridge * np.eye(len(rest)), signs[rest]
            )
            values.append(inner[k, rest] @ alpha)
        return np.array(values)

    ridge = min(RIDGE_GRID, key=lambda r: np.mean((left_out(r) - signs) ** 2))
    alpha = np.linalg.solve(inner + ridge * np.eye(len(signs)), signs)
    f = kernel[np.ix_(fold.held, fold.kept)] @ alpha
    head = KernelHead(y)
    assert head.predict(kernel, fold).tolist() == np.where(f >= 0, "yes", "no").tolist()
    right = (left_out(ridge) >= 0) == (signs > 0)
    expected = (right[signs > 0].mean() + right[signs < 0].mean()) / 2
    assert head.judge(kernel, fold.kept) == pytest.approx(expected)


def test_the_svm_head_is_that_of_scikit_learn():
    from sklearn.svm import SVC

    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] ** 2 > X[:, 1]).astype(int)
    kernel = rbf(X, 0.5)
    for fold in repeated_folds(y, repeats=1):
        model = SVC(kernel="precomputed", C=2.0).fit(
            kernel[np.ix_(fold.kept, fold.kept)], y[fold.kept]
        )
        expected = model.predict(kernel[np.ix_(fold.held, fold.kept)])
        assert np.array_equal(KernelHead(y, svm=True, C=2.0).predict(kernel, fold), expected)


def test_the_geometric_difference_is_the_formula():
    X = np.random.default_rng(5).normal(size=(12, 3))
    plain, quantum = rbf(X, 0.3), rbf(X, 3.0)
    root_q, root_c = np.real(sqrtm(quantum)), np.real(sqrtm(plain))
    shrunk = np.linalg.inv(plain + 0.05 * np.eye(12))
    inside = root_q @ root_c @ shrunk @ shrunk @ root_c @ root_q
    expected = np.sqrt(np.linalg.norm(inside, 2))
    for scale in (1.0, 7.0):  # both are scaled to the trace N
        left = 0.05 * np.sqrt(np.linalg.norm(root_q @ shrunk @ shrunk @ root_q, 2))
        found = geometric_differences(scale * plain, 3 * quantum, ridge=0.05)
        assert found == pytest.approx((expected, left))
    exact = np.sqrt(np.linalg.norm(root_q @ np.linalg.inv(plain) @ root_q, 2))
    found = geometric_differences(plain, quantum, ridge=0.0)
    assert found == pytest.approx((exact, 0.0), rel=1e-6)
    assert geometric_differences(np.eye(4), np.ones((4, 4)), ridge=0.0)[0] == pytest.approx(2)


def test_a_plain_kernel_is_near_itself_and_far_from_one_it_cannot_see():
    X = np.random.default_rng(6).normal(size=(40, 2))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    same = nearest_plain_kernel(X, rbf(Z, 0.5))  # 1 / columns
    assert same.value <= 1.0
    assert same.nearest == "RBF, γ = 1/columns"
    assert same.largest == pytest.approx(np.sqrt(40))
    coins = np.sign(np.random.default_rng(7).normal(size=(40, 1)))
    assert nearest_plain_kernel(X, coins @ coins.T).value > same.largest


def test_a_concentrated_kernel_is_called_so_and_shots_cannot_resolve_it():
    rng = np.random.default_rng(8)
    noise = rng.uniform(0, 0.002, (60, 60))
    kernel = np.triu(noise, 1) + np.triu(noise, 1).T + np.eye(60)
    found = concentration(kernel, shots_per_pair=10)
    entries = kernel[np.triu_indices(60, 1)]
    assert (found.mean, found.spread) == pytest.approx((entries.mean(), entries.std()))
    assert found.shot_error == pytest.approx(np.sqrt(np.mean(entries * (1 - entries)) / 10))
    assert "concentrated: every point" in found.words
    assert "hardly tell any entries apart" in found.words
    assert "flat" in concentration(np.full((60, 60), 0.999) + 0.001 * np.eye(60)).words
    labels = np.repeat([0, 1], 30)
    good = np.where(labels[:, None] == labels, 0.8, 0.1) + np.diag(np.full(60, 0.2))
    assert "neither" in concentration(good, 100).words
    assert "one by one" in concentration(good, 100).words


def test_the_effective_rank_counts_equal_directions():
    assert effective_rank(np.kron(np.eye(4), np.ones((5, 5)))) == pytest.approx(4.0)


def test_features_of_small_angles_are_linear_in_the_data():
    X = np.random.default_rng(0).uniform(0, 1, (30, 2))
    assert linear_share(X, map_features(X / 100, "z")) > 0.9


def test_the_linear_share_is_r2_of_points_that_are_left_out():
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 1, (25, 3))
    states = map_features(3 * X, "z")
    F, Z = states.expectations, (X - X.mean(axis=0)) / X.std(axis=0)
    shares = []
    for ridge in 25 * np.geomspace(1e-4, 1e2, 13):
        answers = cross_val_predict(Ridge(ridge), Z, F, cv=LeaveOneOut())
        means = cross_val_predict(DummyRegressor(), Z, F, cv=LeaveOneOut())
        shares.append(1 - np.sum((F - answers) ** 2) / np.sum((F - means) ** 2))
    assert linear_share(X, states) == pytest.approx(max(shares))
