import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from aqka import (
    Backend,
    BackendFactory,
    InputError,
    MatrixBackend,
    QuantumRidge,
    QuantumRidgeClassifier,
    QuantumSVC,
    StatevectorBackend,
    acquire,
)
from aqka.backends.zz import zz_kernel

ALL = (QuantumRidgeClassifier, QuantumSVC, QuantumRidge)


@parametrize_with_checks([made() for made in ALL])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(100, noise=0.15, random_state=1)
    X = MinMaxScaler((1.5, np.pi)).fit_transform(X)
    return X[:60], np.array(["up", "down"])[y[:60]], X[60:], np.array(["up", "down"])[y[60:]]


class Counting(StatevectorBackend):
    """Counts the shots of every backend that was made."""

    spent = 0

    def submit(self, plan, tag):
        Counting.spent += plan.total
        return super().submit(plan, tag)


@pytest.fixture
def counted():
    Counting.spent = 0
    return BackendFactory(Counting)


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


def test_budgets_may_be_time_or_money(moons):
    X, y, *_ = moons
    assert QuantumRidgeClassifier(budget="60 s").fit(X, y).shots_used_ > 100_000
    with pytest.raises(InputError, match="budget"):
        QuantumRidgeClassifier(budget="5 parsecs").fit(X, y)
    assert QuantumRidgeClassifier().fit(X, y).shots_used_ == 16 * 60 * 59 // 2


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
    assert np.mean(found.total_high - found.total_low) > np.mean(found.high - found.low)


def test_probabilities_agree_with_the_prediction_and_are_calibrated(moons):
    X, y, X_test, y_test = moons
    model = QuantumRidgeClassifier(budget=100_000).fit(X, y)
    chance = model.predict_proba(X_test)
    np.testing.assert_allclose(chance.sum(axis=1), 1)
    assert np.array_equal(model.classes_[chance.argmax(axis=1)], model.predict(X_test))
    right = np.mean(model.predict(X_test) == y_test)
    # A mean confidence within 3 standard errors of the accuracy on 40 points.
    assert abs(chance.max(axis=1).mean() - right) < 3 * np.sqrt(right * (1 - right) / 40) + 0.05


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
    model = QuantumRidge(backend="precomputed", readout="ridge").fit(kernel, y)
    reference = KernelRidge(alpha=0.01, kernel="precomputed").fit(kernel, y - y.mean())
    np.testing.assert_allclose(
        model.predict(kernel), reference.predict(kernel) + y.mean(), rtol=1e-4
    )
    shots = QuantumRidge(budget=10**12, readout="ridge").fit(X, y)
    assert np.corrcoef(shots.predict(X), model.predict(kernel))[0, 1] > 0.99
    two = QuantumRidge(backend="precomputed").fit(kernel, np.where(y > 5, 7.0, 3.0))
    assert 2 < two.predict(kernel).min() < two.predict(kernel).max() < 8


@pytest.mark.parametrize(
    ("ours", "theirs"), [(QuantumSVC(backend="precomputed", C=2.0), SVC(kernel="precomputed", C=2))]
)
def test_svc_agrees_with_scikit_learn_on_a_given_kernel(ours, theirs, moons):
    X, y, X_test, _ = moons
    kernel, block = rbf_kernel(X), rbf_kernel(X_test, X)
    np.testing.assert_allclose(
        ours.fit(kernel, y).decision_function(block),
        theirs.fit(kernel, y).decision_function(block),
        atol=0.01,
    )


