"""A calibration of the readout, from its round to predictions of new points."""

import numpy as np
import pytest
from qiskit_aer.noise import NoiseModel, ReadoutError

from aqka import InputError, JobError, LedgerError, StatevectorBackend, acquire
from aqka.backends import AerBackend, RuntimeBackend
from aqka.core import CalibrationPlan, OutcomeCounts, PointPlan, Problem
from aqka.designs import Fidelity, Points, Projected, Settle
from aqka.estimates.readout import confusion_matrices
from aqka.runs.audit import verify
from aqka.runs.export import export, measurements, table_of
from aqka.runs.ledger import Ledger
from aqka.sessions import Training, predict
from tests.backends._tiles.chips import line
from tests.fake_runtime import FakeRuntime

UP, DOWN = 0.05, 0.02  # chance to read 1 at a 0, and 0 at a 1
CONFUSION = np.array([[[1 - UP, DOWN], [UP, 1 - DOWN]]] * 2)
X = np.random.default_rng(0).uniform(0, 3, (12, 2))
Y = (X[:, 0] > 1.5).astype(int)
BUDGET, CALIBRATION = 240_000, 40_000
POINTS = Points(calibration_shots=CALIBRATION)


def noisy(points=X, seed=0):
    """Gates are faultless, and the readout is not."""
    model = NoiseModel(basis_gates=["rz", "sx", "cx"])
    model.add_all_qubit_readout_error(ReadoutError([[1 - UP, UP], [DOWN, 1 - DOWN]]))
    return AerBackend(points, noise=model, seed=seed)


def training(budget, calibration=0, **options):
    design = Points(calibration_shots=calibration)
    return Training(Problem(Y), budget, design=design, n_qubits=2, **options)


class Interrupted(Exception):
    pass


class Lying(StatevectorBackend):
    """Answers plans with something else, one after the other, until it runs out of lies."""

    lies = ()

    def collect(self, ticket):
        plan, answer = self._plans[ticket], super().collect(ticket)
        if not self.lies:
            return answer
        lie, *self.lies = self.lies
        return lie(plan, answer)


def same(first, second, names=("shots", "cells", "outcomes", "counts")):
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in names)


def same_answers(first, second):
    return same(first.answer, second.answer, ("rows", "outcomes", "counts"))


PURE = Points(Fidelity(rank=1))


def kernel_error(session):
    found = session.estimate(PURE).kernel
    return np.sqrt(np.mean((found - StatevectorBackend(X).kernel()) ** 2))


