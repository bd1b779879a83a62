"""Points from counts to decisions: heads, intervals, settled classes."""

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector
from sklearn.datasets import make_moons
from sklearn.preprocessing import minmax_scale

from aqka import InputError, Problem, StatevectorBackend, Training, acquire, predict
from aqka._util.arrays import digest
from aqka.backends import LightConeBackend
from aqka.core.settings import neighbour_settings
from aqka.designs import Fidelity, KernelEstimate, Never, Points, Projected, Settle
from aqka.designs.fidelity import StateEstimate
from aqka.estimates.states import FittedStates
from aqka.learners import make_learner
from aqka.learners.ridge import RidgeLoo, loo_errors
from aqka.runs.driver import drive
from aqka.sessions import Predicting, Values

PURE = Points(Fidelity(rank=1))
NOT_SETTLED = Settle(error_rate=1e-9)


def moons(n, seed=0):
    X, y = make_moons(n, noise=0.15, random_state=seed)
    return minmax_scale(X, (1.5, 3.1)), y


X, Y = moons(40)
NEW = moons(60, seed=1)[0]


def test_many_shots_give_the_head_of_the_exact_kernel():
    problem = Problem(Y, ridge=1.0)
    session = Training(problem, 40 * 40_000, design=PURE, n_qubits=2)
    drive(session, StatevectorBackend(X))
    head = session.fit("ridge")
    exact = make_learner("ridge").fit(KernelEstimate(StatevectorBackend(X).kernel()), problem)
    f = exact.decision_function(StatevectorBackend(NEW, columns=X).kernel())
    found = predict(head, StatevectorBackend(NEW), 60 * 20_000)
    far = np.abs(f) > 0.1
    np.testing.assert_array_equal(found.labels[far], exact.labels(f)[far])
    # The two heads' kernels and the new points' states have errors of about 0.01.
    np.testing.assert_allclose(found.f, f, atol=0.1)


FEW_RIDGES = RidgeLoo(grid=(0.3, 3.0))
RIDGES = np.array([0.1, 1.0, 10.0])


@pytest.mark.parametrize("learner", [None, "ridge", "ridge-loo", FEW_RIDGES, "ridge-noise"])
def test_features_give_the_head_of_a_kernel_that_is_never_formed(learner, monkeypatch):
    """40 points of 2 qubits: 16 features are fewer, and must make no difference."""
    session = acquire(StatevectorBackend(X), Y, 40 * 300, design=PURE, ridge=0.2)
    variances = np.full((40, 40), 1e-3)
    monkeypatch.setattr(StateEstimate, "_variances", lambda *_: variances)
    with monkeypatch.context() as patch:
        patch.setattr(StateEstimate, "features", lambda self: None)
        by_kernel = session.fit(learner)

    formed = []
    monkeypatch.setattr(FittedStates, "kernel", lambda states: formed.append(len(states.vectors)))
    by_features = session.fit(learner)
    assert not formed
    assert by_features.regularisation == pytest.approx(by_kernel.regularisation)
    # The kernel is projected: its zero eigenvalues are raised to 1e-6.
    heads, y = (by_features, by_kernel), session.problem.outputs
    np.testing.assert_allclose(*(h.alpha for h in heads), rtol=1e-3)
    np.testing.assert_allclose(*(h.estimate.operators(h) for h in heads), atol=1e-3)
    np.testing.assert_allclose(*(loo_errors(h.spectrum, y, RIDGES) for h in heads), rtol=1e-3)
    np.testing.assert_allclose(*(h.decide(session.table).f for h in heads), atol=1e-4)


def test_of_many_points_the_noise_is_that_of_some(monkeypatch):
    """The ridge of ridge-noise follows from a mean, which 12 of 40 points know, too."""
    estimate = acquire(StatevectorBackend(X), Y, 40 * 300, design=PURE).estimate()
    whole = estimate.mean_variance()
    monkeypatch.setattr("aqka.designs.fidelity.VARIANCE_POINTS", 12)
    assert whole / 2 < estimate.mean_variance() < 2 * whole


@pytest.mark.parametrize("learner", ["svm", "ridge-kfold"])
def test_every_learner_takes_the_kernel_of_points(learner):
    session = acquire(StatevectorBackend(X), Y, 40 * 500, design=PURE)
    head = session.fit(learner)
    found = predict(head, StatevectorBackend(X), 40 * 500)
    assert np.mean(found.labels == Y) > 0.8


def test_three_classes_and_real_targets():
    three = np.digitize(X[:, 0], [2.0, 2.5])
    backend = StatevectorBackend(X)
    found = predict(acquire(backend, three, 40 * 2000, design=PURE).fit(), backend, 40 * 1000)
    assert found.f.shape == (40, 3)
    assert np.mean(found.labels == three) > 0.85
    target, backend = np.cos(X[:, 0]), StatevectorBackend(X, seed=4)
    head = acquire(backend, target, 40 * 2000, design=PURE).fit()
    f = head.decide(acquire(backend, target, 40 * 2000, design=PURE).table).f
    exact = make_learner("ridge-loo").fit(KernelEstimate(backend.kernel()), Problem(target))
    assert np.corrcoef(f, exact.decision_function(backend.kernel()))[0, 1] > 0.98


