"""Values of real targets: shots by the error of f, no classes, budgets, ledgers."""

import numpy as np
import pytest

from aqka import InputError, LedgerError, MatrixBackend
from aqka.insight import with_total_interval
from aqka.readouts import FittedHead
from aqka.runs.audit import verify
from aqka.sessions import ValueSession, acquire, predict_values
from tests.conftest import make_kernel
from tests.sessions.test_prediction import make_block, make_head


def spend(session, block):
    while not session.done:
        plan = session.ask()
        rng = np.random.default_rng([5, session.round])
        session.tell(rng.binomial(plan.shots, block[plan.rows, plan.cols]))
    return session


def test_the_budget_is_spent_in_proportion_to_what_each_pair_adds_to_the_error():
    head, block = make_head(), make_block()
    session = spend(ValueSession(head, 6, 600_000), block)
    wanted = np.abs(head.alpha) * np.sqrt(block * (1 - block))
    shots = session.table.shots / session.table.total
    np.testing.assert_allclose(shots, wanted / wanted.sum(), atol=0.002)
    assert session.table.total == 600_000


def test_no_other_spread_has_a_smaller_sum_of_squared_errors():
    """Against 200 random spreads: Σ α² K(1-K) / s is least at the session's shots."""
    head, block = make_head(), make_block()
    session = spend(ValueSession(head, 6, 600_000), block)
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
        head = make_head()
        head = FittedHead(head.alpha, np.array(intercept), head.kernel, 0.1, head.classes)
        session = spend(ValueSession(head, 6, 5000, seed=3), block)
        if intercept == 0.0:
            shots = session.table.shots
    np.testing.assert_array_equal(session.table.shots, shots)


def test_the_result_has_values_and_no_classes():
    head, block = make_head(), make_block()
    found = predict_values(head, MatrixBackend(block, rectangular=True), 40_000_000)
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
    found = with_total_interval(predict_values(session.fit(), test, 10_000), session)
    assert np.all(found.total_low <= found.low)
    assert np.all(found.total_high >= found.high)


def test_a_stopped_prediction_goes_on_and_buys_nothing_twice(tmp_path):
    head, block = make_head(), make_block()
    backend = MatrixBackend(block, rectangular=True)

    def stop(session):
        if session.round == 2:
            raise KeyboardInterrupt

    whole = predict_values(head, backend, 5000)
    with pytest.raises(KeyboardInterrupt):
        predict_values(head, backend, 5000, directory=tmp_path, on_round=stop)
    found = predict_values(head, backend, 5000, directory=tmp_path)
    np.testing.assert_array_equal(found.table.hits, whole.table.hits)
    assert verify(tmp_path).sound
    assert verify(tmp_path).shots == 5000
    with pytest.raises(LedgerError, match="these differ: budget"):
        predict_values(head, backend, 6000, directory=tmp_path)


def test_bad_input_is_refused_with_a_remedy():
    backend = MatrixBackend(make_block(), rectangular=True)
    with pytest.raises(InputError, match="head has 3 outputs"):
        predict_values(make_head(n_classes=3), backend, 100)
    with pytest.raises(InputError, match="must be a FittedHead"):
        predict_values(np.ones(12), backend, 100)
    with pytest.raises(InputError, match="trained on 13 points"):
        predict_values(make_head(13), backend, 100)
