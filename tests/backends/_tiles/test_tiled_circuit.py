import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.primitives import StatevectorSampler
from qiskit.quantum_info import Operator

from aqka.backends._jobs.local import sample_part, split_circuit
from aqka.backends._tiles.places import choose_places, find_places, read_calibration, shape_of
from aqka.backends.tiles import tile_circuit
from tests.backends._tiles.chips import line, pairs_circuit


@pytest.fixture(scope="module")
def tiled():
    chip = line(8)
    shape = shape_of(pairs_circuit(2, chip))
    calibration = read_calibration(chip)
    places = find_places(shape, calibration)
    chosen = tuple(choose_places(places, calibration, idle_neighbours=True))
    return shape, chosen, tile_circuit(shape, chosen, 8)


def test_every_tile_has_its_own_parameters_and_register(tiled):
    shape, places, whole = tiled
    assert [register.name for register in whole.circuit.cregs] == [place.name for place in places]
    assert whole.circuit.num_parameters == len(places) * shape.circuit.num_parameters
    assert sorted(whole.order) == list(range(whole.circuit.num_parameters))


def test_the_whole_is_the_product_of_its_tiles(tiled):
    """Bound to values of its own, each tile is the small circuit, and idle qubits stay idle."""
    shape, places, whole = tiled
    values = np.random.default_rng(0).uniform(0, 3, (1, len(places), shape.circuit.num_parameters))
    bound = whole.circuit.assign_parameters(whole.values(values.reshape(1, -1))[0])
    bound.remove_final_measurements()
    expected = QuantumCircuit(8)
    for place, own in zip(places, values[0], strict=True):
        small = shape.circuit.assign_parameters(own)
        small.remove_final_measurements()
        expected.compose(small, place.qubits, inplace=True)
    assert Operator(bound).equiv(Operator(expected))


def test_parts_are_what_the_whole_is(tiled):
    shape, places, whole = tiled
    values = np.random.default_rng(1).uniform(0, 3, (5, len(places), shape.circuit.num_parameters))
    flat = whole.values(values.reshape(5, -1))
    parts = split_circuit(whole.circuit)
    assert [part.name for part in parts] == [place.name for place in places]
    for k, part in enumerate(parts):
        alone = shape.circuit.assign_parameters(values[2, k])
        bound = part.circuit.assign_parameters(flat[2, part.columns])
        counts = [
            StatevectorSampler(seed=np.random.default_rng(5)).run([c], shots=4000).result()[0]
            for c in (alone, bound)
        ]
        first = counts[0].join_data().get_counts()
        second = counts[1].data[part.name].get_counts()
        for outcome in set(first) | set(second):
            p = (first.get(outcome, 0) + second.get(outcome, 0)) / 8000
            gap = abs(first.get(outcome, 0) - second.get(outcome, 0))
            assert gap <= 5 * np.sqrt(2 * 4000 * p * (1 - p)) + 1


def test_copies_are_simulated_once_and_each_gets_shots_of_its_own(tiled):
    *_, whole = tiled
    part = split_circuit(whole.circuit)[0]
    values = np.tile(np.arange(whole.circuit.num_parameters, dtype=float), (5, 1))
    values[2, part.columns] = 90.0
    asked = []

    def sampler(rows, shots):
        asked.append((rows.tolist(), shots))
        return np.arange(len(rows) * shots, dtype=np.uint8).reshape(len(rows), shots, 1)

    found = sample_part(values[:, part.columns], 3, sampler)[..., 0]
    ((rows, shots),) = asked
    assert rows == [part.columns.tolist(), [90.0] * 4]
    assert shots == 12
    assert found.tolist() == [[0, 1, 2], [3, 4, 5], [12, 13, 14], [6, 7, 8], [9, 10, 11]]
