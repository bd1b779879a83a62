"""Feature maps trained on shots: what a step is, and runs that are stopped, killed and resumed."""

import multiprocessing
import os
from functools import partial

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector
from qiskit_ibm_runtime.fake_provider import FakeManilaV2

from aqka import (
    BackendFactory,
    CeilingError,
    InputError,
    LedgerError,
    Points,
    StatevectorBackend,
    train_map,
)
from aqka.backends import RuntimeBackend
from aqka.backends.factory import as_factory
from aqka.backends.trainable import MapBackend, as_trainable
from aqka.core import OutcomeCounts, ShotPlan
from aqka.errors import CancelledError, TransientError
from aqka.insight.map_kernels import MapKernel
from aqka.maths.alignment import alignment, pair_targets
from aqka.planning import make_ceiling
from aqka.runs.audit import verify
from aqka.runs.history import fold
from aqka.runs.ledger import LEDGER_NAME, Ledger
from aqka.sessions.map_training import MapTraining
from tests.fake_runtime import FakeRuntime

RNG = np.random.default_rng(4)
X = RNG.uniform(0, 3, (20, 2))
Y = (X[:, 0] > 1.5).astype(int)
BUDGET, PAIRS = 520, 20


def make_circuit():
    x, w = ParameterVector("x", 2), ParameterVector("w", 3)
    circuit = QuantumCircuit(2)
    for qubit in range(2):
        circuit.rx(x[qubit], qubit)
        circuit.ry(w[qubit], qubit)
    circuit.rzz(w[2] * x[0], 0, 1)
    circuit.rx(x[1], 0)
    return circuit


def train(where="statevector", **changes):
    given = {"budget": BUDGET, "pairs_per_step": PAIRS, "theta0": [0.5, 1.0, 0.7]} | changes
    return train_map(make_circuit(), X, Y, where, **given)


def session(**changes):
    given = {"unit": np.ones(2), "classes": True} | changes
    return MapTraining(Y, np.arange(15, 20), np.zeros(2), BUDGET, PAIRS, **given)


def test_a_step_measures_the_same_pairs_at_both_ends_and_no_held_out_point():
    training = session()
    plan = training.ask()
    half = len(plan) // 2
    assert plan.total == 2 * PAIRS
    assert set(plan.shots) == {1}
    assert np.array_equal(plan.rows[:half] + 20, plan.rows[half:])
    assert np.array_equal(plan.cols[:half] + 20, plan.cols[half:])
    assert max(plan.rows[:half].max(), plan.cols[:half].max()) < 15
    assert np.allclose(plan.theta.mean(axis=0), 0.0)


def test_a_step_follows_the_slope_of_the_measured_alignments():
    training = session()
    plan = training.ask()
    hits = np.random.default_rng(0).integers(0, 2, len(plan))
    targets = pair_targets(Y, classes=True)[plan.rows % 20, plan.cols % 20]
    ends = [
        np.corrcoef(part, t)[0, 1]
        for part, t in zip(np.split(hits, 2), np.split(targets, 2), strict=True)
    ]
    training.tell(hits)
    assert training.history == [pytest.approx(-np.mean(ends))]
    uphill = (ends[0] - ends[1]) * (plan.theta[0] - plan.theta[1])
    moved = training.ask().theta.mean(axis=0)
    assert np.all(np.sign(moved) == np.sign(uphill))


def test_a_step_that_was_cut_compares_what_was_measured_at_both_ends():
    training = session()
    plan = training.ask()
    one_end = plan.shots * (plan.rows < 20)
    training.tell(one_end * (Y[plan.rows % 20] == Y[plan.cols % 20]), one_end)
    assert np.allclose(training.ask().theta.mean(axis=0), 0.0)
    before = list(training.history)
    nothing = np.zeros(len(training.ask()), dtype=int)
    training.tell(nothing, nothing)
    assert training.history == before  # a round without shots shows no loss


def test_the_last_round_compares_both_ends_on_held_out_points_with_all_that_is_left():
    training = session()
    rng = np.random.default_rng(1)
    while training.round < training.steps_total:
        training.tell(rng.integers(0, 2, len(training.ask())))
    plan = training.ask()
    held = (plan.rows % 20 >= 15) | (plan.cols % 20 >= 15)
    assert held.all()
    assert plan.total == training.shots_left
    assert np.array_equal(plan.theta, [training.trained, training.theta0])
    training.tell(np.minimum(plan.shots, 1))
    assert training.done


def test_a_cut_round_and_lost_shots_still_end_with_the_budget():
    training = session()
    rng = np.random.default_rng(2)
    while not training.done:
        plan = training.ask()
        shots = plan.shots * (rng.random(len(plan)) < 0.7)
        lost = int(plan.total - shots.sum()) // 2
        training.tell(np.zeros_like(shots), shots, lost)
    assert training.shots_spent == BUDGET