def test_pipelines_grid_searches_and_cross_validation(moons):
    X, y, *_ = moons
    model = make_pipeline(MinMaxScaler((1.5, np.pi)), QuantumRidgeClassifier(budget=5_000))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.6
    search = GridSearchCV(QuantumSVC(budget=5_000), {"C": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_estimator_.shots_used_ == 5_000


def test_a_precomputed_kernel_is_tuned_without_a_shot(moons):
    X, y, *_ = moons
    grid = {"readout": ["ridge", "ridge-loo", "auto"]}
    made = QuantumRidgeClassifier(backend="precomputed")
    search = GridSearchCV(made, grid, cv=3).fit(zz_kernel(X), y)
    assert search.best_estimator_.shots_used_ == 0


def test_a_finished_run_is_tuned_without_a_shot(moons, tmp_path):
    X, y, *_ = moons
    session = acquire(StatevectorBackend(X), y, 40_000, directory=tmp_path / "run")
    points = np.arange(60).reshape(-1, 1)
    for run in (session, session.table, tmp_path / "run", str(tmp_path / "run")):
        made = QuantumRidgeClassifier(backend=run)
        grid = {"readout": ["ridge", "ridge-kfold", "auto"]}
        search = GridSearchCV(made, grid, cv=3, error_score="raise").fit(points, y)
        assert search.best_estimator_.shots_used_ == 0
        whole = made.fit(points, y)
        np.testing.assert_allclose(whole.head_.alpha, session.fit("auto").alpha)
    with pytest.raises(InputError, match="one column of point numbers"):
        QuantumRidgeClassifier(backend=session).fit(X, y)


def test_a_part_of_a_run_is_the_run_of_a_part(moons):
    X, y, *_ = moons
    table = acquire(StatevectorBackend(X), y, 40_000).table
    some = np.array([7, 3, 50, 12])
    part = table.subset(some)
    whole = table.square(table.estimate())
    np.testing.assert_array_equal(part.square(part.estimate()), whole[np.ix_(some, some)])
    with pytest.raises(InputError, match="twice"):
        table.subset([1, 1])
    with pytest.raises(InputError, match="between 0 and 59"):
        table.subset([1, 60])


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


def test_a_directory_keeps_what_was_measured(moons, counted, tmp_path):
    X, y, X_test, _ = moons
    model = QuantumRidgeClassifier(backend=counted, budget=5_000, directory=tmp_path)
    first = model.fit(X, y).predict(X_test, budget=3_000)
    assert model.ledger_path_.is_file()
    spent = Counting.spent
    # Another readout on the same measurements: nothing is bought again.
    again = clone(model).set_params(readout="ridge-loo").fit(X, y)
    assert Counting.spent == spent
    assert again.ledger_path_ == model.ledger_path_
    assert np.array_equal(clone(model).fit(X, y).predict(X_test, budget=3_000), first)
    assert Counting.spent == spent
    clone(model).fit(X[:50], y[:50])  # other data have a ledger of their own
    assert Counting.spent == spent + 5_000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"backend": "statevectr"}, "backend must be 'statevector'"),
        ({"backend": 7}, "backend must be"),
        ({"budget": -1}, "budget must be"),
        ({"readout": "rigde"}, "Did you mean 'ridge'"),
        ({"allocator": "autto"}, "Did you mean 'auto'"),
        ({"backend": MatrixBackend(np.eye(60))}, "BackendFactory"),
    ],
)
def test_bad_parameters_are_named(moons, change, message):
    X, y, *_ = moons
    with pytest.raises(InputError, match=message):
        QuantumRidgeClassifier(**change).fit(X, y)


def test_a_backend_without_exact_entries_asks_for_a_budget(moons):
    X, y, X_test, _ = moons

    class Hardware(Backend):
        def __init__(self, X, feature_map, columns, seed):
            self.inner = StatevectorBackend(X, feature_map, columns=columns, seed=seed)

        @property
        def shape(self):
            return self.inner.shape

        def submit(self, plan, tag):
            return self.inner.submit(plan, tag)

        def collect(self, ticket):
            return self.inner.collect(ticket)

    model = QuantumRidgeClassifier(backend=BackendFactory(Hardware), budget=2_000).fit(X, y)
    with pytest.raises(InputError, match="budget is needed: Hardware has no exact entries"):
        model.predict(X_test)
    assert len(model.predict(X_test, budget=1_000)) == len(X_test)
    given = QuantumRidgeClassifier(backend="precomputed").fit(zz_kernel(X), y)
    with pytest.raises(InputError, match="nothing to measure"):
        given.predict(zz_kernel(X), budget=10)
    with pytest.raises(InputError, match="the estimator sets them"):
        BackendFactory(StatevectorBackend, seed=3)
