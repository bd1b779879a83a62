import itertools

import numpy as np
import pytest
from qiskit import QuantumCircuit, transpile
from qiskit_ibm_runtime.fake_provider import FakeFez
from scipy.stats import spearmanr

from aqka import InputError
from aqka.backends._noisy.models import noisy_simulator
from aqka.backends._tiles.places import estimate_success, find_places, read_calibration, shape_of
from aqka.backends.tiles import tile_circuit
from tests.backends._tiles.chips import Chip, grid, line, pairs_circuit


def ring(n):
    circuit = QuantumCircuit(n, n)
    for k in range(n):
        circuit.cz(k, (k + 1) % n)
    circuit.measure(range(n), range(n))
    return circuit


def star():
    circuit = QuantumCircuit(4, 4)
    for k in (1, 2, 3):
        circuit.cz(0, k)
    circuit.measure(range(4), range(4))
    return circuit


def brute_force(circuit, chip):
    """Every set of qubits on which some order of them has all of the circuit's couplers."""
    n = circuit.num_qubits
    edges = {
        tuple(circuit.find_bit(q).index for q in s.qubits) for s in circuit.data if s.name == "cz"
    }
    there = set(chip.target["cz"])
    return {
        frozenset(order)
        for order in itertools.permutations(range(chip.num_qubits), n)
        if all((order[a], order[b]) in there for a, b in edges)
    }


@pytest.mark.parametrize("circuit", [ring(4), star(), QuantumCircuit(1, 1)])
def test_places_are_all_there_are(circuit):
    chip = grid(3, 3, np.random.default_rng(1))
    if circuit.num_qubits == 1:
        circuit.measure(0, 0)
    found = find_places(shape_of(circuit), read_calibration(chip))
    assert {frozenset(place.qubits) for place in found} == brute_force(circuit, chip)
    assert [p.success for p in found] == sorted((p.success for p in found), reverse=True)


def test_the_estimate_is_that_of_the_gates_as_placed():
    chip = grid(3, 4, np.random.default_rng(2), readout=0.03)
    shape = shape_of(pairs_circuit(4, chip))
    calibration = read_calibration(chip)
    for place in find_places(shape, calibration)[::7]:
        placed = tile_circuit(shape, (place,), 12).circuit
        expected = 1.0
        for step in placed.data:
            if step.name != "barrier":
                where = tuple(placed.find_bit(qubit).index for qubit in step.qubits)
                expected *= 1 - chip.target[step.name][where].error
        assert place.success == pytest.approx(expected, rel=1e-12)


def test_of_two_ways_round_the_better_is_kept():
    """An uneven circuit on an uneven line: the busy coupler must get the good one."""
    circuit = QuantumCircuit(3, 3)
    circuit.cz(0, 1)
    for _ in range(5):
        circuit.cz(1, 2)
    circuit.measure(range(3), range(3))
    calibration = read_calibration(Chip(3, {(0, 1): 0.001, (1, 2): 0.1}))
    (place,) = find_places(shape_of(circuit), calibration)
    assert place.qubits == (2, 1, 0)
    assert place.success > estimate_success(shape_of(circuit), (0, 1, 2), calibration)


def test_dead_couplers_and_unknown_errors_are_left_out():
    chip = Chip(6, {(0, 1): 0.01, (1, 2): 1.0, (2, 3): 0.02, (3, 4): None, (4, 5): 0.03})
    found = find_places(shape_of(pairs_circuit(2, chip)), read_calibration(chip))
    assert {frozenset(place.qubits) for place in found} == {
        frozenset({0, 1}), frozenset({2, 3}), frozenset({4, 5})
    }  # fmt: skip


def test_gates_in_one_direction_are_placed_in_it():
    chip = line(4)
    one_way = {(a, b): properties for (a, b), properties in chip.target["cz"].items() if a < b}
    circuit = QuantumCircuit(2, 2)
    circuit.cz(0, 1)
    circuit.measure([0, 1], [0, 1])
    calibration = read_calibration(chip)
    there = {w: e for w, e in calibration.errors.items() if len(w[1]) == 1 or w[1] in one_way}
    object.__setattr__(calibration, "errors", there)
    assert [p.qubits for p in find_places(shape_of(circuit), calibration)] == [
        (0, 1),
        (1, 2),
        (2, 3),
    ]


def test_routing_is_part_of_the_shape():
    """Three qubits in a triangle do not fit on a line without swaps."""
    chip = line(9)
    circuit = QuantumCircuit(3)
    for a, b in ((0, 1), (1, 2), (0, 2)):
        circuit.cz(a, b)
        circuit.sx(b)
    circuit.measure_all()
    isa = transpile(circuit, target=chip.target, optimization_level=1, seed_transpiler=0)
    shape = shape_of(isa)
    assert all(abs(a - b) == 1 for a, b in shape.couplings)
    assert sum(n for (gate, _), n in shape.uses.items() if gate == "cz") > 3
    assert len(find_places(shape, read_calibration(chip))) == 7


def test_the_estimate_ranks_places_as_exact_simulation_does():
    device = FakeFez()
    shape = shape_of(pairs_circuit(2, device))
    places = find_places(shape, read_calibration(device))[::14]
    x = np.array([0.4, 1.1])
    kept = []
    for place in places:
        circuit = tile_circuit(shape, (place,), device.num_qubits).circuit
        circuit.remove_final_measurements()
        bound = circuit.assign_parameters(np.tile(x, 2))
        bound.save_density_matrix(list(place.qubits))
        state = noisy_simulator(device, bound).run(bound).result().data()["density_matrix"]
        readout = [device.target["measure"][(q,)].error for q in place.qubits]
        kept.append(float(np.real(state.data[0, 0])) * np.prod(1 - np.array(readout)))
    estimates = [place.success for place in places]
    assert spearmanr(estimates, kept).statistic > 0.9
    assert np.all(np.array(kept) > np.array(estimates) - 0.02)  # some errors do no harm


@pytest.mark.parametrize(
    ("chip", "qubits", "message"),
    [
        (line(5, error=1.0), 2, "tiles are chosen by calibration data|no place"),
        (Chip(6, {(0, 1): 0.01, (1, 2): 0.01, (3, 4): 0.01, (4, 5): 1.0}), 4,
         r"not connected: its pieces have 3, 3 qubits"),
        (line(3), 4, "uses 4 qubits"),
    ],
)  # fmt: skip
def test_no_place(chip, qubits, message):
    shape = shape_of(pairs_circuit(qubits, line(qubits)))
    with pytest.raises(InputError, match=message):
        find_places(shape, read_calibration(chip))


@pytest.mark.parametrize(
    ("chip", "message"),
    [
        (
            Chip(4, {(0, 1): None, (1, 2): None}),
            "chosen by calibration data, and chip has no errors",
        ),
        (
            Chip(4, {(0, 1): 0.1}, readout=None),
            "no errors of its two-qubit gates or of its readout",
        ),
        (object(), "tiles need a device with a coupling map, and object has none"),
    ],
)
def test_no_calibration(chip, message):
    with pytest.raises(InputError, match=message):
        read_calibration(chip)
