"""Estimators that measure points instead of pairs."""

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from aqka import (
    BackendFactory,
    InputError,
    MatrixBackend,
    Points,
    QuantumRidge,
    QuantumRidgeClassifier,
    QuantumSVC,
    StatevectorBackend,
    acquire,
    predict,
)
from aqka.backends import AerBackend, depolarising_noise
from aqka.backends.statevector import zz_kernel
from aqka.designs import Projected, fidelity, point_kernel_names
from aqka.designs.resolve import resolve
from aqka.estimates import state_errors
from aqka.estimates.state_errors import kernel_errors
from aqka.insight.diagnostics import diagnose
from aqka.maths.point_law import equivalent_pair_shots
from aqka.runs.export import measurements


def test_very_many_points_keep_no_kernel(moons, monkeypatch):
    X, y, X_test, _ = moons
    monkeypatch.setattr(fidelity, "MOST_POINTS_OF_A_KERNEL", 59)
    model = QuantumRidgeClassifier(budget=60 * 400, design="points", seed=5)
    many = clone(model).fit(X, y)
    assert many.kernel_ is many.kernel_variance_ is many.diagnostics_ is None
    monkeypatch.undo()
    few = model.fit(X, y)
    np.testing.assert_array_equal(many.decision_function(X_test), few.decision_function(X_test))
    assert many.temperature_ == few.temperature_


def test_more_qubits_than_states_can_have_take_a_projected_kernel():
    random = np.random.default_rng(0)
    X = random.uniform(0, 1, size=(60, 9))
    y = (X.sum(axis=1) > 4.5).astype(int)
    angles = QuantumCircuit(9)
    for qubit, angle in enumerate(ParameterVector("x", 9)):
        angles.ry(angle, qubit)
    model = QuantumRidgeClassifier(
        feature_map=angles, budget=80 * 600, design="points", new_points=40
    ).fit(X[:40], y[:40])
    assert model.kernel_.shape == (40, 40)
    assert model.score(X[40:], y[40:]) > 0.7
    np.testing.assert_allclose(model.predict_proba(X[40:]).sum(axis=1), 1.0)


def test_svc_and_regression_of_points(moons):
    X, y, X_test, y_test = moons
    svc = QuantumSVC(budget=60 * 400, design="points").fit(X, y)
    assert np.mean(svc.predict(X_test) == y_test) > 0.75
    target = 3 + np.cos(X[:, 0])
    ridge = QuantumRidge(budget=60 * 400, design="points").fit(X, target)
    assert ridge.score(X, target) > 0.8


def test_values_of_new_points_take_one_round_for_there_is_nothing_to_settle(moons, tmp_path):
    X, _, X_test, _ = moons
    ridge = QuantumRidge(budget=60 * 400, design="points", directory=tmp_path)
    found = ridge.fit(X, 3 + np.cos(X[:, 0])).prediction(X_test, budget=401 * len(X_test))
    np.testing.assert_array_equal(found.shots, 401)
    (folder,) = tmp_path.glob("predict-*")
    assert set(measurements(folder).round) == {0}
    error = found.f - 3 - np.cos(X_test[:, 0])
    assert np.mean(np.abs(error)) < 0.2


def test_a_learner_that_is_named_is_the_one_that_reads(moons):
    X, y, *_ = moons
    settings = {"budget": 60 * 64, "design": "points"}
    named = QuantumRidgeClassifier(**settings, learner="ridge-noise").fit(X, y)
    assert named.get_params()["learner"] == "ridge-noise"
    session = named.session_
    by_noise, left_out = session.fit("ridge-noise"), session.fit("ridge-loo")
    assert by_noise.regularisation != left_out.regularisation  # or nothing is shown
    assert named.head_.regularisation == by_noise.regularisation
    default = QuantumRidgeClassifier(**settings).fit(X, y)
    assert default.get_params()["learner"] is None
    assert default.head_.regularisation == session.fit().regularisation
    numbers = np.arange(60).reshape(-1, 1)
    for learner, head in (("ridge-noise", by_noise), (None, session.fit())):
        finished = QuantumRidgeClassifier(backend=session, learner=learner).fit(numbers, y)
        assert finished.head_.regularisation == head.regularisation


def test_an_estimator_calibrates_out_of_its_budget(moons):
    X, y, X_test, _ = moons
    settings = {"design": Points(calibration_shots=400), "budget": 6400}
    model = QuantumRidgeClassifier(**settings, new_points=20).fit(X, y)
    assert model.session_.calibration.total == 400
    assert model.shots_used_ == model.quote_.shots + 400
    assert model.quote_.total.shots == 6400  # of training, calibration and predictions
    assert model.predict(X_test[:20]).shape == (20,)
    np.testing.assert_array_equal(model.session_.confusion, [np.eye(2)] * 2)
    assert QuantumSVC(**settings).fit(X, y).shots_used_ == 6400


