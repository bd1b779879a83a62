import numpy as np
import pytest

from aqka import InputError
from aqka.backends.zz import zz_states
from aqka.core.points import PointTable
from aqka.core.settings import choose_settings
from aqka.estimates.states import fit_states
from aqka.estimators import state_fits
from aqka.estimators.state_fits import fit_states_on_all_cores
from tests.estimates.points import measured

SETTINGS = choose_settings(2, seed=0)


def counts(n_points, seed=0):
    x = np.random.default_rng(seed).uniform(0, 2, size=(n_points, 2))
    return measured(zz_states(x), SETTINGS, 90, seed=seed)


@pytest.mark.parametrize("rank", [1, 2])
def test_states_fitted_in_pieces_are_those_fitted_together(tmp_path, monkeypatch, rank):
    monkeypatch.setattr(state_fits, "POINTS_PER_CELL", 7)
    table = counts(30)
    whole = fit_states(table, rank)
    pieces = fit_states_on_all_cores(table, tmp_path, rank, workers=1)
    np.testing.assert_allclose(pieces.kernel(), whole.kernel(), atol=1e-6)
    np.testing.assert_allclose(pieces.log_likelihood, whole.log_likelihood, rtol=1e-6)
    assert pieces.converged.all()


def test_worker_processes_find_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setattr(state_fits, "POINTS_PER_CELL", 7)
    table = counts(13)
    here = fit_states_on_all_cores(table, tmp_path / "here", workers=1)
    there = fit_states_on_all_cores(table, tmp_path / "there", workers=2)
    np.testing.assert_array_equal(here.vectors, there.vectors)


def test_a_stopped_fit_goes_on_and_other_counts_begin_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(state_fits, "POINTS_PER_CELL", 10)
    table, fits = counts(30), []

    def fit_and_count(part, rank, confusion):
        fits.append(part.n_points)
        if len(fits) == 3:
            raise KeyboardInterrupt
        return fit_states(part, rank, confusion=confusion)

    monkeypatch.setattr(state_fits, "fit_states", fit_and_count)
    with pytest.raises(KeyboardInterrupt):
        fit_states_on_all_cores(table, tmp_path, workers=1)
    found = fit_states_on_all_cores(table, tmp_path, workers=1)
    assert fits == [10, 10, 10, 10]
    np.testing.assert_allclose(found.kernel(), fit_states(table).kernel(), atol=1e-6)
    other = fit_states_on_all_cores(counts(30, seed=1), tmp_path, workers=1)
    assert len(fits) == 7
    assert np.abs(other.kernel() - found.kernel()).max() > 0.1


def test_readout_errors_reach_the_fits(tmp_path):
    confusion = np.tile([[0.95, 0.1], [0.05, 0.9]], (2, 1, 1))
    found = fit_states_on_all_cores(counts(5), tmp_path, confusion=confusion, workers=1)
    expected = fit_states(counts(5), confusion=confusion)
    np.testing.assert_allclose(found.kernel(), expected.kernel(), atol=1e-6)


def test_points_without_shots_are_refused(tmp_path):
    with pytest.raises(InputError, match="point 0 has none"):
        fit_states_on_all_cores(PointTable(2, SETTINGS), tmp_path, workers=1)