def test_a_plan_keeps_theta_bit_for_bit():
    theta = np.array([[0.1, -np.pi], [1e-300, 2 / 3]])
    plan = ShotPlan([0], [1], [3], theta=theta)
    facts, columns = plan.to_ledger()
    again = ShotPlan.from_ledger(facts, columns)
    assert again.theta.tobytes() == theta.tobytes()
    assert again.equals(plan)
    assert not plan.equals(ShotPlan([0], [1], [3]))
    assert not plan.equals(ShotPlan([0], [1], [3], theta=theta + 1e-15))


def test_hits_are_those_of_the_data_at_the_theta_of_the_plan():
    made = as_trainable(make_circuit(), 2)
    theta = np.array([[0.1, 0.2, 0.3], [1.0, 2.0, 0.5]])
    rows, cols = [0, 20, 3], [1, 21, 7]
    plan = ShotPlan(rows, cols, [200_000] * 3, theta=theta)
    expected = [StatevectorBackend(X, made.bind(each)).kernel() for each in theta]
    for name in ("statevector", "aer"):
        options = {"feature_map": made.circuit, "columns": None, "seed": 1}
        backend = MapBackend(made, X, partial(as_factory(name), **options), theta[0])
        hits = backend.collect(backend.submit(plan, "a"))
        k = [expected[0][0, 1], expected[1][0, 1], expected[0][3, 7]]
        assert np.allclose(hits / 200_000, k, atol=0.006)  # five standard deviations
        with pytest.raises(InputError, match="two θ of 3 values"):
            backend.submit(ShotPlan([0], [1], [1]), "b")


@pytest.mark.parametrize("where", ["statevector", "aer", FakeManilaV2()])
def test_training_is_a_run_on_every_backend(where, tmp_path):
    rounds = []
    trained = train(where, directory=tmp_path, on_round=lambda s: rounds.append(s.round))
    assert trained.shots == BUDGET
    assert verify(tmp_path).sound
    assert rounds == list(range(1, len(trained.history) + 2))
    assert len(trained.history) == 10
    assert np.array_equal(train(where, directory=tmp_path).theta, trained.theta)


class Stop(Exception):
    pass


@pytest.mark.parametrize(("stop_at", "step"), [(1, "submit"), (4, "collect"), (11, "collect")])
def test_resumed_at_any_round_it_ends_bit_for_bit(whole, stop_at, step, tmp_path, monkeypatch):
    calls = 0
    real = getattr(MapBackend, step)

    def stopping(self, *given):
        nonlocal calls
        calls += 1
        if calls == stop_at:
            raise Stop
        return real(self, *given)

    with monkeypatch.context() as patched:
        patched.setattr(MapBackend, step, stopping)
        with pytest.raises(Stop):
            train(directory=tmp_path / "cut")
    resumed = train(directory=tmp_path / "cut")
    assert resumed.theta.tobytes() == whole.theta.tobytes()
    assert resumed.history == whole.history
    with Ledger(tmp_path / "cut" / LEDGER_NAME) as ledger:
        measured = [round.planned.theta.tobytes() for round in fold(ledger.entries()).rounds]
    assert len(measured) == len(set(measured)) == 11


@pytest.fixture(scope="module")
def whole():
    """The training that nothing interrupts, which needs no ledger."""
    return train()


def _die_in_round(directory, number):
    def die(training):
        if training.round == number:
            os.kill(os.getpid(), 9)

    train(directory=directory, on_round=die)


def test_killed_processes_end_as_if_nothing_had_happened(whole, tmp_path):
    for number in (2, 7):
        child = multiprocessing.get_context("fork").Process(
            target=_die_in_round, args=(tmp_path / "killed", number)
        )
        child.start()
        child.join()
        assert child.exitcode == -9
    assert train(directory=tmp_path / "killed").theta.tobytes() == whole.theta.tobytes()
    assert verify(tmp_path / "killed").sound


def test_jobs_of_a_device_are_found_again_and_not_paid_twice(tmp_path):
    def on_service():
        service = FakeRuntime(tmp_path / "jobs")
        return service, BackendFactory(RuntimeBackend, backend=service)

    service, factory = on_service()

    def interrupt(training):
        if training.round == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(factory, directory=tmp_path / "run", on_round=interrupt)
    assert service.submissions == 3
    service, factory = on_service()
    service.next_job = "reply lost"
    trained = train(factory, directory=tmp_path / "run")
    assert trained.shots == BUDGET
    assert service.submissions == 11


class Busy(StatevectorBackend):
    """Fails at the first try of every step, and knows only its own tickets."""

    failed = None  # the steps that failed once
    limits = None

    def _once(self, step):
        if step not in self.failed:
            self.failed.add(step)
            raise TransientError("busy")

    def submit(self, plan, tag):
        self._once(("submit", tag))
        self.sent = {tag}
        return super().submit(plan, tag)

    def collect(self, ticket):
        self._once(("collect", ticket))
        return super().collect(ticket)

    def remarks(self, ticket):
        return {"mine": ticket in self.sent}

    def limit_seconds(self, seconds):
        self.limits.append(seconds)


