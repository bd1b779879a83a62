import ast
import inspect
import itertools
import pickle
import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import aqka
from aqka import (
    ExactScoreWarning,
    InputError,
    MatrixBackend,
    QuantumRidge,
    QuantumRidgeClassifier,
    QuantumSVC,
)
from aqka.backends.statevector import zz_kernel
from tests.estimators.counting import Counting

DESIGNS = ("pairs", "points")
# Points of ten qubits need 24 shots each, and some checks have 200 of them. None needs more: the
# estimators say that they may score poorly on the data of the checks.
CHECKED = [
    kind(budget=5_000, design=design)
    for kind in (QuantumRidgeClassifier, QuantumSVC, QuantumRidge)
    for design in (*DESIGNS, "auto")
]


LEFT_OUT = {
    "check_sample_weight_equivalence_on_dense_data": "it has 30 features, more than a simulator's "
    "qubits; tests/estimators/test_ridge.py leaves points out by their weight on a given kernel",
}


# It skips two: without pandas, and without SCIPY_ARRAY_API.
@parametrize_with_checks(CHECKED, expected_failed_checks=lambda _: LEFT_OUT)
def test_scikit_learn_checks(estimator, check, few_drawn_states):
    check(estimator)


@pytest.mark.parametrize("kind", [QuantumRidgeClassifier, QuantumSVC, QuantumRidge])
def test_each_estimator_documents_its_own_parameters(kind):
    documented = re.findall(r"^(\w+) : .*(?:optional|default=.*)$", inspect.getdoc(kind), re.M)
    assert documented == list(inspect.signature(kind).parameters)
    for name, parameter in inspect.signature(kind).parameters.items():
        if parameter.default is not None:
            shown = re.search(rf"^{name} : .*default=(.*)$", inspect.getdoc(kind), re.M)[1]
            assert ast.literal_eval(shown) == parameter.default
    assert kind.__name__ in dir(aqka)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("estimator", [QuantumRidgeClassifier, QuantumSVC])
def test_fit_spends_its_budget_and_says_what_it_found(moons, counted, estimator, design):
    X, y, X_test, y_test = moons
    model = estimator(backend=counted, budget=30_000, design=design).fit(X, y)
    assert Counting.spent == model.shots_used_ == 30_000
    assert model.session_.design.name == design
    assert model.classes_.tolist() == ["down", "up"]
    exact = zz_kernel(X)
    off = ~np.eye(60, dtype=bool)
    z = (model.kernel_ - exact)[off] / np.sqrt(model.kernel_variance_[off])
    assert 0.8 < np.std(z) < 1.2  # the variances are those of the errors
    assert 0 < model.diagnostics_.rho <= 1
    if design == "pairs":  # by its counts
        assert model.diagnostics_ == aqka.diagnose(model.table_, model.problem_)
    assert "shots" in model.allocation_reason_
    assert model.ledger_path_ is None
    assert model.score(X_test, y_test) > 0.7
    assert set(model.predict(X_test)) <= {"up", "down"}


@pytest.mark.parametrize("design", DESIGNS)
def test_prediction_under_a_budget(moons, counted, design):
    X, y, X_test, _ = moons
    model = QuantumRidgeClassifier(backend=counted, budget=30_000, design=design).fit(X, y)
    Counting.spent = 0
    found = model.prediction(X_test, budget=50_000)
    assert Counting.spent == found.shots.sum() <= 50_000
    assert np.all(found.low <= found.high)
    exact = model.predict(X_test)  # without a budget, exact entries or states
    assert Counting.spent == found.shots.sum()
    by_shots = model.predict(X_test, budget=50_000)
    assert np.mean(by_shots[found.settled] == exact[found.settled]) > 0.9
    assert np.mean(by_shots == exact) > 0.85
    shared = clone(model).set_params(budget=60_000, new_points=len(X_test)).fit(X, y)
    share, Counting.spent = shared.quote_.part("predictions").shots, 0
    np.testing.assert_allclose(shared.predict_proba(X_test).sum(axis=1), 1.0)
    assert 0 < Counting.spent <= share < 60_000


@pytest.mark.parametrize("kind", [QuantumRidgeClassifier, QuantumSVC, QuantumRidge])
def test_a_score_of_exact_entries_says_so(kind):
    X = np.random.default_rng(0).uniform(0, 3, (16, 2))
    y = np.arange(16) % 2
    model = kind(budget=2_000, design="points").fit(X[:10], y[:10])
    with pytest.warns(ExactScoreWarning, match=r"exact test entries.*new_points=…") as caught:
        model.score(X[10:], y[10:])
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X[10:])
        shots = kind(budget=2_000, design="points", new_points=6).fit(X[:10], y[:10])
        assert np.isfinite(shots.score(X[10:], y[10:]))
        given = kind(backend="precomputed").fit(zz_kernel(X), y)
        assert np.isfinite(given.score(zz_kernel(X), y))


def test_total_intervals_flag_labels_that_could_flip(moons):
    X, y, X_test, _ = moons
    settings = {"budget": 10_000, "learner": "ridge-kfold", "design": "pairs"}
    model = QuantumRidgeClassifier(**settings).fit(X[:30], y[:30])
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
    for kind, design in itertools.product((QuantumRidgeClassifier, QuantumSVC), DESIGNS):
        model = kind(budget=5_000, design=design).fit(X, y)
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
        ({"learner": "rigde"}, "Did you mean 'ridge'"),
        ({"allocator": "unifrom"}, "Did you mean 'uniform'"),
        ({"backend": MatrixBackend(np.eye(60))}, "BackendFactory"),
    ],
)
def test_bad_parameters_are_named(moons, change, message):
    X, y, *_ = moons
    with pytest.raises(InputError, match=message):
        QuantumRidgeClassifier(**change).fit(X, y)


@pytest.mark.parametrize(
    ("labels", "words"),
    [(["a", None], "y holds missing values"), ([1, "b"], "y mixes labels of several types")],
)
def test_labels_that_cannot_be_sorted_are_refused_in_words(labels, words):
    with pytest.raises(InputError, match=words):
        QuantumRidgeClassifier(budget=100).fit([[0.1, 0.2], [0.3, 0.4]], np.array(labels, object))
