import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector
from qiskit.circuit.library import zz_feature_map
from qiskit.transpiler import Target
from qiskit_ibm_runtime.fake_provider import FakeFez, FakeTorino

from aqka import InputError, Points, acquire
from aqka.backends import LightConeBackend
from aqka.backends._jobs.transpile import Transpiler
from aqka.backends.circuits import lattice_of, point_circuit
from aqka.backends.feature_maps import built_in_map
from aqka.backends.statevector import StatevectorBackend
from tests.backends._tiles.chips import Chip


def test_circuits_that_are_refused():
    X = [[0.1, 0.2], [0.3, 0.4]]
    x = ParameterVector("x", 3)
    plain = QuantumCircuit(2)
    plain.h(0)
    measured = zz_feature_map(2)
    measured.measure_all()
    three = QuantumCircuit(2)
    for angle in x:
        three.rx(angle, 0)
    for circuit, message in [
        (plain, "no parameters"),
        (measured, "remove_final_measurements"),
        (three, "3 parameters but the data have 2 features"),
        ("zzz", "QuantumCircuit"),
    ]:
        with pytest.raises(InputError, match=message):
            StatevectorBackend(X, circuit)


def test_data_that_are_refused():
    with pytest.raises(InputError, match="NaN or infinite values in 1 rows"):
        StatevectorBackend([[0.1, np.nan], [0.3, 0.4]])
    with pytest.raises(InputError, match="columns holds NaN"):
        StatevectorBackend([[0.1, 0.2]], columns=[[np.inf, 0.2]])
    with pytest.raises(InputError, match="as many features as X, 2, got 1"):
        StatevectorBackend([[0.1, 0.2]], columns=[[0.1]])
    with pytest.raises(InputError, match=r"X holds an angle of 1e\+300; beyond 1e\+15"):
        StatevectorBackend([[0.1, -1e300]])
    with pytest.raises(InputError, match="two-dimensional"):
        StatevectorBackend([0.1, 0.2])
    with pytest.raises(InputError, match="seed"):
        StatevectorBackend([[0.1, 0.2]], seed=-1)


def heavy_hex(n_qubits, couplers):
    x, circuit = ParameterVector("x", n_qubits), QuantumCircuit(n_qubits)
    for _ in range(2):
        for q in range(n_qubits):
            circuit.ry(x[q], q)
        for a, b in couplers:
            circuit.cz(a, b)
    return circuit


def test_neighbours_are_the_pairs_that_gates_of_the_map_act_on():
    """The heavy-hex lattice of a Heron: two colours, nine settings, every coupler a pair."""
    couplers = sorted({(min(e), max(e)) for e in FakeFez().coupling_map.get_edges()})
    X = np.random.default_rng(0).uniform(0, 1, size=(2, 156))
    backend = LightConeBackend(X, heavy_hex(156, couplers))
    np.testing.assert_array_equal(backend.lattice, couplers)
    kernel = Points("projected-2").on(backend.lattice, 156)
    settings = kernel.settings_for(156, seed=0, steers=False)
    assert len(settings) == 9
    pairs = settings[:, np.array(couplers)]
    assert all(len(np.unique(pair, axis=0)) == 9 for pair in pairs.transpose(1, 0, 2))
    np.testing.assert_array_equal(settings, Points().on(backend.lattice, 156).settings)
    assert all(len(set(row)) <= 2 for row in settings)
    for name in ("zz", "zz-full", "z"):
        assert lattice_of(built_in_map(name, 4)) is None
    star = QuantumCircuit(4)
    star.compose(heavy_hex(4, [(0, 1), (0, 2), (0, 3)]), inplace=True)
    assert lattice_of(star).tolist() == [[0, 1], [0, 2], [0, 3]]


def test_a_run_reads_the_pairs_of_its_lattice():
    X = np.random.default_rng(0).uniform(0, 1, size=(6, 10))
    star = heavy_hex(10, [(0, k) for k in range(1, 10)])
    backend = LightConeBackend(X, star)
    session = acquire(backend, [1, -1] * 3, 6 * 90, design=Points("projected-2"))
    assert session.estimate().states.operators.edges.tolist() == [[0, k] for k in range(1, 10)]


def test_a_line_stands_on_a_line_of_the_chip_without_a_swap():
    """Two CZ a coupling, two layers of couplings, two repetitions: depth 8 however wide."""
    isa = Transpiler(FakeFez())(point_circuit(built_in_map("zz", 60)))
    assert isa.count_ops()["cz"] == 2 * 2 * 59
    assert isa.depth(lambda step: len(step.qubits) == 2) == 8


@pytest.mark.parametrize("device", [FakeFez(), FakeTorino()])
def test_a_line_stands_off_dead_couplers(device):
    """Qiskit's own choice of 60 qubits crosses three of Fez's, whose error is 1."""
    isa = Transpiler(device)(point_circuit(built_in_map("zz", 60)))
    pairs = [tuple(isa.find_bit(q).index for q in s.qubits) for s in isa.data if s.name == "cz"]
    assert len(pairs) == 2 * 2 * 59
    assert max(device.target["cz"][pair].error for pair in pairs) < 0.1


@pytest.mark.parametrize(("dead", "place"), [([1], {2, 3, 4}), ([0, 1, 2, 3], {0, 1, 2})])
def test_gates_on_all_qubits_alike_stay_where_couplers_are_dead(dead, place):
    chip = Chip(5, {(k, k + 1): 1.0 if k in dead else 0.01 for k in range(4)})
    alike = Target(num_qubits=5)
    for name in chip.target.operation_names:
        places = chip.target[name] if name == "cz" else None
        alike.add_instruction(chip.target.operation_from_name(name), places, name=name)
    chip._target = alike
    isa = Transpiler(chip)(point_circuit(built_in_map("zz", 3)))
    assert set(isa.layout.final_index_layout()) == place


def test_a_circuit_that_needs_the_whole_chip_keeps_its_dead_coupler():
    chip = Chip(3, {(0, 1): 0.01, (1, 2): 1.0})
    isa = Transpiler(chip)(point_circuit(built_in_map("zz", 3)))
    assert isa.count_ops()["cz"] == 2 * 2 * 2
