from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from aqka import (
    Backend,
    BackendFactory,
    InputError,
    Points,
    Problem,
    QuantumRidge,
    QuantumRidgeClassifier,
    QuantumSVC,
    StatevectorBackend,
    acquire,
)
from aqka.backends.statevector import zz_kernel
from aqka.designs import Never
from aqka.estimators._source import Purchase, kernel_source
from aqka.learners import make_learner, svm
from aqka.maths.sensitivity import solve_dual
from aqka.maths.spectrum import FeatureSpectrum, Spectrum
from aqka.runs.audit import verify
from tests.estimators.counting import Counting


def test_budgets_may_be_time_or_money(moons):
    X, y, *_ = moons
    assert QuantumRidgeClassifier(budget="60 s", design="pairs").fit(X, y).shots_used_ > 100_000
    with pytest.raises(InputError, match="budget"):
        QuantumRidgeClassifier(budget="5 parsecs").fit(X, y)
    for design, shots in (("pairs", 16 * 60 * 59 // 2), ("points", 16 * 4 * 60)):
        assert QuantumRidgeClassifier(design=design).fit(X, y).shots_used_ == shots


def test_a_precomputed_kernel_is_tuned_without_a_shot(moons):
    X, y, *_ = moons
    grid = {"learner": ["ridge", "ridge-loo", "ridge-noise"]}
    made = QuantumRidgeClassifier(backend="precomputed")
    search = GridSearchCV(made, grid, cv=3).fit(zz_kernel(X), y)
    assert search.best_estimator_.shots_used_ == 0


def test_a_finished_run_is_tuned_without_a_shot(moons, tmp_path):
    X, y, *_ = moons
    session = acquire(StatevectorBackend(X), y, 40_000, design="pairs", directory=tmp_path / "run")
    points = np.arange(60).reshape(-1, 1)
    for run in (session, session.table, tmp_path / "run", str(tmp_path / "run")):
        made = QuantumRidgeClassifier(backend=run)
        grid = {"learner": ["ridge", "ridge-kfold", "ridge-noise"]}
        search = GridSearchCV(made, grid, cv=3, error_score="raise").fit(points, y)
        assert search.best_estimator_.shots_used_ == 0
        whole = made.fit(points, y)
        np.testing.assert_allclose(whole.head_.alpha, session.fit().alpha)
    with pytest.raises(InputError, match="one column of point numbers"):
        QuantumRidgeClassifier(backend=session).fit(X, y)


def test_a_part_of_a_run_is_the_run_of_a_part(moons):
    X, y, *_ = moons
    table = acquire(StatevectorBackend(X), y, 40_000, design="pairs").table
    some = np.array([7, 3, 50, 12])
    part = table.subset(some)
    whole = table.square(table.estimate())
    np.testing.assert_array_equal(part.square(part.estimate()), whole[np.ix_(some, some)])
    with pytest.raises(InputError, match="twice"):
        table.subset([1, 1])
    with pytest.raises(InputError, match="between 0 and 59"):
        table.subset([1, 60])


@pytest.mark.parametrize("design", ["pairs", "points"])
def test_a_directory_keeps_what_was_measured(moons, counted, tmp_path, design):
    X, y, X_test, _ = moons
    settings = {"backend": counted, "budget": 5_000, "directory": tmp_path, "design": design}
    model = QuantumRidgeClassifier(**settings)
    first = model.fit(X, y).predict(X_test, budget=3_000)
    assert model.ledger_path_.is_file()
    spent = Counting.spent
    # Another learner on the same measurements: nothing is bought again.
    again = clone(model).set_params(learner="ridge-kfold").fit(X, y)
    assert Counting.spent == spent
    assert again.ledger_path_ == model.ledger_path_
    assert np.array_equal(clone(model).fit(X, y).predict(X_test, budget=3_000), first)
    assert Counting.spent == spent
    clone(model).fit(X[:50], y[:50])  # other data have a ledger of their own
    assert Counting.spent == spent + 5_000
    ledgers = list(tmp_path.glob("*/ledger.sqlite"))
    assert len(ledgers) == 3  # two fits, one prediction
    assert all(verify(path).finished for path in ledgers)


@pytest.mark.parametrize("design", ["pairs", "points", Points("projected")])
def test_last_bits_of_another_processor_buy_nothing_twice(
    moons, counted, tmp_path, monkeypatch, design
):
    X, y, X_test, _ = moons
    target = np.cos(X[:, 0])
    models = [(QuantumRidgeClassifier, y), (QuantumSVC, y), (QuantumRidge, target)]
    settings = {"backend": counted, "budget": 6_000, "directory": tmp_path, "design": design}

    def run(scale):
        return [
            kind(**settings).fit(scale * X, scale * t if t is target else t)
            .predict(scale * X_test, budget=4_000)
            for kind, t in models
        ]  # fmt: skip

    first = run(1.0)
    spent, folders = Counting.spent, sorted(tmp_path.iterdir())

    def shaken(solve):
        return lambda *args: solve(*args) * (1 + 1e-14)

    for kind in (Spectrum, FeatureSpectrum):
        monkeypatch.setattr(kind, "solve", shaken(kind.solve))
    monkeypatch.setattr(svm, "solve_dual", _shaken_dual)
    again = run(1 + 1e-15)
    assert (Counting.spent, sorted(tmp_path.iterdir())) == (spent, folders)
    assert all(map(np.array_equal, again[:2], first[:2]))
    np.testing.assert_allclose(again[2], first[2], rtol=1e-9)


def _shaken_dual(*args):
    solved = solve_dual(*args)
    return replace(solved, dual=solved.dual * (1 + 1e-14))


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

    settings = {"backend": BackendFactory(Hardware), "budget": 2_000, "design": "pairs"}
    model = QuantumRidgeClassifier(**settings).fit(X, y)
    with pytest.raises(InputError, match="budget is needed: Hardware has no exact entries"):
        model.predict(X_test)
    assert len(model.predict(X_test, budget=1_000)) == len(X_test)
    given = QuantumRidgeClassifier(backend="precomputed").fit(zz_kernel(X), y)
    with pytest.raises(InputError, match="nothing to measure"):
        given.predict(zz_kernel(X), budget=10)
    with pytest.raises(InputError, match="the estimator sets them"):
        BackendFactory(StatevectorBackend, seed=3)


def test_every_source_gives_the_same_entries_of_the_same_kernel(moons):
    X, y, *_ = moons
    train, test = np.arange(40), np.arange(40, 60)
    problem = Problem(y[train])
    exact = zz_kernel(X)
    run = acquire(StatevectorBackend(X), y, 10**12, design="pairs")
    purchase = Purchase(budget=10**12, design="pairs")
    numbers = np.arange(60).reshape(-1, 1)
    sources = {
        "bought": (kernel_source(X[train], purchase), X[test]),
        "given": (
            kernel_source(exact[np.ix_(train, train)], replace(purchase, backend="precomputed")),
            exact[np.ix_(test, train)],
        ),
        "run": (kernel_source(numbers[train], replace(purchase, backend=run)), numbers[test]),
    }
    for name, (source, points) in sources.items():
        estimate = source.estimate(problem)
        np.testing.assert_allclose(estimate.kernel, exact[np.ix_(train, train)], atol=1e-3)
        assert estimate.variance is None or np.all(estimate.variance < 1e-8)
        # A head of one point's coefficient reads one column of the test-by-train block.
        head = replace(make_learner("ridge").fit(estimate, problem), alpha=np.eye(40)[7])
        f = source.decide(head, points)
        np.testing.assert_allclose(f, exact[test, train[7]], atol=1e-3)
        assert (source.session is not None) == source.takes_shots == (name == "bought")
        if not source.takes_shots:
            with pytest.raises(InputError, match="nothing to measure"):
                source.predict(head, points, 100, Never(), 0.9)


def test_points_of_a_run_must_be_among_its_own(moons):
    X, y, *_ = moons
    run = acquire(StatevectorBackend(X), y, 2_000)
    with pytest.raises(InputError, match=r"X, .* between 0 and 59, got 0 to 60"):
        QuantumRidgeClassifier(backend=run).fit(np.array([[0], [60], [1]]), [0, 1, 1])


def test_a_factory_of_what_is_no_backend_is_refused(moons):
    X, y, *_ = moons
    with pytest.raises(InputError, match=r"derive it from aqka\.Backend"):
        QuantumRidgeClassifier(backend=BackendFactory(lambda **options: object())).fit(X, y)