def test_a_round_that_is_tried_again_asks_the_same_backend(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(Busy, "failed", set())
    monkeypatch.setattr(Busy, "limits", [])
    trained = train(
        BackendFactory(Busy),
        directory=tmp_path,
        ceiling=make_ceiling("1 h", "pairs"),
    )
    assert trained.theta.tobytes() == whole.theta.tobytes()
    assert len(Busy.failed) == 22
    assert len(Busy.limits) == 22
    assert all(seconds is not None for seconds in Busy.limits)
    with Ledger(tmp_path / LEDGER_NAME) as ledger:
        assert all(round.remarks == {"mine": True} for round in fold(ledger.entries()).rounds)


def test_ceiling_and_cancel_stop_before_a_submission(tmp_path):
    with pytest.raises(CeilingError, match="the ceiling is reached"):
        train(directory=tmp_path / "a", ceiling=make_ceiling("200 shots", "pairs"))
    with Ledger(tmp_path / "a" / LEDGER_NAME) as ledger:
        assert fold(ledger.entries()).spent == 200
    assert train(directory=tmp_path / "a").shots == BUDGET
    with pytest.raises(CancelledError):
        train(directory=tmp_path / "b", cancel=lambda: [])
    assert train(directory=tmp_path / "b").shots == BUDGET


def test_another_map_or_other_labels_are_another_run(tmp_path):
    train(directory=tmp_path)
    with pytest.raises(LedgerError, match="theta0"):
        train(directory=tmp_path, theta0=[0.5, 1.0, 0.8])
    with pytest.raises(LedgerError, match="labels"):
        train_map(
            make_circuit(),
            X,
            1 - Y,
            "statevector",
            BUDGET,
            PAIRS,
            theta0=[0.5, 1.0, 0.7],
            directory=tmp_path,
        )


def test_shots_find_what_exact_training_finds():
    """With many shots the trained θ has most of the exact gain, of the loss that shots can see."""
    made = as_trainable(make_circuit(), 2)
    start = np.array([0.5, 1.0, 0.7])
    exact, few = (
        train_map(make_circuit(), X, Y, theta0=start),
        train(budget=40_000, pairs_per_step=100),
    )
    upper = np.triu_indices(20, 1)
    targets = pair_targets(Y, classes=True)[upper]

    def aligned(theta):
        return alignment(StatevectorBackend(X, made.bind(theta)).kernel()[upper], targets)

    assert aligned(few.theta) > aligned(start) + 0.5 * (aligned(exact.theta) - aligned(start)) > 0


def train_points(where="statevector", **changes):
    return train(where, **({"budget": 9_000, "design": Points("projected")} | changes))


def test_points_of_a_projected_kernel_are_trained_on_shots_and_resumed_bit_for_bit(tmp_path):
    whole = train_points(directory=tmp_path / "whole")
    assert whole.shots == 9_000
    assert verify(tmp_path / "whole").sound

    def stop(session):
        if session.round == 4:
            raise Stop

    with pytest.raises(Stop):
        train_points(directory=tmp_path / "cut", on_round=stop)
    resumed = train_points(directory=tmp_path / "cut")
    assert resumed.theta.tobytes() == whole.theta.tobytes()
    with Ledger(tmp_path / "cut" / LEDGER_NAME) as ledger:
        rounds = fold(ledger.entries()).rounds
    assert len(rounds) == len(whole.history) + 1
    step, check = rounds[0].planned, rounds[-1].planned
    assert set(step.points % 20) < set(check.points % 20) == set(range(20))
    assert set(np.bincount(step.points)[np.unique(step.points)]) == {3}  # each in all settings
    with pytest.raises(LedgerError, match="kernel"):
        train_points(directory=tmp_path / "cut", design=Points("projected-linear"))


@pytest.mark.parametrize("name", ["projected", "projected-2", "projected-linear"])
def test_losses_of_many_shots_are_those_of_exact_states(name):
    made = as_trainable(make_circuit(), 2)
    kernel = MapKernel(made, Points(name))
    training = kernel.session(X, Y, np.arange(15, 20), 10**8, 0, size=200_000)
    options = {"feature_map": made.circuit, "columns": None, "seed": 1}
    backend = MapBackend(made, X, partial(as_factory("statevector"), **options), training.theta0)
    plan = training.ask()
    training.tell(backend.collect(backend.submit(plan, "a")))
    targets = pair_targets(Y[:15], classes=True)
    exact = [kernel.alignment(X[:15], theta, targets)[0] for theta in plan.theta]
    assert training.history == [pytest.approx(-np.mean(exact), abs=0.01)]


def test_a_cut_step_of_points_reads_those_it_can_and_ends_with_the_budget():
    made = as_trainable(make_circuit(), 2)
    training = MapKernel(made, Points("projected")).session(X, Y, np.arange(15, 20), 9_000, 0)
    rng = np.random.default_rng(2)
    while not training.done:
        plan = training.ask()
        part = plan.cut_to(plan.shots * (rng.random(len(plan)) < 0.7))
        rows = np.flatnonzero(part.shots)
        counts = OutcomeCounts(rows, rng.integers(0, 4, len(rows)), part.shots[rows])
        training.tell(counts, part.shots, int(plan.total - part.total) // 2)
    assert training.shots_spent == 9_000
    assert np.isfinite(training.compare()).all()