def test_auto_takes_points_where_there_are_many_or_no_pairs_can_be_measured(moons):
    X, y, *_ = moons
    model = QuantumRidgeClassifier(budget=600)
    for settings, n_points, name in (
        ({"budget": 20_000}, 60, "points"),
        ({}, 4, "pairs"),
        ({"backend": "light-cone"}, 4, "points"),  # which has no pairs
    ):
        data = np.tile(X, 5) if "backend" in settings else X  # light cones are for many qubits
        auto = clone(model).set_params(**settings).fit(data[:n_points], y[:n_points])
        assert auto.session_.design.name == auto.quote_.design == name
    assert "the backend measures no pairs" in auto.allocation_reason_


@pytest.mark.parametrize(
    ("n_points", "better", "settings"),
    [
        (40, "points", {"budget": 4000, "new_points": 50}),
        (40, "points", {"budget": 4000}),
        (6, "points", {"budget": 3000, "new_points": 50}),
        (6, "pairs", {"budget": 3000, "new_points": 1}),
        (6, "pairs", {"budget": 3000, "new_points": 0}),
        (4, "pairs", {"budget": "30 s"}),
        (40, "points", {}),
        (4, "pairs", {}),
    ],
)
def test_auto_buys_what_the_better_design_buys(moons, n_points, better, settings):
    X, y = moons[0][:n_points], moons[1][:n_points]
    auto = QuantumRidgeClassifier(**settings).fit(X, y)
    named = QuantumRidgeClassifier(**settings, design=better).fit(X, y)
    assert auto.session_.design == named.session_.design
    assert auto.shots_used_ == named.shots_used_
    assert auto.quote_ == named.quote_
    assert auto.quote_ is None or auto.quote_.design == better


def test_auto_says_why(moons):
    X, y, *_ = moons
    model = QuantumRidgeClassifier(budget=4000, new_points=50).fit(X[:40], y[:40])
    why = resolve(n_points=40, n_qubits=2, budget=4000, new_points=50).reason
    assert model.allocation_reason_.startswith(why)
    assert model.session_.reason == why
    pairs = QuantumRidgeClassifier(budget=600).fit(X[:4], y[:4])
    assert pairs.allocation_reason_.startswith("Pairs, ")
    named = QuantumRidgeClassifier(budget=600, design="points").fit(X[:4], y[:4])
    assert named.session_.reason == ""


def test_bad_designs_are_named(moons):
    X, y, X_test, _ = moons

    def kernel_of(X, feature_map, columns, seed):
        return MatrixBackend(np.eye(len(X)))

    for design, backend, words in (
        ("triples", "statevector", "design must be one of 'auto', 'pairs', 'points'"),
        ("points", BackendFactory(kernel_of), "needs a backend that prepares states"),
    ):
        with pytest.raises(InputError, match=words):
            QuantumRidgeClassifier(budget=9000, design=design, backend=backend).fit(X, y)
    model = QuantumRidgeClassifier(budget=9000, design="points").fit(X, y)
    with pytest.raises(InputError, match="total intervals exist only for pairs"):
        model.prediction(X_test, budget=1000, total=True)


def test_a_finished_run_of_points_is_tuned_without_a_shot(moons, tmp_path):
    X, y, X_test, y_test = moons
    backend = StatevectorBackend(X)
    session = acquire(backend, y, 60 * 2000, design="points", directory=tmp_path / "run")
    numbers = np.arange(60).reshape(-1, 1)
    for run in (session, session.table, tmp_path / "run", str(tmp_path / "run")):
        model = QuantumRidgeClassifier(backend=run).fit(numbers, y)
        np.testing.assert_array_equal(model.head_.alpha, session.fit().alpha)
        assert (model.shots_used_, model.session_) == (0, None)
    # Held-out points of the run are decided by their own counts, as new points would be.
    part = QuantumRidgeClassifier(backend=session).fit(numbers[:40], y[:40])
    f = part.decision_function(numbers[40:])
    exact = part.head_.estimate.decide_exactly(part.head_, StatevectorBackend(X[40:]))
    assert np.corrcoef(f, exact)[0, 1] > 0.95
    assert not np.array_equal(f, exact)
    search = GridSearchCV(QuantumSVC(backend=session), {"C": [0.1, 5]}, cv=2, error_score="raise")
    search.fit(numbers, y)
    assert search.best_estimator_.shots_used_ == 0
    assert search.best_score_ > 0.7
    # New points are measured by whoever can, for the head that was trained without a shot.
    found = predict(model.head_, StatevectorBackend(X_test), budget=200 * len(X_test))
    assert np.mean(model.classes_[found.labels] == y_test) > 0.75
    with pytest.raises(InputError, match="nothing to measure"):
        model.predict(numbers, budget=100)
    with pytest.raises(InputError, match="one column of point numbers"):
        QuantumRidgeClassifier(backend=session).fit(X, y)
    with pytest.raises(InputError, match=r"X, .* between 0 and 59"):
        model.predict([[60]])