def test_intervals_cover_the_decision_of_the_exact_state():
    """1,200 intervals of 90 %: within four standard errors (0.9 %) of it, or more."""
    head = acquire(StatevectorBackend(X), Y, 40 * 1000, design=PURE).fit()
    covered = []
    for seed in range(10):
        points = moons(120, seed=10 + seed)[0]
        backend = StatevectorBackend(points, seed=seed)
        exact = head.estimate.decide_exactly(head, backend)
        session = Predicting(head, 120, 120 * 128, stop=NOT_SETTLED)
        while not session.done:
            session.tell(backend.collect(backend.submit(session.ask(), session.tag)))
        found = session.result(level=0.9)
        covered.append(np.mean((found.low <= exact) & (exact <= found.high)))
    assert 0.9 - 4 * np.sqrt(0.09 / 1200) < np.mean(covered) < 0.985


def test_settled_points_are_rarely_wrong_and_shots_are_saved():
    head = acquire(StatevectorBackend(X), Y, 40 * 1000, design=PURE).fit()
    wrong, settled, spent = 0, 0, []
    for seed in range(6):
        points = moons(150, seed=50 + seed)[0]
        backend = StatevectorBackend(points, seed=seed)
        exact = head.labels(head.estimate.decide_exactly(head, backend))
        found = predict(head, backend, 150 * 256)
        wrong += int(np.sum(found.settled & (found.labels != exact)))
        settled += int(found.settled.sum())
        spent.append(found.shots[found.settled].mean() / found.shots[~found.settled].mean())
    assert settled > 600
    # At 5 % a point 45 of 900 were allowed; beyond 45 + 4 standard deviations is no chance.
    assert wrong <= 45 + 4 * np.sqrt(45)
    assert max(spent) < 0.7  # what is settled leaves its shots to the others


def test_projected_kernels_need_few_settings_and_any_number_of_qubits():
    angles = QuantumCircuit(9)
    for qubit, angle in enumerate(ParameterVector("x", 9)):
        angles.ry(angle, qubit)
    points = np.random.default_rng(0).uniform(0, 2, size=(60, 9))
    y = (points.sum(axis=1) > 9).astype(int)
    training, new = StatevectorBackend(points[:40], angles), StatevectorBackend(points[40:], angles)
    design = Points(Projected(gamma=0.3))
    head = acquire(training, y[:40], 40 * 600, design=design).fit()
    found = predict(head, new, 20 * 600, stop=NOT_SETTLED)
    better = predict(head, new, 20 * 60_000, stop=NOT_SETTLED)
    score = (found.f - better.f) / ((found.high - found.low) / (2 * 1.645))
    assert 0.5 < np.sqrt(np.mean(score**2)) < 1.6  # 20 points: a deviation is known to 16 %
    assert np.all(found.low < found.f)
    assert np.all(found.f < found.high)


def test_points_of_many_qubits_get_the_shots_that_any_statement_needs():
    x, y = np.random.default_rng(0).uniform(0, 2, (6, 12)), [0, 1] * 3
    with pytest.raises(InputError, match=r"every point \d+ shots, so that each qubit is measured"):
        Training(Problem(y), 6 * 5, design="points", n_qubits=12)
    head = acquire(LightConeBackend(x), y, 6 * 96, design="points").fit()
    least = head.estimate.design.least_shots(head.estimate.table)
    with pytest.raises(InputError, match=rf"every point {least} shots, {2 * least} in all"):
        Predicting(head, 2, 2 * least - 1)
    # Its first look would have an eighth of the shots, with which no state is known; and shots
    # drawn again from so few miss an operator now and then, which must not end the run.
    found = predict(head, LightConeBackend(x), 6 * least)
    assert np.all(np.isfinite(found.high - found.low))


def test_one_look_spends_everything_and_settles_at_the_whole_error_rate():
    head = acquire(StatevectorBackend(X), Y, 40 * 500, design=PURE).fit()
    session = Predicting(head, 60, 60 * 100, stop=Settle(0.05, looks=1))
    drive(session, StatevectorBackend(NEW))
    found = session.result()
    assert (session.round, found.shots.sum()) == (1, 6000)
    assert np.ptp(found.shots) == 0
    alone = head.decide(session.table)
    np.testing.assert_array_equal(found.settled, np.abs(alone.f) > 1.6448536 * alone.deviation)
    assert 0 < found.settled.sum() < 60


def test_values_are_bought_in_one_round_or_as_many_as_are_named():
    backend, target = StatevectorBackend(X), np.cos(X[:, 0])
    head = acquire(backend, target, 40 * 500, design=PURE).fit()
    assert not head.has_classes
    for stop, rounds in ((None, 1), (Never(looks=3), 3)):
        session = Predicting(head, 40, 4001, stop=stop)
        drive(session, backend)
        found = session.result(level=0.8)
        assert type(found) is Values
        assert (session.round, found.shots.sum()) == (rounds, 4001)
        assert not session.settled.any()
        np.testing.assert_allclose(found.high - found.f, 1.2815516 * found.decided.deviation)


def test_designs_with_settings_are_compared_and_hashed_by_them():
    star = [(0, q) for q in range(1, 10)]
    circuit, x = QuantumCircuit(10), ParameterVector("x", 10)
    for q in range(10):
        circuit.ry(x[q], q)
    for a, b in star:
        circuit.cz(a, b)
    points = np.random.default_rng(0).uniform(0, 3, (4, 10))
    first, again = (
        acquire(LightConeBackend(points, circuit), [0, 1, 0, 1], 4 * 90, design="points")
        for _ in range(2)
    )
    letters = neighbour_settings(10, star)
    assert first.design == again.design == Points(settings=letters)
    assert hash(first.design) == hash(again.design) == hash(Points(settings=letters.tolist()))
    assert first.design not in {Points(), Points(settings=letters[::-1])}
    assert first.settings()["pauli"] == digest(letters)  # as ledgers have always had it
    with pytest.raises(InputError, match="settings must hold 0, 1, 2"):
        Points(settings=[[0, 3]])
