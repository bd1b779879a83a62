"""Estimators that measure points instead of pairs."""

import numpy as np
import pytest
from sklearn.base import clone

from aqka import (
    BackendFactory,
    InputError,
    MatrixBackend,
    QuantumRidge,
    QuantumRidgeClassifier,
    QuantumSVC,
)
from aqka.core import PointTable
from aqka.runs.audit import verify
from aqka.sessions import PointAcquisition


def test_a_classifier_of_points_learns_with_shots_that_grow_with_their_number(moons):
    X, y, X_test, y_test = moons
    model = QuantumRidgeClassifier(budget=60 * 200, design="points", test_shots=200).fit(X, y)
    assert model.shots_used_ == 60 * 200
    assert isinstance(model.session_, PointAcquisition)
    assert isinstance(model.table_, PointTable)
    assert model.kernel_.shape == model.kernel_variance_.shape == (60, 60)
    by_shots, exact = model.predict(X_test), clone(model).set_params(test_shots=None)
    exact.fit(X, y)
    assert np.mean(by_shots == y_test) > 0.75
    assert np.mean(by_shots == exact.predict(X_test)) > 0.85
    found = model.prediction(X_test)
    assert found.shots.sum() <= 200 * len(X_test)
    assert np.all(found.low <= found.high)
    np.testing.assert_allclose(model.predict_proba(X_test).sum(axis=1), 1.0)


def test_svc_and_regression_of_points(moons):
    X, y, X_test, y_test = moons
    svc = QuantumSVC(budget=60 * 400, design="points").fit(X, y)
    assert np.mean(svc.predict(X_test) == y_test) > 0.75
    target = 3 + np.cos(X[:, 0])
    ridge = QuantumRidge(budget=60 * 400, design="points").fit(X, target)
    assert ridge.score(X, target) > 0.8


def test_what_was_measured_is_not_bought_again(moons, tmp_path):
    X, y, X_test, _ = moons

    def fitted():
        return QuantumRidgeClassifier(
            budget=12_000, design="points", directory=tmp_path, test_shots=100
        ).fit(X, y)

    first, again = fitted(), fitted()
    np.testing.assert_array_equal(first.table_.counts, again.table_.counts)
    np.testing.assert_array_equal(first.predict(X_test), again.predict(X_test))
    ledgers = sorted(tmp_path.glob("*/ledger.sqlite"))
    assert len(ledgers) == 2  # one fit, one prediction
    assert all(verify(path).finished for path in ledgers)


def test_an_estimator_calibrates_out_of_its_budget(moons):
    X, y, X_test, _ = moons
    settings = {"design": "points", "budget": 6400, "calibration_shots": 400}
    model = QuantumRidgeClassifier(**settings, new_points=20).fit(X, y)
    assert model.session_.calibration.total == 400
    assert model.shots_used_ == model.quote_.shots + 400
    assert model.quote_.total_shots == 6400  # of training, calibration and predictions
    assert model.predict(X_test[:20]).shape == (20,)
    np.testing.assert_array_equal(model.head_.states.confusion, [np.eye(2)] * 2)
    svc = QuantumSVC(**settings).fit(X, y)
    assert svc.shots_used_ == 6400
    with pytest.raises(InputError, match="calibration_shots are for design='points'"):
        QuantumSVC(budget=6400, calibration_shots=400).fit(X, y)


def test_auto_takes_points_where_there_are_many_and_pairs_where_a_matrix_is_all_there_is(moons):
    X, y, *_ = moons
    assert isinstance(
        QuantumRidgeClassifier(budget=20_000, design="auto").fit(X, y).session_, PointAcquisition
    )
    few = QuantumRidgeClassifier(budget=600, design="auto").fit(X[:4], y[:4])
    assert not isinstance(few.session_, PointAcquisition)


def test_bad_designs_are_named(moons):
    X, y, X_test, _ = moons

    def kernel_of(X, feature_map, columns, seed):
        return MatrixBackend(np.eye(len(X)))

    for design, backend, words in (
        ("triples", "statevector", "design must be one of pairs, points, auto"),
        ("points", BackendFactory(kernel_of), "needs a backend that prepares states"),
    ):
        with pytest.raises(InputError, match=words):
            QuantumRidgeClassifier(budget=9000, design=design, backend=backend).fit(X, y)
    model = QuantumRidgeClassifier(budget=9000, design="points").fit(X, y)
    with pytest.raises(InputError, match="total intervals are those of pairs"):
        model.prediction(X_test, budget=1000, total=True)