def test_a_projected_kernel_is_kept_for_probabilities():
    X = np.random.default_rng(0).uniform(0, 1, size=(12, 9))
    model = QuantumRidgeClassifier(budget=12 * 300, design="points")
    model.fit(X, np.arange(12) % 2)
    assert model.kernel_.shape == (12, 12)
    assert np.all((model.kernel_ > 0) & (model.kernel_ <= 1))
    np.testing.assert_allclose(model.predict_proba(X[:2]).sum(axis=1), 1.0)
    # The first look comes when each qubit has been measured twice in X, Y and Z; fewer say nothing.
    least = model.head_.estimate.kernel_of_points.least_shots(model.table_.settings)
    assert 6 <= least < 96
    found = model.prediction(X[:2], budget=2 * least + 1)
    assert found.shots.min() >= least
    assert found.shots.sum() <= 2 * least + 1
    few = f"every point {least} shots, {2 * least} in all: {2 * least - 1} shots"
    with pytest.raises(InputError, match=few):
        model.prediction(X[:2], budget=2 * least - 1)


@pytest.mark.parametrize("name", point_kernel_names())
def test_the_kernel_of_points_is_the_users_choice(moons, tmp_path, name):
    X, y, X_test, y_test = moons
    settings = {"design": Points(name), "new_points": 60, "budget": 120 * 300}
    model = clone(QuantumRidgeClassifier(**settings, directory=tmp_path)).fit(X, y)
    assert model.get_params()["design"] == Points(name)
    expected = model.session_.fit(design=Points(name)).estimate
    np.testing.assert_array_equal(model.kernel_, expected.kernel)
    assert model.head_.estimate.meaning == expected.meaning
    assert model.table_.n_settings == (3 if name in ("projected", "projected-linear") else 9)
    labels = model.predict(X_test)
    assert np.mean(labels == y_test) > 0.5
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.predict(X_test), labels)
    assert len(list(tmp_path.glob("*/ledger.sqlite"))) == 2  # one fit, one prediction
    # A finished run is read as its session was, or as another kernel that its settings allow.
    numbers = np.arange(60).reshape(-1, 1)
    finished = QuantumRidgeClassifier(backend=model.session_).fit(numbers, y)
    np.testing.assert_array_equal(finished.kernel_, model.kernel_)
    other = QuantumSVC(backend=model.session_, design=Points(Projected(gamma=0.3)))
    assert other.fit(numbers, y).head_.estimate.kernel_of_points.gamma == 0.3
    by_path = QuantumRidgeClassifier(backend=model.ledger_path_.parent, design=Points(name))
    np.testing.assert_array_equal(by_path.fit(numbers, y).kernel_, model.kernel_)


def test_a_finished_run_of_pairs_is_not_read_as_points(moons):
    X, y, *_ = moons
    pairs = acquire(StatevectorBackend(X), y, 4000, design="pairs")
    with pytest.raises(InputError, match=r"Points\(.* does not fit the finished run"):
        QuantumSVC(backend=pairs, design=Points("device")).fit(np.arange(60).reshape(-1, 1), y)
    with pytest.raises(InputError, match="kernel of points must be one of 'purified'"):
        QuantumSVC(design=Points("pure"))


def test_diagnostics_know_the_noise_of_the_kernel_of_points(moons):
    X, y, *_ = moons
    model = QuantumRidgeClassifier(budget=60 * 400, design="points").fit(X, y)
    found = model.diagnostics_
    assert found.estimated
    assert "From noisy counts" in found.advice
    law = equivalent_pair_shots(2, 400, zz_kernel(X)[np.triu_indices(60, k=1)])
    assert 0.6 < found.shots_per_pair / law < 1.6
    # Entries of states have other variances than K(1 - K), and so another ratio.
    exact = diagnose(model.problem_.new_table(), model.problem_, model.kernel_)
    assert found.gini == exact.gini
    assert found.rho != exact.rho


def test_mixed_states_have_variances_where_a_bootstrap_is_quick(moons, monkeypatch):
    X, y = moons[0][:16], moons[1][:16]
    noisy = BackendFactory(AerBackend, noise=depolarising_noise(0.02, 0.2))
    settings = {"backend": noisy, "budget": 16 * 4000}
    for name in ("purified", "device"):
        model = QuantumRidgeClassifier(**settings, design=Points(name)).fit(X, y)
        states = model.head_.estimate.fitted
        assert states.rank > 1
        expected = kernel_errors(model.table_, states, np.random.default_rng(0), name).variance
        np.testing.assert_allclose(model.kernel_variance_, expected)
        off = ~np.eye(16, dtype=bool)
        assert np.all(model.kernel_variance_[off] > 0)
    monkeypatch.setattr(state_errors, "MAX_BOOTSTRAP_OUTCOMES", 1)
    slow = QuantumRidgeClassifier(**settings, design="points").fit(X, y)
    assert slow.kernel_variance_ is None
    assert slow.diagnostics_.estimated  # by the law of points
    assert 0.2 < slow.diagnostics_.shots_per_pair / (4000 / 4) < 2


def test_pairs_cannot_measure_a_projected_kernel_so_nothing_is_said_of_them(moons):
    X, y, *_ = moons
    model = QuantumSVC(budget=60 * 100, design=Points("projected")).fit(X, y)
    assert model.kernel_.shape == (60, 60)
    assert model.kernel_variance_ is None
    assert model.diagnostics_ is None
