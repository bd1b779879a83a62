"""Prediction sessions: budgets, replay, ledgers, bad input, several classes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqka import InputError, JobError, LedgerError, MatrixBackend, StatevectorBackend, acquire
from aqka.designs import KernelEstimate, Never, Settle
from aqka.insight import with_total_interval
from aqka.learners import FittedHead
from aqka.runs.audit import verify
from aqka.runs.export import measurements, table_of
from aqka.runs.ledger import LEDGER_NAME, Ledger
from aqka.sessions import Predicting, predict
from tests.conftest import make_kernel

TRAIN, TEST = 12, 6


def make_head(n_train=TRAIN, n_classes=2, seed=0, classes=None):
    rng = np.random.default_rng(seed)
    shape = (n_train,) if n_classes == 2 else (n_train, n_classes)
    labels = np.arange(n_classes) if classes is None else np.asarray(classes)
    return FittedHead(
        rng.normal(size=shape), np.zeros(shape[1:]), KernelEstimate(np.eye(n_train)), 0.1, labels
    )


def make_block(n_test=TEST, n_train=TRAIN, seed=0):
    return np.random.default_rng([seed, 1]).uniform(0.02, 0.9, (n_test, n_train))


def answer(plan, block, round):
    rng = np.random.default_rng([7, round])
    return rng.binomial(plan.shots, block[plan.rows, plan.cols])


def play(session, block, rounds=None):
    """Answer rounds until the session or ``rounds`` ends; return the hits."""
    hits = []
    while not session.done and (rounds is None or len(hits) < rounds):
        hits.append(answer(session.ask(), block, session.round))
        session.tell(hits[-1])
    return hits


@given(
    n_test=st.integers(1, 7),
    n_train=st.integers(1, 9),
    n_classes=st.integers(2, 4),
    budget=st.integers(1, 900),
    rounds=st.integers(1, 9),
    seed=st.integers(0, 5),
)
def test_a_budget_is_never_exceeded_and_ends_early_only_when_all_is_settled(
    n_test, n_train, n_classes, budget, rounds, seed
):
    session = Predicting(
        make_head(n_train, n_classes, seed), n_test, budget, stop=Settle(looks=rounds), seed=seed
    )
    block = make_block(n_test, n_train, seed)
    while not session.done:
        plan = session.ask()
        assert session.ask() is plan
        assert 0 < plan.total <= session.shots_left
        assert not session.settled[plan.rows].any()
        session.tell(answer(plan, block, session.round))
    assert session.round <= min(rounds, budget)
    assert session.shots_left == 0 or session.settled.all()
    found = session.result()
    assert found.shots.sum() == session.table.total <= budget
    assert np.all(found.low <= found.f)
    assert np.all(found.f <= found.high)


@given(st.integers(2, 3), st.integers(0, 8), st.integers(0, 3))
def test_a_session_rebuilt_from_its_hits_goes_on_bit_for_bit(n_classes, cut, seed):
    head, block = make_head(n_classes=n_classes), make_block()
    whole = Predicting(head, TEST, 3000, stop=Settle(looks=9), seed=seed)
    hits = play(whole, block)
    again = Predicting(head, TEST, 3000, stop=Settle(looks=9), seed=seed)
    for told in hits[:cut]:
        again.take_up(again.ask())
        again.tell(told)
    play(again, block)
    np.testing.assert_array_equal(again.table.shots, whole.table.shots)
    np.testing.assert_array_equal(again.table.hits, whole.table.hits)
    np.testing.assert_array_equal(again.new.test.winner, whole.new.test.winner)
    np.testing.assert_array_equal(again.new.test._log_wealth, whole.new.test._log_wealth)


def test_shots_follow_alpha_times_the_deviation_once_it_is_known():
    head, block = make_head(), make_block(1)
    session = Predicting(head, 1, 10**6, stop=Settle(1e-300, 3))
    first = session.ask()
    size = np.abs(head.alpha)
    assert np.abs(first.shots - first.total * size[first.cols] / size.sum()).max() <= 2
    play(session, block, rounds=2)
    plan, wanted = session.ask(), size * np.sqrt(block[0] * (1 - block[0]))
    np.testing.assert_allclose(plan.shots / plan.total, wanted / wanted.sum(), atol=0.02)


def test_of_several_classes_shots_go_where_the_leaders_differ():
    # Classes 0 and 1 are close and differ in the first point only, class 2 is far behind.
    alpha = np.array([[1.0, 0.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, -5.0]])
    head = FittedHead(alpha, np.zeros(3), KernelEstimate(np.eye(3)), 0.1, np.array(list("abc")))
    session = Predicting(head, 1, 30_000, stop=Settle(1e-300))
    play(session, np.array([[0.1, 0.5, 0.5]]))
    shots = session.table.shots[0]
    assert shots[0] > 3 * shots[1:].max()


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_with_many_shots_every_point_is_settled_with_the_class_of_the_exact_entries(n_classes):
    head, block = make_head(n_classes=n_classes, classes=list("vwxyz")[:n_classes]), make_block(20)
    found = predict(head, MatrixBackend(block, rectangular=True), 40_000_000)
    np.testing.assert_array_equal(found.labels, head.predict(block))
    assert found.settled.all()
    assert found.shots.sum() < 40_000_000
    assert found.shots.min() < found.shots.max() / 5
    np.testing.assert_allclose(found.f, head.decision_function(block), atol=1.0)


def test_a_point_that_no_shots_can_settle_stays_open():
    head = FittedHead(
        np.array([1.0, -1.0]), np.array(0.0), KernelEstimate(np.eye(2)), 0.1, np.array([0, 1])
    )
    block = np.array([[0.5, 0.5], [1.0, 0.0]])
    found = predict(head, MatrixBackend(block, rectangular=True, seed=3), 50_000)
    assert found.settled.tolist() == [False, True]
    assert found.shots.sum() == 50_000
    assert found.shots[0] > 40_000


def test_a_head_without_coefficients_is_settled_by_its_intercept():
    head = FittedHead(np.zeros(3), np.array(0.4), KernelEstimate(np.eye(3)), 0.1, np.array([0, 1]))
    found = predict(head, MatrixBackend(np.full((2, 3), 0.5), rectangular=True), 5000)
    assert found.settled.all()
    assert found.labels.tolist() == [1, 1]
    np.testing.assert_array_equal(found.high - found.low, 0.0)


def test_a_round_cut_short_counts_for_the_estimate_but_not_for_the_test():
    head, block = make_head(), make_block()
    session = Predicting(head, TEST, 6000)
    plan = session.ask()
    half = plan.shots // 2
    session.tell(np.minimum(answer(plan, block, 0), half), half)
    assert session.table.total == half.sum()
    assert not session.new.test._log_wealth.any()
    uncut = Predicting(head, TEST, 6000)
    play(uncut, block, rounds=2)
    play(session, block, rounds=1)
    assert session.table.total == uncut.table.total
    play(session, block)
    assert session.table.total <= 6000
    assert session.new.test._log_wealth.any()


def test_a_foreign_plan_counts_for_the_estimate_but_not_for_the_test():
    session = Predicting(make_head(), TEST, 6000)
    plan = session.ask()
    session.take_up(type(plan)(plan.rows[::-1], plan.cols[::-1], plan.shots))
    session.tell(plan.shots * 0)
    assert session.table.total == plan.total
    assert not session.new.test._log_wealth.any()


def spent(session, block):
    while not session.done:
        plan = session.ask()
        rng = np.random.default_rng([5, session.round])
        session.tell(rng.binomial(plan.shots, block[plan.rows, plan.cols]))
    return session


def test_the_budget_is_spent_in_proportion_to_what_each_pair_adds_to_the_error():
    head, block = make_head(), make_block()
    session = spent(Predicting(head, 6, 600_000, stop=Never()), block)
    wanted = np.abs(head.alpha) * np.sqrt(block * (1 - block))
    shots = session.table.shots / session.table.total
    np.testing.assert_allclose(shots, wanted / wanted.sum(), atol=0.002)
    assert session.table.total == 600_000


def test_no_other_spread_has_a_smaller_sum_of_squared_errors():
    """Against 200 random spreads: Σ α² K(1-K) / s is least at the session's shots."""
    head, block = make_head(), make_block()
    session = spent(Predicting(head, 6, 600_000, stop=Never()), block)
    each = head.alpha**2 * block * (1 - block)
    ours = np.sum(each / session.table.shots)
    rng = np.random.default_rng(0)
    for width in (0.05, 0.3):
        for _ in range(100):
            other = session.table.shots * np.exp(width * rng.normal(size=block.shape))
            assert np.sum(each / (other * 600_000 / other.sum())) > ours


