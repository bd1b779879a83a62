import os
import subprocess
import sys

import numpy as np
import pytest

from aqka import InputError
from aqka.backends.statevector import zz_states
from aqka.core import Problem
from aqka.core.points import PointTable
from aqka.core.settings import choose_settings
from aqka.designs import Fidelity, Points, state_fits
from aqka.designs.state_fits import StateFits
from aqka.estimates import states
from aqka.estimates.states import fit_states
from aqka.learners import make_learner
from tests.estimates.points import measured

SETTINGS = choose_settings(2, seed=0)


def counts(n_points, seed=0):
    x = np.random.default_rng(seed).uniform(0, 2, size=(n_points, 2))
    return measured(zz_states(x), SETTINGS, 90, seed=seed)


def cut_finely(monkeypatch, points=7, many=0):
    """Make batches and cells of so few points, and any number of points very many."""
    amplitudes = points * len(SETTINGS) * 4
    monkeypatch.setattr(states, "BATCH_AMPLITUDES", amplitudes)
    monkeypatch.setattr(state_fits, "CELL_AMPLITUDES", amplitudes)
    monkeypatch.setattr(state_fits, "MANY_AMPLITUDES", many)


def trained(table, how):
    problem = Problem(np.tile([0, 1], table.n_points // 2))
    return make_learner("ridge-loo").fit(
        Points(Fidelity(fit_states=how)).read(table, problem), problem
    )


def check_same_bits(found, expected):
    np.testing.assert_array_equal(found.vectors, expected.vectors)
    np.testing.assert_array_equal(found.log_likelihood, expected.log_likelihood)
    np.testing.assert_array_equal(found.converged, expected.converged)


@pytest.mark.parametrize("rank", [1, 2])
def test_states_fitted_in_pieces_are_those_fitted_together(monkeypatch, rank):
    cut_finely(monkeypatch)
    table = counts(30)
    confusion = np.tile([[0.95, 0.1], [0.05, 0.9]], (2, 1, 1))
    start = None if rank == 1 else fit_states(table, confusion=confusion)
    whole = fit_states(table, rank, start, confusion)
    pieces = StateFits(workers=1)(table, rank, start, confusion)
    check_same_bits(pieces, whole)
    np.testing.assert_array_equal(pieces.confusion, whole.confusion)


def test_cells_are_whole_batches_of_the_fit():
    for n_qubits, rank in ((2, 1), (4, 1), (4, 2), (8, 1), (8, 4)):
        table = PointTable(1, choose_settings(n_qubits, seed=0))
        size = state_fits._points_per_cell(table, rank)
        assert size % states.batch_size(table, rank) == 0
        assert size * rank * table.n_settings * 2**n_qubits <= 2**20


def test_worker_processes_find_the_same_bits(monkeypatch):
    cut_finely(monkeypatch)
    table = counts(13)
    there = StateFits(workers=2)(table)
    check_same_bits(there, fit_states(table))


@pytest.fixture
def sweeps(monkeypatch):
    """Points of each fit that went to worker processes."""
    found, on_cores = [], StateFits._on_cores

    def fit_and_note(self, parts):
        found.append(sum(part[0].n_points for part in parts))
        return on_cores(self, parts)

    monkeypatch.setattr(StateFits, "_on_cores", fit_and_note)
    return found


def test_training_and_prediction_of_very_many_points_are_swept(monkeypatch, sweeps):
    cut_finely(monkeypatch, points=20, many=20 * len(SETTINGS) * 4)
    table, new = counts(40), counts(30, seed=1)
    swept = trained(table, StateFits(workers=1))
    assert sweeps == [40]
    found = swept.decide(new)
    assert sweeps == [40, 30, 30]  # the points, and once more with counts drawn again
    here = trained(table, fit_states)
    check_same_bits(swept.estimate.fitted, here.estimate.fitted)
    np.testing.assert_array_equal(swept.alpha, here.alpha)
    expected = here.decide(new)
    np.testing.assert_array_equal(found.f, expected.f)
    np.testing.assert_array_equal(found.deviation, expected.deviation)
    swept.decide(new.subset(range(19)))
    assert len(sweeps) == 3  # few points are fitted here


def test_noisy_states_are_swept_from_the_purer_ones(monkeypatch, sweeps):
    cut_finely(monkeypatch, points=20)
    x = np.random.default_rng(0).uniform(0, 2, size=(40, 2))
    table = measured(zz_states(x), SETTINGS, 4000, seed=0, depolarised=0.3)
    swept = trained(table, StateFits(workers=1))
    here = trained(table, fit_states)
    assert swept.estimate.fitted.rank == here.estimate.fitted.rank > 1
    assert len(sweeps) > 1
    assert set(sweeps) == {40}
    check_same_bits(swept.estimate.fitted, here.estimate.fitted)


def test_a_process_of_a_sweep_starts_no_others(monkeypatch, sweeps):
    cut_finely(monkeypatch)
    monkeypatch.setattr(state_fits.multiprocessing, "parent_process", object)
    check_same_bits(StateFits()(counts(13)), fit_states(counts(13)))
    assert not sweeps


SCRIPT = """
import numpy as np
from aqka.backends.statevector import zz_states
from aqka.core.settings import choose_settings
from aqka.estimates import states
from aqka.designs import state_fits
from tests.estimates.points import measured

print("begun")
settings = choose_settings(2, seed=0)
for module, name in ((states, "BATCH"), (state_fits, "CELL"), (state_fits, "MANY")):
    setattr(module, f"{name}_AMPLITUDES", 7 * len(settings) * 4)
table = measured(zz_states(np.random.default_rng(0).uniform(0, 2, (14, 2))), settings, 90, seed=0)
swept = state_fits.StateFits(workers=2)(table)
print(np.array_equal(swept.vectors, states.fit_states(table).vectors))
"""


def test_a_script_without_a_guard_is_run_once(tmp_path):
    """Workers that ran it again would buy its shots again."""
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["src", "."])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("begun\nTrue\n", "")


def test_points_without_shots_are_refused(monkeypatch):
    cut_finely(monkeypatch)
    with pytest.raises(InputError, match="point 0 has none"):
        StateFits(workers=1)(PointTable(2, SETTINGS))
