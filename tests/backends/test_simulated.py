import pickle

import numpy as np
import pytest

from aqka import InputError, MatrixBackend
from aqka.core import PairTable, ShotPlan
from tests.conftest import make_kernel


def everything(n_points, shots):
    table = PairTable(n_points)
    return ShotPlan(*table.pairs(), np.full(table.n_pairs, shots))


def run(backend, plan, tag="t"):
    return backend.collect(backend.submit(plan, tag))


def test_hits_are_binomial_around_the_kernel():
    kernel, plan = make_kernel(30), everything(30, 1000)
    hits = run(MatrixBackend(kernel, seed=4), plan)
    k = kernel[plan.rows, plan.cols]
    z = (hits - 1000 * k) / np.sqrt(1000 * k * (1 - k))
    # 435 independent z: their mean square has sd sqrt(2/435); five sd, a false alarm in 10^6.
    assert abs(np.mean(z**2) - 1) < 5 * np.sqrt(2 / 435)
    assert abs(np.mean(z)) < 5 / np.sqrt(435)


def test_the_same_seed_and_tag_repeat_and_others_do_not():
    kernel, plan = make_kernel(10), everything(10, 50)
    first = run(MatrixBackend(kernel, seed=1), plan, "a")
    assert np.array_equal(first, run(MatrixBackend(kernel, seed=1), plan, "a"))
    assert not np.array_equal(first, run(MatrixBackend(kernel, seed=1), plan, "b"))
    assert not np.array_equal(first, run(MatrixBackend(kernel, seed=2), plan, "a"))


def test_rectangular_blocks_serve_test_points():
    block = make_kernel(10)[:4, 4:]
    backend = MatrixBackend(block, rectangular=True)
    assert backend.shape == (4, 6)
    hits = run(backend, ShotPlan([3], [5], [10**6]))
    assert hits[0] / 10**6 == pytest.approx(block[3, 5], abs=5 * 0.5e-3)
    with pytest.raises(InputError, match="rows of the plan must be below 4, got 4"):
        backend.submit(ShotPlan([4], [0], [1]), "t")
    with pytest.raises(InputError, match="cols of the plan must be below 6, got 6"):
        backend.submit(ShotPlan([0], [6], [1]), "t")


def test_edges_zero_and_one_are_certain():
    kernel = np.eye(3)
    hits = run(MatrixBackend(kernel), ShotPlan([0, 0], [0, 1], [1000, 1000]))
    assert hits.tolist() == [1000, 0]


def test_empty_plans_many_rows_and_pickling():
    backend = pickle.loads(pickle.dumps(MatrixBackend(make_kernel(500))))
    assert len(run(backend, ShotPlan([], [], []))) == 0
    plan = everything(500, 2)
    hits = run(backend, plan)
    assert len(hits) == 124_750
    assert np.all((hits >= 0) & (hits <= 2))


def test_a_waiting_tag_does_not_take_another_plan():
    backend = MatrixBackend(make_kernel(3))
    backend.submit(ShotPlan([0], [1], [5]), "t")
    backend.submit(ShotPlan([0], [1], [5]), "t")
    with pytest.raises(InputError, match="waits with another plan"):
        backend.submit(ShotPlan([0], [2], [5]), "t")


def test_a_ticket_is_collected_once():
    backend = MatrixBackend(make_kernel(3))
    ticket = backend.submit(ShotPlan([0], [1], [5]), "t")
    backend.collect(ticket)
    for unknown in (ticket, "never"):
        with pytest.raises(InputError, match="unknown or was collected already"):
            backend.collect(unknown)
