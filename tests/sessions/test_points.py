"""Points from the first shot to the last decision: sessions, ledgers, heads and intervals."""

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector
from sklearn.datasets import make_moons
from sklearn.preprocessing import minmax_scale

from aqka import InputError, JobError, MatrixBackend, StatevectorBackend, acquire
from aqka.backends import MatrixProductBackend
from aqka.core import OutcomeCounts, Problem
from aqka.designs import KernelEstimate
from aqka.estimates.states import FittedStates
from aqka.readouts import Readout, make_readout
from aqka.readouts.ridge_loo import RidgeLoo
from aqka.runs import Patience
from aqka.runs.audit import verify
from aqka.runs.driver import drive
from aqka.runs.export import export, measurements, outcomes, point_table_of, table_of
from aqka.sessions import (
    FidelityOfPoints,
    PointAcquisition,
    PointPrediction,
    ProjectedPoints,
    choose_design,
    predict_points,
)

PURE = FidelityOfPoints(rank=1)


def moons(n, seed=0):
    X, y = make_moons(n, noise=0.15, random_state=seed)
    return minmax_scale(X, (1.5, 3.1)), y


X, Y = moons(40)
NEW = moons(60, seed=1)[0]


class Interrupted(Exception):
    pass


def same(first, second):
    return all(
        np.array_equal(getattr(first, name), getattr(second, name))
        for name in ("shots", "cells", "outcomes", "counts")
    )


def test_many_shots_give_the_head_of_the_exact_kernel():
    problem = Problem(Y, ridge=1.0)
    session = PointAcquisition(problem, 2, 40 * 40_000)
    drive(session, StatevectorBackend(X))
    head = session.fit("ridge", kernel=PURE)
    exact = make_readout("ridge").fit(KernelEstimate(StatevectorBackend(X).kernel()), problem)
    f = exact.decision_function(StatevectorBackend(NEW, columns=X).kernel())
    found = predict_points(head, StatevectorBackend(NEW), 60 * 20_000)
    far = np.abs(f) > 0.1
    np.testing.assert_array_equal(found.labels[far], exact.labels(f)[far])
    # The two heads' kernels and the new points' states have errors of about 0.01.
    np.testing.assert_allclose(found.f, f, atol=0.1)


FEW_RIDGES = RidgeLoo(grid=(0.3, 3.0))


@pytest.mark.parametrize("readout", [None, "ridge", "ridge-loo", FEW_RIDGES, "ridge-noise"])
def test_features_give_the_head_of_a_kernel_that_is_never_formed(readout, monkeypatch):
    """40 points of 2 qubits: 16 features are fewer, and must make no difference."""
    session = acquire(StatevectorBackend(X), Y, 40 * 300, design="points", ridge=0.2)
    chosen, variances = make_readout(readout or "ridge-loo"), np.full((40, 40), 1e-3)
    monkeypatch.setattr(FidelityOfPoints, "_variances", lambda *_: variances)
    with monkeypatch.context() as patch:
        patch.setattr(type(chosen), "fit_features", Readout.fit_features)
        by_kernel = session.fit(readout, kernel=PURE)

    formed = []
    monkeypatch.setattr(FittedStates, "kernel", lambda states: formed.append(len(states.vectors)))
    by_features = session.fit(readout, kernel=PURE)
    assert not formed
    assert by_features.regularisation == pytest.approx(by_kernel.regularisation)
    # The kernel is projected: its zero eigenvalues are raised to 1e-6.
    np.testing.assert_allclose(by_features.operators, by_kernel.operators, atol=1e-3)


def test_of_many_points_the_noise_is_that_of_some(monkeypatch):
    """The ridge of ridge-noise follows from a mean, which 12 of 40 points know, too."""
    session = acquire(StatevectorBackend(X), Y, 40 * 300, design="points")
    states, _ = PURE._states(session.table)
    whole = PURE._mean_variance(session.table, states)
    monkeypatch.setattr("aqka.sessions.point_heads.VARIANCE_POINTS", 12)
    assert whole / 2 < PURE._mean_variance(session.table, states) < 2 * whole


