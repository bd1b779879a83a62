"""Reference states stand on the qubits whose readout they calibrate, wherever these are."""

import numpy as np
from qiskit.circuit import QuantumCircuit
from qiskit.primitives import StatevectorSampler
from qiskit.providers.fake_provider import GenericBackendV2
from qiskit.transpiler import CouplingMap, generate_preset_pass_manager
from qiskit_aer import AerSimulator
from qiskit_aer.noise import NoiseModel, ReadoutError
from qiskit_aer.primitives import SamplerV2

from aqka.backends import RuntimeBackend, SamplerBackend
from aqka.backends._jobs.rows import Ticket
from aqka.backends._programs import BY_DESIGN, program_of
from aqka.backends.feature_maps import built_in_map
from aqka.core import CalibrationPlan
from aqka.estimates.readout import confusion_matrices
from tests.fake_runtime import FakeRuntime

POINTS = BY_DESIGN["points"]
REFERENCES = program_of(CalibrationPlan([0], [1], 1))
X = np.random.default_rng(0).uniform(0, 1, (4, 3))
LINE = CouplingMap.from_line(8, bidirectional=True)


def read_qubits(circuit: QuantumCircuit) -> dict[int, int]:
    """By Qiskit's own bookkeeping: bit to physical qubit."""
    return {
        circuit.find_bit(step.clbits[0]).index: circuit.find_bit(step.qubits[0]).index
        for step in circuit.data
        if step.operation.name == "measure"
    }


def all_to_all() -> QuantumCircuit:
    """On a line it must be routed, and bits end on other qubits than they began on."""
    circuit = built_in_map("zz", 3)
    for _ in range(3):
        circuit.cx(0, 2)
        circuit.cx(1, 0)
    return circuit


def test_each_bit_is_calibrated_on_the_qubit_that_points_read_it_from():
    """Each qubit has an error of its own: the confusion tells on which the bits were read."""
    errors = np.array([0.02, 0.3, 0.05, 0.2, 0.1, 0.4, 0.15, 0.25])
    model = NoiseModel()
    for qubit, error in enumerate(errors):
        model.add_readout_error(ReadoutError([[1 - error, error], [0, 1]]), [qubit])
    manager = generate_preset_pass_manager(
        3, coupling_map=LINE, basis_gates=["rz", "sx", "cx"], initial_layout=[5, 2, 4]
    )
    backend = SamplerBackend(
        lambda seed: SamplerV2.from_backend(AerSimulator(noise_model=model), seed=seed),
        X,
        all_to_all(),
        target_backend=manager,
    )
    point, reference = (backend._circuits.of(program).circuit for program in (POINTS, REFERENCES))
    where = read_qubits(point)
    assert read_qubits(reference) == where
    assert [where[bit] for bit in range(3)] != [5, 2, 4]  # routing moved some
    assert "sx" in reference.count_ops()  # the rotation is still there
    plan = CalibrationPlan([0, 1], [4000, 4000], 3)
    found = confusion_matrices(backend.collect(backend.submit(plan, "t")), 3)
    expected = errors[[where[bit] for bit in range(3)]]
    np.testing.assert_allclose(found[:, 1, 0], expected, atol=5 * np.sqrt(0.25 / 4000))
    np.testing.assert_array_equal(found[:, 0, 1], 0.0)


def test_on_tiles_every_tile_reads_both_reference_states(tmp_path):
    device = GenericBackendV2(8, coupling_map=LINE, seed=1)
    backend = RuntimeBackend(FakeRuntime(tmp_path, device), X[:, :2], tiles=3)
    plan = CalibrationPlan([0, 1], [600, 600], 2)
    ticket = backend.submit(plan, "t")
    np.testing.assert_array_equal(backend.tile_shots(ticket), np.full((2, 3), 200))
    answer = plan.checked(backend.collect(ticket))
    np.testing.assert_array_equal(confusion_matrices(answer, 2), [np.eye(2)] * 2)
    # They stand where points are measured.
    points = RuntimeBackend(backend._service, X[:, :2], tiles=3, design="points").tiling
    tiled = backend._tiles.tiled(REFERENCES, backend._circuits, 3)
    assert {register.name for register in tiled.circuit.cregs} == {
        place.name for place in points.places
    }
    assert backend.recover(plan, "t") == ticket
    assert len(Ticket.read(ticket).job_ids) == 1
    # Also of a number of shots that cannot be divided among them.
    odd = backend.submit(CalibrationPlan([0, 1], [499, 499], 2), "odd")
    assert backend.tile_shots(odd).min() >= 499 // 3
    assert backend.collect(odd).counts.sum() == 998


def test_a_sampler_without_a_device_runs_it_as_it_is():
    exact = SamplerBackend(
        lambda seed: StatevectorSampler(seed=np.random.default_rng(seed)), X, seed=3
    )
    plan = CalibrationPlan([1, 0], [3, 2], 3)
    answer = exact.collect(exact.submit(plan, "t"))
    np.testing.assert_array_equal(answer.outcomes, [7, 0])
    np.testing.assert_array_equal(answer.counts, [3, 2])
