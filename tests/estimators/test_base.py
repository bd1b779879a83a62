import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from aqka import InputError, MatrixBackend, QuantumRidge, QuantumRidgeClassifier, QuantumSVC
from aqka.backends.statevector import zz_kernel
from tests.estimators.counting import Counting

# Even shots suffice for checks on hundreds of points, of which classifiers need not get many
# right; on the tens of points that most checks have, this is still plenty to steer.
CHECKED = (QuantumRidgeClassifier(budget=2_000), QuantumSVC(budget=2_000), QuantumRidge())


@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [QuantumRidgeClassifier, QuantumSVC])
def test_fit_spends_its_budget_and_says_what_it_found(moons, counted, estimator):
    X, y, X_test, y_test = moons
    model = estimator(backend=counted, budget=30_000).fit(X, y)
    assert Counting.spent == model.shots_used_ == 30_000
    assert model.classes_.tolist() == ["down", "up"]
    exact = zz_kernel(X)
    off = ~np.eye(60, dtype=bool)
    z = (model.kernel_ - exact)[off] / np.sqrt(model.kernel_variance_[off])
    assert 0.8 < np.std(z) < 1.2  # the variances are those of the errors
    assert 0 < model.diagnostics_.rho <= 1
    assert "shots" in model.allocation_reason_
    assert model.ledger_path_ is None
    assert model.score(X_test, y_test) > 0.7
    assert set(model.predict(X_test)) <= {"up", "down"}


def test_prediction_under_a_budget(moons, counted):
    X, y, X_test, _ = moons
    model = QuantumRidgeClassifier(backend=counted, budget=30_000).fit(X, y)
    Counting.spent = 0
    found = model.prediction(X_test, budget=50_000)
    assert Counting.spent == found.shots.sum() <= 50_000
    exact = model.predict(X_test)  # without a budget, exact entries
    assert Counting.spent == found.shots.sum()
    assert (
        np.mean(model.predict(X_test, budget=50_000)[found.settled] == exact[found.settled]) > 0.9
    )
    by_default = clone(model).set_params(test_shots=1000).fit(X, y)
    Counting.spent = 0
    by_default.predict(X_test)
    assert 0 < Counting.spent <= 1000 * len(X_test)


def test_total_intervals_flag_labels_that_could_flip(moons):
    X, y, X_test, _ = moons
    model = QuantumRidgeClassifier(budget=10_000, readout="ridge-kfold").fit(X[:30], y[:30])
    found = model.prediction(X_test[:10], budget=20_000, total=True)
    assert found.could_flip.dtype == bool
    assert np.all(found.total_high >= found.high)
    assert np.all(found.total_low <= found.low)


def test_pipelines_grid_searches_and_cross_validation(moons):
    X, y, *_ = moons
    model = make_pipeline(MinMaxScaler((1.5, np.pi)), QuantumRidgeClassifier(budget=5_000))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.6
    search = GridSearchCV(QuantumSVC(budget=5_000), {"C": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_estimator_.shots_used_ == 5_000


def test_clones_share_a_device_but_not_a_budget(moons, counted):
    X, y, *_ = moons
    model = QuantumRidgeClassifier(backend=counted, budget=2_000).fit(X, y)
    copy = clone(model)
    assert copy.backend is model.backend  # no device or session is copied
    assert not hasattr(copy, "head_")
    copy.fit(X, y)
    assert Counting.spent == 4_000
    assert copy.session_ is not model.session_


def test_fitted_models_can_be_pickled(moons):
    X, y, X_test, _ = moons
    for made in (QuantumRidgeClassifier(budget=5_000), QuantumSVC(budget=5_000)):
        model = made.fit(X, y)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(
            again.decision_function(X_test), model.decision_function(X_test)
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"backend": "statevectr"}, "backend must be 'statevector'"),
        ({"backend": 7}, "backend must be"),
        ({"budget": -1}, "budget must be"),
        ({"readout": "rigde"}, "Did you mean 'ridge'"),
        ({"allocator": "unifrom"}, "Did you mean 'uniform'"),
        ({"backend": MatrixBackend(np.eye(60))}, "BackendFactory"),
    ],
)
def test_bad_parameters_are_named(moons, change, message):
    X, y, *_ = moons
    with pytest.raises(InputError, match=message):
        QuantumRidgeClassifier(**change).fit(X, y)
