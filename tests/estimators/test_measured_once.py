"""The measured kernel and features in scikit-learn's models."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import SpectralClustering
from sklearn.decomposition import KernelPCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from aqka import (
    InputError,
    NoisyFeaturesWarning,
    Points,
    QuantumFeatures,
    QuantumKernel,
    QuantumRidgeClassifier,
)
from aqka.backends.statevector import zz_kernel, zz_states
from aqka.estimates.reduced_states import PAULI
from tests.estimators.remembering import Counting, counted

X = np.random.default_rng(5).uniform(0, np.pi, size=(24, 2))
Y = np.where(X[:, 0] > 1.5, "up", "down")
NEW = np.random.default_rng(6).uniform(0, np.pi, size=(6, 2))


# Skipped: check_array_api_input, which needs SCIPY_ARRAY_API. operators="all" is not among them,
# because some checks have more features than its four qubits.
@parametrize_with_checks(
    [
        QuantumKernel(budget=5_000, design="pairs"),
        QuantumKernel(budget=5_000, design="points"),
        QuantumKernel(budget=5_000, design=Points("projected")),
        QuantumKernel(budget=5_000),
        QuantumFeatures(budget=5_000),
        QuantumFeatures(budget=10_000, operators="neighbours", shrink=True),
    ]
)
def test_scikit_learn_checks(estimator, check, few_drawn_states):
    check(estimator)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("design", ["pairs", "points"])
def test_a_grid_search_measures_everything_once(tmp_path, design, kept):
    directory = tmp_path / "kernel" if kept else None
    kernel = QuantumKernel(
        backend=counted(), budget=9_600, design=design, test_budget=10**6, directory=directory
    )
    model = make_pipeline(kernel, SVC(kernel="precomputed"))
    search = GridSearchCV(model, {"svc__C": [0.1, 1.0, 10.0]}, cv=3).fit(X, Y)
    units = 24 if design == "points" else 24 * 23 // 2
    assert len(Counting.bought) == units  # each unit, and each in one request
    assert Counting.total() == search.best_estimator_[0].shots_used_
    spent = Counting.total()
    again = clone(search).fit(X, Y)
    assert Counting.total() == spent
    np.testing.assert_array_equal(again.predict(X), search.predict(X))


def test_tags_say_whether_the_input_is_a_kernel():
    """Cross-validation cuts rows and columns of what is pairwise, and rows alone of the rest."""
    kernel = QuantumKernel(budget=2_400, design="points")
    given = QuantumRidgeClassifier(backend="precomputed")
    pipeline = make_pipeline(kernel, SVC(kernel="precomputed"))
    for model, pairwise in ((kernel, False), (pipeline, False), (given, True)):
        assert get_tags(model).input_tags.pairwise is pairwise
    assert cross_val_score(pipeline, X, Y, cv=3).shape == (3,)
    assert np.isfinite(cross_val_score(given, kernel.fit_transform(X), Y, cv=3)).all()


def test_other_settings_and_other_points_are_measured_anew():
    kernel = QuantumKernel(backend=counted(), budget=2_400, design="points").fit(X)
    other = clone(kernel).set_params(seed=1).fit(X)
    assert Counting.total() == 4_800
    assert (kernel.transform(X) != other.transform(X)).any()
    clone(kernel).fit(NEW)
    assert Counting.total() == 7_200
    np.testing.assert_array_equal(clone(kernel).fit_transform(X), kernel.transform(X))
    assert Counting.total() == 7_200


@pytest.mark.parametrize("design", ["pairs", "points"])
def test_many_shots_give_the_models_of_the_exact_kernel(design):
    y = np.sin(X[:, 0])
    kernel = QuantumKernel(budget=10**8, test_budget=10**8, design=design)
    exact = zz_kernel(np.vstack([X, NEW]))
    train, block = exact[:24, :24], exact[24:, :24]
    np.testing.assert_allclose(kernel.fit_transform(X), train, atol=5e-3)
    np.testing.assert_allclose(kernel.transform(NEW), block, atol=5e-3)
    wanted = SVR(kernel="precomputed").fit(train, y).predict(block)
    model = make_pipeline(kernel, SVR(kernel="precomputed")).fit(X, y)
    np.testing.assert_allclose(model.predict(NEW), wanted, atol=0.05)
    one_class = make_pipeline(kernel, OneClassSVM(kernel="precomputed")).fit(X)
    wanted = OneClassSVM(kernel="precomputed").fit(train).decision_function(block)
    np.testing.assert_allclose(one_class.decision_function(NEW), wanted, atol=0.05)
    components = make_pipeline(kernel, KernelPCA(2, kernel="precomputed")).fit_transform(X)
    wanted = KernelPCA(2, kernel="precomputed").fit_transform(train)
    np.testing.assert_allclose(np.abs(components), np.abs(wanted), atol=0.02)
    positive = np.maximum(kernel.fit_transform(X), 0)
    groups = SpectralClustering(2, affinity="precomputed", random_state=0).fit_predict(positive)
    assert set(groups) == {0, 1}


LETTERS = dict(zip("XYZ", PAULI, strict=True)) | {"I": np.eye(2)}


def expectation(name, states, n_qubits):
    """The mean of an operator such as "X0Z2", by the full matrix; qubit 0 is the last factor."""
    letters = ["I"] * n_qubits
    for letter, qubit in zip(name[::2], name[1::2], strict=True):
        letters[int(qubit)] = letter
    matrix = np.eye(1)
    for letter in reversed(letters):
        matrix = np.kron(matrix, LETTERS[letter])
    return np.einsum("ia,ab,ib->i", states.conj(), matrix, states).real


@pytest.mark.parametrize(
    ("operators", "n_qubits", "count"),
    [
        ("single", 3, 9),
        ("neighbours", 3, 27),
        ("pairs", 3, 36),
        ("all", 1, 3),
        ("all", 2, 15),
        ("all", 3, 63),
        ("all", 4, 255),
    ],
)
def test_features_are_the_expectations_with_their_errors(operators, n_qubits, count):
    points = np.random.default_rng(0).uniform(0, np.pi, size=(12, n_qubits))
    features = QuantumFeatures(budget=12 * 8_100, operators=operators)
    found, names = features.fit_transform(points), features.get_feature_names_out()
    assert found.shape == (12, count) == features.standard_errors_.shape
    states = zz_states(points)
    exact = np.stack([expectation(name, states, n_qubits) for name in names], axis=1)
    z = (found - exact) / np.maximum(features.standard_errors_, 1e-9)
    certain = features.standard_errors_ < 1e-3
    assert np.abs(found - exact)[certain].max(initial=0) < 0.1
    assert 0.85 < np.sqrt(np.mean(z[~certain] ** 2)) < 1.15


def test_shrinking_takes_away_the_share_that_is_noise():
    points = np.random.default_rng(0).uniform(0, np.pi, size=(400, 2))
    plain = QuantumFeatures(budget=400 * 18)  # six shots in each of X, Y and Z
    shrunk = clone(plain).set_params(shrink=True)
    found, smaller = plain.fit_transform(points), shrunk.fit_transform(points)
    states = zz_states(points)
    for name, factor in zip(plain.get_feature_names_out(), shrunk.shrinkage_, strict=True):
        exact = expectation(name, states, 2)
        signal, noise = np.var(exact), np.mean(1 - exact**2) / 6
        assert abs(factor - signal / (signal + noise)) < 0.1
    np.testing.assert_allclose(smaller, found * shrunk.shrinkage_)
    np.testing.assert_allclose(shrunk.standard_errors_, plain.standard_errors_ * shrunk.shrinkage_)


def test_features_that_are_mostly_noise_give_a_warning_before_a_scaler_sees_them():
    near = 1 + np.random.default_rng(0).uniform(0, 0.01, size=(30, 2))
    model = make_pipeline(QuantumFeatures(budget=30 * 60), StandardScaler())
    with pytest.warns(NoisyFeaturesWarning, match=r"[4-6] of 6 features are more shot noise"):
        model.fit(near)
    model.set_params(quantumfeatures__shrink=True).fit(near)
    assert np.median(model[0].shrinkage_) < 0.5


def test_features_are_measured_once_in_searches_and_come_with_names():
    backend = counted()
    model = make_pipeline(QuantumFeatures(backend=backend, budget=2_400), LogisticRegression())
    grid = {"quantumfeatures__shrink": [False, True], "logisticregression__C": [0.1, 1.0]}
    search = GridSearchCV(model, grid, cv=3).fit(X, Y)
    assert len(Counting.bought) == 24
    spent = Counting.total()
    assert search.best_estimator_[0].shots_used_ == spent
    features = search.best_estimator_[0]
    new = features.transform(NEW[:2])
    assert features.get_feature_names_out().tolist() == ["X0", "Y0", "Z0", "X1", "Y1", "Z1"]
    assert Counting.total() == spent + 2 * 150  # what a point of the first fold had
    again = pickle.loads(pickle.dumps(features))
    np.testing.assert_array_equal(again.transform(NEW[:2]), new)
    assert Counting.total() == spent + 2 * 150


def test_tables_have_named_columns():
    pytest.importorskip("pandas")
    frame = QuantumFeatures(budget=2_400).set_output(transform="pandas").fit_transform(X)
    assert list(frame.columns) == ["X0", "Y0", "Z0", "X1", "Y1", "Z1"]


def test_a_directory_is_resumed_by_another_kernel(tmp_path):
    options = {"backend": counted(), "budget": 2_400, "directory": tmp_path}
    features = QuantumFeatures(**options)
    found, new = features.fit_transform(X), features.transform(NEW)
    spent = Counting.total()
    again = QuantumFeatures(**options)
    np.testing.assert_array_equal(again.fit_transform(X), found)
    np.testing.assert_array_equal(again.transform(NEW), new)
    assert Counting.total() == spent == again.shots_used_


def test_a_budget_may_be_time_or_left_out():
    assert QuantumKernel(budget="1 min", design="points").fit(X).shots_used_ > 0
    assert QuantumKernel(design="pairs").fit(X[:5]).shots_used_ == 16 * 10
    assert QuantumFeatures().fit(X[:5]).shots_used_ == 5 * 16 * 4


@pytest.mark.parametrize("kind", [QuantumKernel, QuantumFeatures])
def test_bad_input_is_refused_before_a_shot(kind):
    model = kind(backend=counted(), budget=2_400)
    for bad, words in (
        (sparse.csr_matrix(X), "[Ss]parse"),
        (np.where(X > 3, np.nan, X), "NaN"),
        (X[:1], "1 sample"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            model.fit(bad)
    assert Counting.total() == 0
    model.fit(X)
    spent = Counting.total()
    for bad, words in ((NEW[:, :1], "1 features, but"), (NEW * np.nan, "NaN")):
        with pytest.raises(ValueError, match=words):
            model.transform(bad)
    with pytest.raises(InputError, match="test_budget does not cover"):
        model.set_params(test_budget=10).transform(NEW)
    assert Counting.total() == spent


def test_operators_that_cannot_be_measured_are_refused_before_a_shot():
    for points, operators, words in (
        (X, "tripels", "operators must be one of 'single'"),
        (X[:, :1], "pairs", "at most the 1 qubit of the points"),
        (np.hstack([X, X, X]), "all", "at most 4 qubits, and the points have 6"),
    ):
        with pytest.raises(InputError, match=words):
            QuantumFeatures(backend=counted(), budget=2_400, operators=operators).fit(points)
        assert Counting.total() == 0
    with pytest.raises(InputError, match=r"at least|every point"):
        QuantumFeatures(backend=counted(), budget=24, operators="pairs").fit(X)
    assert Counting.total() == 0