def test_the_confusion_is_recovered_and_the_kernel_is_better_at_equal_shots():
    session = acquire(noisy(), Y, BUDGET, design=POINTS)
    assert session.table.total + session.calibration.total == session.shots_spent == BUDGET
    np.testing.assert_array_equal(session.calibration.shots, [CALIBRATION // 2] * 2)
    spread = np.sqrt(CONFUSION * (1 - CONFUSION) / (CALIBRATION // 2))
    assert np.all(np.abs(session.confusion - CONFUSION) < 5 * spread)
    plain = acquire(noisy(), Y, BUDGET, design="points")
    assert plain.confusion is None
    assert kernel_error(session) < 0.5 * kernel_error(plain)
    # Whoever brings readout errors of their own is believed.
    none = np.array([np.eye(2)] * 2)
    own = session.estimate(Points(Fidelity(rank=1, confusion=none)))
    np.testing.assert_array_equal(own.fitted.confusion, none)


def test_new_points_are_read_with_the_errors_of_the_calibration():
    new = np.random.default_rng(1).uniform(0, 3, (40, 2))
    session = acquire(noisy(), Y, BUDGET, design=POINTS)
    head = session.fit(design=PURE)
    exact = head.estimate.decide_exactly(head, StatevectorBackend(new))
    found = predict(head, noisy(new, seed=1), 40 * 200_000, stop=Settle(1e-9))
    blind = session.fit(design=PURE)
    blind.estimate.kernel_of_points = Fidelity(rank=1)
    unread = predict(blind, noisy(new, seed=1), 40 * 200_000, stop=Settle(1e-9))
    errors = [np.sqrt(np.mean((one.f - exact) ** 2)) for one in (found, unread)]
    assert errors[0] < 0.5 * errors[1]
    projected = session.estimate(Points(Projected(gamma=0.3)))
    np.testing.assert_array_equal(projected.kernel_of_points.confusion, session.confusion)


def test_a_run_without_a_calibration_says_nothing_of_one():
    session = training(24_000, seed=3)
    assert session.tag == "aqka-points-uniform-c9ec0c74d2c1cb33-r0"
    assert session.rounds_total == 1
    assert "calibration" not in session.settings()
    other = training(24_000, 2, seed=3)
    assert other.tag != session.tag
    assert other.rounds_total == 2


@pytest.mark.parametrize("allocator", ["uniform", "aqka"])
@pytest.mark.parametrize("where", ["submit", "collect", "on_round"])
def test_a_run_killed_in_its_calibration_goes_on_bit_for_bit(tmp_path, where, allocator):
    options = {"allocator": allocator, "design": Points(calibration_shots=200)}
    whole = acquire(noisy(seed=5), Y, 3001, **options)

    def die(*_):
        raise Interrupted

    backend = noisy(seed=5)
    look = die if where == "on_round" else None
    if look is None:
        setattr(backend, where, die)
    with pytest.raises(Interrupted):
        acquire(backend, Y, 3001, **options, directory=tmp_path, on_round=look)
    resumed = acquire(noisy(seed=5), Y, 3001, **options, directory=tmp_path)
    assert same(whole.table, resumed.table)
    assert same_answers(whole.calibration, resumed.calibration)
    audit = verify(tmp_path)
    assert (audit.sound, audit.finished, audit.shots) == (True, True, 3001)
    assert same(table_of(tmp_path).table, whole.table)
    assert same_answers(table_of(tmp_path).calibration, whole.calibration)


@pytest.mark.parametrize("tiles", [1, 2])
def test_jobs_of_a_killed_calibration_are_collected_and_not_bought_again(tmp_path, tiles):
    service = FakeRuntime(tmp_path / "jobs", line(6))
    options = {"design": Points(calibration_shots=200), "directory": tmp_path / "run"}

    def die(ticket):
        raise Interrupted

    dying = RuntimeBackend(service, X[:5], tiles=tiles)
    dying.collect = die
    with pytest.raises(Interrupted):
        acquire(dying, Y[:5], 2000, **options)
    assert service.submissions == 1
    session = acquire(RuntimeBackend(service, X[:5], tiles=tiles), Y[:5], 2000, **options)
    assert service.submissions == 2
    assert session.shots_spent == 2000
    np.testing.assert_array_equal(session.confusion, [np.eye(2)] * 2)
    with Ledger(tmp_path / "run" / "ledger.sqlite") as ledger:
        kinds = [(entry.kind, entry.round) for entry in ledger.entries()]
    assert kinds.count(("submitted", 0)) == kinds.count(("collected", 0)) == 1


def test_a_cut_calibration_is_completed_before_points_are_measured(tmp_path):
    def cut(plan, answer):
        assert isinstance(plan, CalibrationPlan)
        raise JobError("cut", ([60, 0], OutcomeCounts([0], [0], [60])), lost=30)

    backend = Lying(X)
    backend.lies = [cut]
    asked = []
    with pytest.warns(RuntimeWarning, match="round 0 failed: cut"):
        session = acquire(
            backend,
            Y,
            2000,
            design=Points(calibration_shots=200),
            directory=tmp_path,
            on_round=lambda now: asked.append((now.calibration.shots.tolist(), now.table.total)),
        )
    assert asked == [([60, 0], 0), ([100, 100], 0), ([100, 100], 1770)]
    assert (session.lost, session.shots_spent) == (30, 2000)
    assert verify(tmp_path).finished
    again = acquire(Lying(X), Y, 2000, design=Points(calibration_shots=200), directory=tmp_path)
    assert same_answers(again.calibration, session.calibration)


@pytest.mark.parametrize(
    "lie",
    [
        lambda plan, answer: OutcomeCounts([0, 1], [0, 4], [100, 100]),  # a qubit too many
        lambda plan, answer: OutcomeCounts([0, 1], [0, 3], [100, 101]),
        lambda plan, answer: OutcomeCounts([0, 2], [0, 3], [100, 100]),
        lambda plan, answer: plan.shots,
    ],
)
def test_hostile_counts_are_evidence_and_bought_again_within_the_budget(tmp_path, lie):
    backend = Lying(X)
    backend.lies = [lie]
    with pytest.warns(RuntimeWarning, match="cannot be used"):
        session = acquire(
            backend, Y, 2000, design=Points(calibration_shots=200), directory=tmp_path
        )
    assert (session.lost, session.shots_spent, session.calibration.total) == (200, 2000, 200)
    np.testing.assert_array_equal(session.confusion, [np.eye(2)] * 2)
    assert verify(tmp_path).sound


def test_a_calibration_that_keeps_failing_leaves_every_point_a_shot():
    """And says that nothing is corrected."""
    session = training(100, 40)
    backend = StatevectorBackend(X)
    while isinstance(plan := session.ask(), CalibrationPlan):
        session.tell(plan.no_answer(), np.zeros_like(plan.shots), plan.total)
    assert session.lost == 88
    session.tell(backend.collect(backend.submit(plan, "t")))
    assert session.done
    assert session.table.shots_per_point.min() == 1
    with pytest.warns(RuntimeWarning, match="not corrected"):
        session.fit(design=PURE)


def test_above_eight_qubits_a_lost_calibration_leaves_points_that_can_be_read():
    points = np.random.default_rng(2).uniform(0, 1, (8, 9))
    session = Training(
        Problem(Y[:8]), 8 * 8 + 400, design=Points(calibration_shots=300), n_qubits=9
    )
    backend, lose = StatevectorBackend(points), True
    while not session.done:
        plan = session.ask()
        answer = backend.collect(backend.submit(plan, session.tag))
        if lose:
            session.tell(plan.no_answer(), np.zeros_like(plan.shots), plan.total)
        else:
            session.tell(answer)
        lose = False
    assert session.calibration.shots.tolist() == [50, 50]
    assert np.isfinite(session.fit().kernel).all()


def test_a_qubit_that_cannot_be_read_is_told_before_points_are_bought():
    session = training(1000, 40)
    session.ask()
    session.tell(OutcomeCounts([0, 1], [2, 3], [20, 20]))  # qubit 1 reads 1 whatever it is
    with pytest.raises(InputError, match=r"qubit 1 reads 1 at a 0.*more calibration_shots"):
        session.ask()


def test_what_a_ledger_says_of_a_calibration(tmp_path):
    session = acquire(noisy(), Y, 3000, design=Points(calibration_shots=400), directory=tmp_path)
    found = measurements(tmp_path)
    reference = found.setting == -1
    assert found.seen[reference].sum() == 400
    answer = OutcomeCounts(*(column[reference] for column in (found.point, *found[3:])))
    np.testing.assert_array_equal(confusion_matrices(answer, 2), session.confusion)
    assert export(tmp_path, tmp_path / "counts.csv") == len(found.seen)
    with pytest.raises(LedgerError, match="calibration"):  # neither is the other's run
        acquire(noisy(), Y, 3000, design="points", directory=tmp_path)
    plain = tmp_path / "plain"
    acquire(noisy(), Y, 3000, design="points", directory=plain)
    with pytest.raises(LedgerError, match="calibration"):
        acquire(noisy(), Y, 3000, design=Points(calibration_shots=400), directory=plain)
    assert table_of(plain).calibration is None


def test_a_ledger_whose_calibration_cannot_be_read_is_not_sound(tmp_path):
    acquire(
        StatevectorBackend(X), Y, 3000, design=Points(calibration_shots=400), directory=tmp_path
    )
    copy = tmp_path / "copy"
    copy.mkdir()
    with (
        Ledger(tmp_path / "ledger.sqlite") as ledger,
        Ledger(copy / "ledger.sqlite", write=True) as forged,
    ):
        for entry in ledger.entries():
            body = entry.body
            if entry.kind == "started":
                body = {**body, "fingerprint": {**body["fingerprint"], "calibration": "-1"}}
            forged.append(entry.kind, round=entry.round, body=body, **entry.arrays)
    audit = verify(copy)
    assert not audit.sound
    assert "calibration must be a number" in " ".join(audit.problems)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Points(calibration_shots=np.array([2, 4])), "whole number"),
        (
            lambda: Points(calibration_shots=5),
            "must be even.*got 5, take 6",
        ),
        (
            lambda: acquire(noisy(), Y, 99, design=Points(calibration_shots=90)),
            "every point a shot.*beside 90 of calibration",
        ),
        (lambda: CalibrationPlan([2], [5], 2), "all in 1.*got 2"),
        (lambda: CalibrationPlan([0], [5], 257), "at most 256"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_plans_of_points_and_of_reference_states_are_never_taken_for_each_other():
    points = PointPlan([0, 1], [0, 0], [5, 5], [[2, 2]])
    references = CalibrationPlan([0, 1], [5, 5], 2)
    assert not points.equals(references)
    assert not references.equals(points)
    assert references.equals(CalibrationPlan([0, 1], [5, 5], 2))
    assert not references.equals(CalibrationPlan([0, 1], [5, 5], 3))
