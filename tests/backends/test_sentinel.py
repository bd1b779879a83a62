import warnings

import numpy as np
import pytest

from aqka import InputError, MatrixBackend, acquire
from aqka.backends.sentinel import DriftWarning, SentinelBackend
from aqka.core import ShotPlan
from tests.backends.depolarised_kernel import QUBITS, depolarised, true_kernel


def test_sentinels_ride_along_and_stay_out_of_the_budget():
    kernel = depolarised(true_kernel(), np.full(8, 0.8))
    backend = SentinelBackend(MatrixBackend(kernel, seed=1), points=[0, 3, 5], shots=100)
    session = acquire(backend, [1, -1] * 4, budget=2000)
    assert session.table.total == 2000
    assert len(backend.hits) == session.rounds_total
    estimate = backend.estimate(QUBITS)
    assert abs(estimate.survival - 0.8) < 4 * estimate.standard_error
    assert not backend.drift().drifted


def test_a_drifting_device_warns():
    backend = SentinelBackend(MatrixBackend(np.eye(2) * 0.9), points=[0, 1], shots=400)
    plan = ShotPlan([0], [1], [5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        backend.collect(backend.submit(plan, "a"))
    backend.backend = MatrixBackend(np.eye(2) * 0.7)
    ticket = backend.submit(plan, "b")
    with pytest.warns(DriftWarning, match="noise drifts"):
        backend.collect(ticket)


def test_empty_plans_carry_no_sentinels():
    backend = SentinelBackend(MatrixBackend(np.eye(2)), points=[0], shots=5)
    assert backend.collect(backend.submit(ShotPlan([0], [1], [0]), "t")).tolist() == [0]
    assert backend.collect(backend.submit(ShotPlan([], [], []), "u")).tolist() == []
    assert backend.hits == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SentinelBackend(MatrixBackend(np.eye(2)), [2], 5), "points must name"),
        (lambda: SentinelBackend(MatrixBackend(np.eye(2)), [0], 0), "shots"),
        (lambda: SentinelBackend(MatrixBackend(np.eye(2)), [0], 1).collect("t"), "ticket"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(InputError, match=message):
        call()