@pytest.mark.parametrize("readout", ["svm", "ridge-kfold"])
def test_every_readout_takes_the_kernel_of_points(readout):
    session = acquire(StatevectorBackend(X), Y, 40 * 500, design="points")
    head = session.fit(readout, kernel=PURE)
    found = predict_points(head, StatevectorBackend(X), 40 * 500)
    assert np.mean(found.labels == Y) > 0.8


def test_three_classes_and_real_targets():
    three = np.digitize(X[:, 0], [2.0, 2.5])
    backend = StatevectorBackend(X)
    found = predict_points(
        acquire(backend, three, 40 * 2000, design="points").fit(kernel=PURE), backend, 40 * 1000
    )
    assert found.f.shape == (40, 3)
    assert np.mean(found.labels == three) > 0.85
    target = np.cos(X[:, 0])
    head = acquire(backend, target, 40 * 2000, design="points").fit(kernel=PURE)
    f, _ = head.decide(acquire(backend, target, 40 * 2000, design="points").table)
    assert np.corrcoef(f, target)[0, 1] > 0.95


def test_intervals_cover_the_decision_of_the_exact_state():
    """1,200 intervals of 90 %: within four standard errors (0.9 %) of it, or more."""
    head = acquire(StatevectorBackend(X), Y, 40 * 1000, design="points").fit(kernel=PURE)
    covered = []
    for seed in range(10):
        points = moons(120, seed=10 + seed)[0]
        backend = StatevectorBackend(points, seed=seed)
        exact = head.decide_exactly(backend.states())
        session = PointPrediction(head, 120, 120 * 128, error_rate=1e-9)
        while not session.done:
            session.tell(backend.collect(backend.submit(session.ask(), session.tag)))
        found = session.result(level=0.9)
        covered.append(np.mean((found.low <= exact) & (exact <= found.high)))
    assert 0.9 - 4 * np.sqrt(0.09 / 1200) < np.mean(covered) < 0.97


def test_settled_points_are_rarely_wrong_and_shots_are_saved():
    head = acquire(StatevectorBackend(X), Y, 40 * 1000, design="points").fit(kernel=PURE)
    wrong, settled, spent = 0, 0, []
    for seed in range(6):
        points = moons(150, seed=50 + seed)[0]
        backend = StatevectorBackend(points, seed=seed)
        exact = head.labels(head.decide_exactly(backend.states()))
        found = predict_points(head, backend, 150 * 256, error_rate=0.05)
        wrong += int(np.sum(found.settled & (found.labels != exact)))
        settled += int(found.settled.sum())
        spent.append(found.shots[found.settled].mean() / found.shots[~found.settled].mean())
    assert settled > 600
    # At 5 % a point 45 of 900 were allowed; beyond 45 + 4 standard deviations is no chance.
    assert wrong <= 45 + 4 * np.sqrt(45)
    assert max(spent) < 0.7  # what is settled leaves its shots to the others


@pytest.mark.parametrize("allocator", ["even", "aqka-points"])
def test_a_run_goes_on_bit_for_bit_where_it_was_interrupted(tmp_path, allocator):
    options = {"design": "points", "allocator": allocator, "seed": 3}
    whole = acquire(StatevectorBackend(X, seed=5), Y, 4001, **options)

    def stop(session):
        raise Interrupted

    for _ in range(whole.rounds_total):
        try:
            acquire(
                StatevectorBackend(X, seed=5),
                Y,
                4001,
                **options,
                directory=tmp_path,
                on_round=stop,
            )
        except Interrupted:
            continue
    resumed = acquire(StatevectorBackend(X, seed=5), Y, 4001, **options, directory=tmp_path)
    assert same(whole.table, resumed.table)
    assert whole.table.total == 4001
    assert verify(
        tmp_path
    ).summary == f"sound: {whole.rounds_total} rounds, 4001 of 4001 shots, finished".replace(
        "1 rounds", "1 round"
    )
    assert same(point_table_of(tmp_path), whole.table)