def test_how_far_f_is_from_0_does_not_matter():
    block = make_block()
    for intercept in (0.0, 1e6):
        head = replace(make_head(), intercept=np.array(intercept))
        session = spent(Predicting(head, 6, 5000, stop=Never(), seed=3), block)
        if intercept == 0.0:
            shots = session.table.shots
    np.testing.assert_array_equal(session.table.shots, shots)


def test_the_result_has_values_and_no_classes():
    head, block = make_head(), make_block()
    found = predict(head, MatrixBackend(block, rectangular=True), 40_000_000, stop=Never())
    np.testing.assert_allclose(found.f, head.decision_function(block), atol=0.01)
    assert not {"labels", "settled", "could_flip"} & set(vars(found))
    moved = found.in_units(3.0, 10.0)
    np.testing.assert_allclose(moved.f, 3 * found.f + 10)
    np.testing.assert_allclose(moved.high - moved.low, 3 * (found.high - found.low))
    assert moved.total_low is None


def test_total_intervals_hold_those_of_the_test_shots():
    kernel = make_kernel(30)
    y = np.linspace(-1, 1, 24)
    session = acquire(MatrixBackend(kernel[:24, :24]), y, 20_000)
    test = MatrixBackend(kernel[24:, :24], rectangular=True)
    found = with_total_interval(predict(session.fit(), test, 10_000), session)
    assert np.all(found.total_low <= found.low)
    assert np.all(found.total_high >= found.high)


