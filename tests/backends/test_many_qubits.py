"""Points of many qubits on the statevector: shots are drawn bit by bit."""

import tracemalloc

import numpy as np
import pytest

from aqka import StatevectorBackend
from aqka.backends.simulated import draw_bit_by_bit, outcome_probabilities
from aqka.core import PointPlan
from aqka.core.points import PointTable
from aqka.core.settings import choose_settings, uniform_settings


def random_state(n_qubits, seed=0):
    parts = np.random.default_rng(seed).normal(size=(2, 2**n_qubits))
    state = parts[0] + 1j * parts[1]
    return state / np.linalg.norm(state)


@pytest.mark.parametrize("shots", [1, 40_000])
def test_bits_one_by_one_have_the_probabilities_of_all_outcomes(shots):
    state, random = random_state(3), np.random.default_rng(1)
    for letters in choose_settings(3, seed=0):
        p = outcome_probabilities(state[None], letters[None])[0]
        seen, counts = draw_bit_by_bit(state, letters, shots, random)
        assert counts.sum() == shots
        assert len(np.unique(seen)) == len(seen) <= shots
        share = np.bincount(seen, counts, minlength=8) / shots
        assert np.all(np.abs(share - p) < 5 * np.sqrt(p * (1 - p) / shots) + 1 / shots)


def test_eighteen_qubits_have_the_expectations_that_are_known():
    """H and RZ(x) on each qubit: ⟨X⟩ = cos x, ⟨Y⟩ = sin x, ⟨Z⟩ = 0, as the map z doubles x."""
    n_qubits, shots = 18, 400
    x = np.random.default_rng(0).uniform(0, np.pi / 2, size=(1, n_qubits))
    angle = np.exp(2j * x[0])
    state = np.ones(1)
    for one in angle:  # qubit 0 is the least significant
        state = np.kron([1, one], state) / np.sqrt(2)
    settings, random = uniform_settings(n_qubits), np.random.default_rng(1)
    found = []
    tracemalloc.start()
    for letters in settings:
        seen, counts = draw_bit_by_bit(state, letters, shots, random)
        bits = 1 - 2 * ((seen[:, None] >> np.arange(n_qubits)) & 1)
        found.append(counts @ bits / shots)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    exact = [angle.real, angle.imag, np.zeros(n_qubits)]
    assert np.abs(np.array(found) - exact).max() < 5 / np.sqrt(shots)
    assert most < 5 * state.nbytes  # whatever the number of settings


def test_the_backend_draws_points_of_many_qubits_and_keeps_to_its_plan():
    n_qubits, shots = 16, 300
    x = np.random.default_rng(0).uniform(0, np.pi / 2, size=(2, n_qubits))
    backend, settings = StatevectorBackend(x, "z"), uniform_settings(n_qubits)
    plan = PointPlan([0, 1, 1, 0, 1, 0], [0, 0, 1, 1, 2, 2], [shots] * 5 + [0], settings)
    answer = backend.collect(backend.submit(plan, tag="one"))
    again = backend.collect(backend.submit(plan, tag="one"))
    np.testing.assert_array_equal(answer.outcomes, again.outcomes)
    np.testing.assert_array_equal(np.bincount(answer.rows, answer.counts), [shots] * 5)
    table = PointTable(2, settings)
    table.add(plan, answer)
    for point in (0, 1):
        for k in (0, 1):  # X and Y
            chosen = answer.rows == {(0, 0): 0, (1, 0): 1, (1, 1): 2, (0, 1): 3}[point, k]
            bits = 1 - 2 * ((answer.outcomes[chosen, None] >> np.arange(n_qubits)) & 1)
            state = backend.states()[point]
            exact = expectations(state, k, n_qubits)
            found = answer.counts[chosen] @ bits / shots
            assert np.abs(found - exact).max() < 5 / np.sqrt(shots)


def expectations(state, letter, n_qubits):
    """⟨X⟩ or ⟨Y⟩ of every qubit, by the density matrix of each."""
    values = []
    for qubit in range(n_qubits):
        halves = state.reshape(-1, 2, 2**qubit)
        overlap = np.vdot(halves[:, 0], halves[:, 1])
        values.append(2 * (overlap.real if letter == 0 else overlap.imag))
    return values