def test_predictions_go_on_where_they_were_interrupted(tmp_path):
    head = acquire(StatevectorBackend(X), Y, 40 * 200, design="points").fit(kernel=PURE)
    whole = predict_points(head, StatevectorBackend(NEW), 60 * 100)

    def stop(session):
        raise Interrupted

    with pytest.raises(Interrupted):
        predict_points(head, StatevectorBackend(NEW), 6000, directory=tmp_path, on_round=stop)
    again = predict_points(head, StatevectorBackend(NEW), 6000, directory=tmp_path)
    np.testing.assert_array_equal(again.f, whole.f)
    np.testing.assert_array_equal(again.shots, whole.shots)
    assert verify(tmp_path).finished


def test_another_run_of_points_or_pairs_is_refused(tmp_path):
    acquire(StatevectorBackend(X), Y, 4000, design="points", directory=tmp_path)
    for other in (
        {"design": "points", "seed": 1},
        {"design": "points", "allocator": "aqka-points"},
        {"design": "pairs"},
    ):
        with pytest.raises(Exception, match="another run"):
            acquire(StatevectorBackend(X), Y, 4000, **other, directory=tmp_path)


class Lying(StatevectorBackend):
    """Answers the first plan with something else."""

    lie = None

    def collect(self, ticket):
        plan = self._plans[ticket]
        answer = super().collect(ticket)
        if self.lie is None:
            return answer
        lie, self.lie = self.lie, None
        return lie(plan, answer)


def moved(answer, **changes):
    columns = {name: getattr(answer, name).copy() for name in ("rows", "outcomes", "counts")}
    for name, change in changes.items():
        columns[name][0] += change
    hollow = object.__new__(OutcomeCounts)  # as a backend with its own class could
    for name, column in columns.items():
        object.__setattr__(hollow, name, column)
    return hollow


@pytest.mark.parametrize(
    "lie",
    [
        lambda plan, answer: moved(answer, counts=-(10**6)),
        lambda plan, answer: moved(answer, counts=1),
        lambda plan, answer: moved(answer, outcomes=4),
        lambda plan, answer: moved(answer, rows=10**6),
        lambda plan, answer: moved(answer, outcomes=-100),
        lambda plan, answer: plan.shots,
        lambda plan, answer: None,
        lambda plan, answer: OutcomeCounts([0], [0], [1]),
    ],
)
def test_outcomes_that_do_not_fit_are_evidence_and_not_believed(tmp_path, lie):
    backend = Lying(X)
    backend.lie = lie
    with pytest.warns(RuntimeWarning, match="cannot be used"):
        session = acquire(
            backend,
            Y,
            9000,
            "aqka-points",
            design="points",
            directory=tmp_path,
            patience=Patience(),
        )
    assert session.done
    assert session.lost > 0
    assert session.shots_spent == 9000
    assert verify(tmp_path).sound


def test_a_cut_round_keeps_what_was_measured(tmp_path):
    def cut(plan, answer):
        half = plan.shots // 2
        kept = answer.counts // 2
        shots = np.zeros_like(plan.shots)
        np.add.at(shots, answer.rows, kept)
        assert np.all(shots <= half)
        raise JobError("cut", (shots, OutcomeCounts(answer.rows, answer.outcomes, kept)))

    backend = Lying(X)
    backend.lie = cut
    with pytest.warns(RuntimeWarning, match="cut"):
        session = acquire(backend, Y, 9000, design="points", directory=tmp_path)
    assert session.lost == 0
    assert session.table.total == 9000
    assert verify(tmp_path).sound
    assert same(point_table_of(tmp_path), session.table)


def test_counts_are_exported_sparsely(tmp_path):
    session = acquire(StatevectorBackend(X), Y, 8000, design="points", directory=tmp_path / "run")
    found = outcomes(tmp_path / "run")
    assert found.seen.sum() == 8000
    table = session.table
    np.testing.assert_array_equal(
        np.bincount(found.point, found.seen, minlength=40), table.shots_per_point
    )
    rows = export(tmp_path / "run", tmp_path / "counts.csv")
    assert rows == len(found.seen) <= 8000
    text = (tmp_path / "counts.csv").read_text().splitlines()
    assert text[0] == "round,point,setting,outcome,seen"
    for read in (measurements, table_of):
        with pytest.raises(Exception, match="of points"):
            read(tmp_path / "run")