@pytest.mark.parametrize("stop", [Settle(), Never(looks=4)])
@pytest.mark.parametrize("design", ["pairs", "points"])
def test_a_stopped_prediction_goes_on_and_buys_nothing_twice(tmp_path, design, stop):
    points = np.random.default_rng(0).uniform(0, 3, (18, 2))
    head = acquire(StatevectorBackend(points[:12]), np.arange(12) % 2, 6000, design=design).fit()
    backend = StatevectorBackend(points[12:], columns=points[:12] if design == "pairs" else None)

    def interrupt(session):
        if session.round == 2:
            raise KeyboardInterrupt

    whole = predict(head, backend, 5000, stop=stop)
    with pytest.raises(KeyboardInterrupt):
        predict(head, backend, 5000, stop=stop, directory=tmp_path, on_round=interrupt)
    found = predict(head, backend, 5000, stop=stop, directory=tmp_path)
    np.testing.assert_array_equal(found.f, whole.f)
    np.testing.assert_array_equal(found.shots, whole.shots)
    assert verify(tmp_path).sound
    assert verify(tmp_path).finished
    assert verify(tmp_path).shots == found.shots.sum() <= 5000
    with pytest.raises(LedgerError, match="these differ: budget"):
        predict(head, backend, 6000, stop=stop, directory=tmp_path)
    with pytest.raises(LedgerError, match="these differ: stop"):
        predict(head, backend, 5000, stop=Settle(0.04), directory=tmp_path)


def test_the_stop_rule_says_how_often_one_looks():
    head = make_head()
    looks = {None: 12, Settle(looks=1): 1, Settle(looks=3): 3, Never(): 4, Never(looks=1): 1}
    for stop, rounds in looks.items():
        session = Predicting(head, TEST, 10**5, stop=stop)
        assert len(session.new.milestones) == rounds
        assert session.new.milestones[-1] == 10**5
    kernel, classes = KernelEstimate(np.eye(2)), np.array(["no", "yes"])
    far = FittedHead(np.array([1.0, -1.0]), np.array(0.0), kernel, 0.1, classes)
    session = Predicting(far, 2, 2000, stop=Settle(looks=1))
    play(session, np.array([[0.9, 0.1], [0.5, 0.5]]))
    assert (session.round, session.settled.tolist()) == (1, [True, False])
    assert session.result().labels[0] == "yes"


def kinds(directory):
    with Ledger(directory / LEDGER_NAME) as ledger:
        return [entry.kind for entry in ledger.read()]


