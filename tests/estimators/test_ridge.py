import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import MinMaxScaler

from aqka import InputError, QuantumRidge, QuantumRidgeClassifier
from aqka.backends.statevector import zz_kernel
from tests.estimators.counting import Counting


def test_three_classes_share_one_kernel(counted):
    X, y = load_iris(return_X_y=True)
    X = MinMaxScaler((0, np.pi / 4)).fit_transform(X)
    keep = np.random.default_rng(0).permutation(150)
    train, test = keep[:60], keep[60:]
    model = QuantumRidgeClassifier(backend=counted, budget=60_000).fit(X[train], y[train])
    assert Counting.spent == 60_000
    assert model.decision_function(X[test]).shape == (90, 3)
    assert model.predict_proba(X[test]).shape == (90, 3)
    assert model.score(X[test], y[test]) > 0.8
    found = model.prediction(X[test], budget=300_000)
    exact = model.predict(X[test])
    assert np.mean(model.classes_[found.labels][found.settled] == exact[found.settled]) > 0.95


def test_regression_agrees_with_scikit_learn_in_the_limit_of_many_shots():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, (40, 2))
    y = np.cos(X[:, 0]) * X[:, 1] + 5
    kernel = zz_kernel(X)
    model = QuantumRidge(backend="precomputed", learner="ridge").fit(kernel, y)
    reference = KernelRidge(alpha=0.01, kernel="precomputed").fit(kernel, y - y.mean())
    np.testing.assert_allclose(
        model.predict(kernel), reference.predict(kernel) + y.mean(), rtol=1e-4
    )
    shots = QuantumRidge(budget=10**12, learner="ridge").fit(X, y)
    assert np.corrcoef(shots.predict(X), model.predict(kernel))[0, 1] > 0.99
    two = QuantumRidge(backend="precomputed").fit(kernel, np.where(y > 5, 7.0, 3.0))
    assert 2 < two.predict(kernel).min() < two.predict(kernel).max() < 8


def test_a_single_target_cannot_be_learnt():
    with pytest.raises(InputError, match=r"y has a single value, 3\.0"):
        QuantumRidge().fit(np.ones((4, 2)), np.full(4, 3.0))


def test_a_regression_has_no_border_to_move():
    model = QuantumRidge(budget=100, learner="balanced")
    with pytest.raises(InputError, match="a regression has none"):
        model.fit(np.linspace(0, 3, 8).reshape(4, 2), [0.1, 0.7, 1.3, 0.2])


def test_regression_predicts_values_in_target_units_and_no_classes(counted, tmp_path):
    X = np.linspace(0.1, 3, 40).reshape(-1, 1).repeat(2, axis=1)
    y = 100 + 20 * np.cos(2 * X[:, 0])
    settings = {"backend": counted, "budget": 200_000, "directory": tmp_path, "design": "pairs"}
    model = QuantumRidge(**settings).fit(X[::2], y[::2])
    Counting.spent = 0
    found = model.prediction(X[1::2], budget=400_000, total=True)
    assert Counting.spent == found.shots.sum() == 400_000
    assert not hasattr(found, "labels")
    exact = model.predict(X[1::2])
    assert np.sqrt(np.mean((found.f - exact) ** 2)) < 5  # of an amplitude of 20
    assert np.mean((found.low <= exact) & (exact <= found.high)) > 0.7
    assert np.all(found.total_low <= found.low)
    assert np.all(found.total_high >= found.high)
    np.testing.assert_array_equal(model.predict(X[1::2], budget=400_000), found.f)
    assert Counting.spent == 400_000  # the ledger remembers
