import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from aqka.backends._tiles.places import choose_places, find_places, read_calibration, shape_of
from tests.backends._tiles.chips import grid, line, pairs_circuit


def at_peace(places, calibration, idle_neighbours):
    """No qubit twice, and none beside one of another tile."""
    neighbours = calibration.neighbours()
    for k, place in enumerate(places):
        near = set(place.qubits)
        if idle_neighbours:
            near |= set().union(*(neighbours[q] for q in place.qubits))
        assert all(near.isdisjoint(other.qubits) for other in places[k + 1 :])


def heaviest(places, calibration, idle_neighbours):
    """The optimum, by integer programming."""
    neighbours = calibration.neighbours()
    weights = np.array([place.success for place in places])
    rivals = []
    for i, a in enumerate(places):
        near = set(a.qubits)
        if idle_neighbours:
            near |= set().union(*(neighbours[q] for q in a.qubits))
        for j in range(i + 1, len(places)):
            if not near.isdisjoint(places[j].qubits):
                row = np.zeros(len(places))
                row[[i, j]] = 1
                rivals.append(row)
    found = milp(
        -weights,
        constraints=LinearConstraint(np.array(rivals), ub=1),
        integrality=np.ones(len(weights)),
        bounds=Bounds(0, 1),
    )
    return -found.fun


@pytest.mark.parametrize("idle_neighbours", [True, False])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_choice_is_close_to_the_optimum(seed, idle_neighbours):
    chip = grid(4, 5, np.random.default_rng(seed))
    calibration = read_calibration(chip)
    places = find_places(shape_of(pairs_circuit(2, chip)), calibration)
    chosen = choose_places(places, calibration, idle_neighbours=idle_neighbours)
    at_peace(chosen, calibration, idle_neighbours)
    best = heaviest(places, calibration, idle_neighbours)
    assert sum(p.success for p in chosen) >= 0.97 * best


def test_local_search_finds_what_greed_misses():
    """Greed takes the best pair in the middle of five qubits; two beside it are better."""
    chip = line(5)
    chip.target.update_instruction_properties(
        "cz", (1, 2), type(chip.target["cz"][0, 1])(error=0.001)
    )
    chip.target.update_instruction_properties(
        "cz", (2, 1), type(chip.target["cz"][0, 1])(error=0.001)
    )
    calibration = read_calibration(chip)
    places = find_places(shape_of(pairs_circuit(2, chip)), calibration)
    assert set(places[0].qubits) == {1, 2}
    chosen = choose_places(places, calibration, idle_neighbours=True)
    assert [set(p.qubits) for p in sorted(chosen, key=lambda p: min(p.qubits))] == [{0, 1}, {3, 4}]


def test_fewer_than_fit_are_the_best_of_them():
    chip = grid(4, 5, np.random.default_rng(3))
    calibration = read_calibration(chip)
    places = find_places(shape_of(pairs_circuit(2, chip)), calibration)
    (best,) = choose_places(places, calibration, idle_neighbours=True, count=1)
    assert best == places[0]
    two = choose_places(places, calibration, idle_neighbours=True, count=2)
    at_peace(two, calibration, True)
    assert len(two) == 2
    three = choose_places(places, calibration, idle_neighbours=True, count=3)
    assert np.mean([p.success for p in three]) <= np.mean([p.success for p in two])