class Stopping(MatrixBackend):
    """Raises an error at one collection."""

    def __init__(self, block, at, error):
        super().__init__(block, rectangular=True)
        self.left, self.error = at, error

    def collect(self, ticket):
        self.left -= 1
        if self.left == 0:
            raise self.error
        return super().collect(ticket)

    def fingerprint(self):
        return "stopping"


@pytest.mark.parametrize("at", [1, 4])
def test_a_killed_prediction_is_resumed_as_if_nothing_had_happened(tmp_path, at):
    head, block = make_head(), make_block()
    whole = predict(head, Stopping(block, 0, None), 5000)
    with pytest.raises(KeyboardInterrupt):
        predict(head, Stopping(block, at, KeyboardInterrupt()), 5000, directory=tmp_path)
    resumed = predict(head, Stopping(block, 0, None), 5000, directory=tmp_path)
    np.testing.assert_array_equal(resumed.table.hits, whole.table.hits)
    np.testing.assert_array_equal(resumed.settled, whole.settled)
    again = predict(head, Stopping(block, 1, AssertionError()), 5000, directory=tmp_path)
    np.testing.assert_array_equal(again.table.hits, whole.table.hits)
    with pytest.raises(LedgerError, match="these differ: budget"):
        predict(head, Stopping(block, 0, None), 6000, directory=tmp_path)


def test_the_ledger_of_a_prediction_that_ended_early_is_sound(tmp_path):
    head, block = make_head(), make_block()
    found = predict(head, MatrixBackend(block, rectangular=True), 10**7, directory=tmp_path)
    assert found.settled.all()
    audit = verify(tmp_path)
    assert audit.sound, audit.problems
    assert audit.finished
    assert audit.shots == found.shots.sum() < 10**7
    assert measurements(tmp_path).shots.sum() == found.shots.sum()
    with pytest.raises(LedgerError, match="ledger of a prediction"):
        table_of(tmp_path)


@pytest.mark.filterwarnings("ignore:round")
def test_a_failed_job_is_paid_for_once_and_the_rest_goes_on(tmp_path):
    head, block = make_head(), make_block()
    backend = Stopping(block, 2, JobError("lost"))
    found = predict(head, backend, 5000, directory=tmp_path)
    assert kinds(tmp_path).count("failed") == 1
    assert found.shots.sum() == 5000 or found.settled.all()
    assert verify(tmp_path).sound


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget": 0}, "budget must be a whole number of at least 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"level": 1}, "level must lie strictly between 0 and 1"),
        ({"head": np.ones(12)}, r"head must be a FittedHead, got ndarray; session.fit\(\)"),
        ({"head": replace(make_head(), alpha=np.full(12, np.nan))}, "coefficients that are NaN"),
        ({"head": make_head(13)}, "trained on 13 points, so the backend must have that many"),
        ({"backend": make_block()}, "backend must be a Backend, got ndarray"),
    ],
)
def test_bad_input_is_refused_with_a_remedy(change, message):
    given = {
        "head": make_head(),
        "backend": MatrixBackend(make_block(), rectangular=True),
        "budget": 100,
    }
    with pytest.raises(InputError, match=message):
        predict(**{**given, **change})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Settle(0.0), "error_rate must lie above 0 and below 0.5"),
        (lambda: Settle(0.5), "error_rate must lie above 0 and below 0.5"),
        (lambda: Settle("5 %"), "error_rate must be a fraction"),
        (lambda: Settle(looks=0), "looks must be a whole number of at least 1"),
        (lambda: Never(looks=0), "looks must be a whole number of at least 1"),
    ],
)
def test_a_stop_rule_that_cannot_be_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_ask_and_tell_out_of_turn_change_nothing():
    session = Predicting(make_head(), TEST, 100)
    with pytest.raises(InputError, match=r"call ask\(\) first"):
        session.tell([1])
    plan = session.ask()
    for wrong in (plan.shots[:-1], plan.shots + 1, -plan.shots):
        with pytest.raises(InputError, match="hits must"):
            session.tell(wrong)
    assert session.table.total == 0
    with pytest.raises(InputError, match="plan has 200 shots but 100"):
        session.take_up(type(plan)([0], [0], [200]))
    play(session, make_block())
    with pytest.raises(InputError, match="100 of 100 shots are spent"):
        session.ask()