def test_projected_kernels_need_few_settings_and_any_number_of_qubits():
    angles = QuantumCircuit(9)
    for qubit, angle in enumerate(ParameterVector("x", 9)):
        angles.ry(angle, qubit)
    points = np.random.default_rng(0).uniform(0, 2, size=(60, 9))
    y = (points.sum(axis=1) > 9).astype(int)
    training, new = StatevectorBackend(points[:40], angles), StatevectorBackend(points[40:], angles)
    kernel = ProjectedPoints(gamma=0.3)
    head = acquire(training, y[:40], 40 * 600, design="points").fit(kernel=kernel)
    found = predict_points(head, new, 20 * 600, error_rate=1e-9)
    better = predict_points(head, new, 20 * 60_000, error_rate=1e-9)
    score = (found.f - better.f) / ((found.high - found.low) / (2 * 1.645))
    assert 0.5 < np.sqrt(np.mean(score**2)) < 1.6  # 20 points: a deviation is known to 16 %
    assert np.all(found.low < found.f)
    assert np.all(found.f < found.high)


def test_points_of_many_qubits_get_the_shots_that_any_statement_needs():
    x, y = np.random.default_rng(0).uniform(0, 2, (6, 12)), [0, 1] * 3
    with pytest.raises(InputError, match=r"every point \d+ shots, so that each qubit is measured"):
        PointAcquisition(Problem(y), 12, 6 * 5)
    head = acquire(MatrixProductBackend(x), y, 6 * 96, design="points").fit()
    least = head.least_shots
    with pytest.raises(InputError, match=rf"every point {least} shots, {2 * least} in all"):
        PointPrediction(head, 2, 2 * least - 1)
    # Its first look would have an eighth of the shots, with which no state is known; and shots
    # drawn again from so few miss an operator now and then, which must not end the run.
    found = predict_points(head, MatrixProductBackend(x), 6 * least)
    assert np.all(np.isfinite(found.high - found.low))


def test_the_design_is_chosen_by_its_numbers():
    many = choose_design(100, 4, 50_000, new_points=100)
    few = choose_design(12, 8, 1000)
    assert (many.design, few.design) == ("points", "pairs")
    assert many.equivalent_shots > many.shots_per_pair
    assert few.equivalent_shots < few.shots_per_pair
    assert many.point_error < many.pair_error
    assert choose_design(100, 12, 10**6).design == "pairs"
    assert choose_design(100, None, 10**6).equivalent_shots is None
    assert isinstance(
        acquire(StatevectorBackend(X), Y, 8000, design="auto", new_points=100), PointAcquisition
    )
    assert acquire(MatrixBackend(np.eye(4)), [0, 0, 1, 1], 100, design="auto").table.total == 100
    # Pairs promise more, but this backend has none.
    only_points = MatrixProductBackend(X[:8])
    assert isinstance(acquire(only_points, Y[:8], 100, design="auto"), PointAcquisition)
    for name, wrong in {"budget": {"budget": "many"}, "new_points": {"new_points": "a"}}.items():
        with pytest.raises(InputError, match=f"{name} must be a whole number"):
            acquire(StatevectorBackend(X), Y, **{"budget": 100, "design": "auto"} | wrong)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: acquire(MatrixBackend(np.eye(2)), [0, 1], 9, design="points"),
            "only measures pairs",
        ),
        (lambda: acquire(StatevectorBackend(X), Y, 39, design="points"), "every point a shot"),
        (lambda: acquire(StatevectorBackend(X), Y, 99, design="point"), "design must be one of"),
        (lambda: acquire(StatevectorBackend(X), Y[:9], 99, design="points"), "the backend has 40"),
        (lambda: acquire(StatevectorBackend(X), Y, 99, "aqka", design="points"), "even"),
        (lambda: PointPrediction("head", 1, 9), "head must be a PointHead"),
        (
            lambda: PointAcquisition(Problem(Y), 2, 99, settings=[[0]]),
            "settings must name 2 qubits",
        ),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(InputError, match=words):
        call()
