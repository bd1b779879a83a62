"""The law of points against simulations of four feature maps."""

import numpy as np
import pytest

from aqka.core.settings import choose_settings
from aqka.estimates.states import fit_states
from aqka.maths.point_law import (
    equivalent_pair_shots,
    kernel_error,
    label_shots,
    state_fidelity,
)
from aqka_research.benchmarks.point_law import MAPS, exact_entries, mean_squared_error, worth
from tests.estimates.points import measured

SEED = 7  # none that the benchmark uses


def states_of(name, n_qubits, n_points=60):
    return MAPS[name](np.random.default_rng(SEED + n_qubits).random((n_points, n_qubits)))


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("shots", [512, 4096])
def test_at_four_qubits_a_point_is_worth_a_quarter_of_its_shots_on_every_pair(name, shots):
    found = worth(states_of(name, 4, 80), shots, seeds=[SEED])
    assert 0.7 * shots / 4 < found < 1.3 * shots / 4


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize(("n_qubits", "shots"), [(2, 32), (2, 2048), (4, 128), (5, 256), (6, 512)])
def test_the_error_is_the_one_foretold(name, n_qubits, shots):
    states = states_of(name, n_qubits)
    foretold = kernel_error(n_qubits, shots, exact_entries(states))
    found = mean_squared_error(states, shots, SEED)
    assert 0.6 < foretold / found < 1.6  # off by 20 % as a rule


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize(("n_qubits", "shots"), [(2, 64), (4, 128), (4, 512), (6, 512)])
def test_states_are_as_near_as_foretold(name, n_qubits, shots):
    states = states_of(name, n_qubits)
    fitted = fit_states(measured(states, choose_settings(n_qubits, seed=0), shots, seed=1))
    fidelity = np.mean(np.abs(np.sum(states.conj() * fitted.vectors[0], axis=1)) ** 2)
    assert 1 - fidelity == pytest.approx(1 - state_fidelity(n_qubits, shots), rel=0.4)


def test_lost_states_are_worth_nothing_though_their_error_is_small():
    entries = np.random.default_rng(0).beta(0.5, 15.5, 1000)  # of a mean of 2^{-n/2}
    assert kernel_error(10, 16, entries) < 1 / 16
    assert equivalent_pair_shots(10, 16, entries) < 0.01


def test_shots_on_points_are_worth_about_a_quarter_on_every_pair():
    assert round(equivalent_pair_shots(4, 2048, np.full(10, 0.25))) == 505
    assert [round(label_shots(n, shots)) for n, shots in ((4, 2048), (8, 512))] == [505, 57]
