"""Sweeps on a real Dask cluster of processes, one of which is killed in the middle."""

import os
import signal

import dask
import distributed
import numpy as np
import pytest

from aqka.backends.statevector import zz_states
from aqka.core import Problem
from aqka.core.settings import choose_settings
from aqka.designs import Fidelity, Points, StateFits, state_fits
from aqka.errors import InputError
from aqka.estimates import states
from aqka.learners import make_learner
from aqka_research.sweep.cells import run_cells
from aqka_research.sweep.store import to_json
from research.tests.sweep import cell_functions
from tests.estimates.points import measured


@pytest.fixture(scope="module")
def cluster():
    # By default a dead worker is queried for half a minute before its result is computed anew.
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "8s"}),
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as made,
    ):
        yield made


def test_a_killed_worker_changes_nothing(cluster, tmp_path):
    cells = [{"seed": seed, "pause": 0.15} for seed in range(24)]
    struck = []

    def strike(cell, result):
        if not struck:
            # Not the scheduler or a nanny: the process that is measuring a cell right now.
            with distributed.Client(cluster) as client:
                pids = client.run(os.getpid)
                struck.append(next(iter(pids.values())))
            os.kill(struck[0], signal.SIGKILL)

    store = tmp_path / "store.jsonl"
    far = run_cells(
        cell_functions.slow_spectrum,
        cells,
        store,
        scheduler=cluster.scheduler_address,
        on_cell=strike,
    )
    near = run_cells(cell_functions.slow_spectrum, cells, workers=2)
    assert struck
    assert to_json(far) == to_json(near)
    assert store.read_bytes().count(b"\n") == len(cells)


def test_a_scheduler_that_does_not_answer_is_named():
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "200ms"}),
        pytest.raises(InputError, match=r"tcp://127\.0\.0\.1:9' does not answer"),
    ):
        run_cells(cell_functions.spectrum, [{"seed": 0}], scheduler="tcp://127.0.0.1:9")


def test_a_client_can_be_given_and_stays_open(cluster):
    cells = [{"seed": seed} for seed in range(4)]
    with distributed.Client(cluster) as client:
        far = run_cells(cell_functions.spectrum, cells, scheduler=client)
        assert client.status == "running"
    assert to_json(far) == to_json(run_cells(cell_functions.spectrum, cells, workers=1))


def test_states_of_points_are_fitted_there_too(cluster, monkeypatch):
    settings, random = choose_settings(2, seed=0), np.random.default_rng(0)
    for module, name in ((states, "BATCH_AMPLITUDES"), (state_fits, "CELL_AMPLITUDES")):
        monkeypatch.setattr(module, name, 7 * len(settings) * 4)
    table, new = (
        measured(zz_states(random.uniform(0, 2, (count, 2))), settings, 900, seed=count)
        for count in (40, 20)
    )
    problem = Problem(np.tile([0, 1], 20))
    on_cluster = StateFits(scheduler=cluster.scheduler_address)
    far, near = (
        make_learner("ridge-loo").fit(
            Points(Fidelity(fit_states=how)).read(table, problem), problem
        )
        for how in (on_cluster, states.fit_states)
    )
    np.testing.assert_array_equal(far.estimate.states.vectors, near.estimate.states.vectors)
    np.testing.assert_array_equal(far.alpha, near.alpha)
    np.testing.assert_array_equal(far.decide(new).f, near.decide(new).f)
