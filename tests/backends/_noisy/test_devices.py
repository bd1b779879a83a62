import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import Delay
from qiskit.circuit.library import RZZGate, SXGate, XGate
from qiskit.providers.fake_provider import GenericBackendV2
from qiskit.quantum_info import PTM
from qiskit_aer.noise import NoiseModel
from qiskit_aer.noise.passes import RelaxationNoisePass
from qiskit_ibm_runtime import fake_provider

from aqka.backends._bulk.light_cones import LightCones
from aqka.backends._jobs.transpile import Transpiler
from aqka.backends._noisy.devices import DeviceNoise, calibrated_rates
from aqka.backends._noisy.programs import OutcomeProgram
from aqka.backends.circuits import point_circuit, setting_angles
from aqka.backends.feature_maps import built_in_map
from aqka.core.settings import line_edges, uniform_settings


@pytest.mark.parametrize(
    "device", [fake_provider.FakeManilaV2(), fake_provider.FakeFractionalBackend()]
)
def test_errors_are_those_that_aer_derives(device):
    model, noise = NoiseModel.from_backend(device), DeviceNoise(device.target)
    found = 0
    for name, errors in model._local_quantum_errors.items():
        if name == "reset":
            continue
        operation = device.target.operation_from_name(name)
        for qubits, error in errors.items():
            matrix = noise.error(operation, qubits)
            np.testing.assert_allclose(matrix, PTM(error.to_quantumchannel()).data, atol=1e-9)
            found += 1
    assert found > 20
    assert noise.error(SXGate(), (0, 1)) is noise.error(RZZGate(1.0), (0, 4)) is None
    wrong = model._local_readout_errors[(1,)].probabilities
    np.testing.assert_allclose(noise.readout(1), [wrong[0][1], wrong[1][0]])


def test_a_delay_relaxes_as_aers_does():
    device = GenericBackendV2(2, seed=1)
    circuit = QuantumCircuit(1)
    circuit.delay(5000, 0, unit="ns")
    relaxed = RelaxationNoisePass(
        [device.target.qubit_properties[0].t1],
        [device.target.qubit_properties[0].t2],
        op_types=[Delay],
    )(circuit)
    expected = PTM(relaxed.data[-1].operation).data
    found = DeviceNoise(device.target).error(circuit.data[0].operation, (0,))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_circuit_without_a_calibration_has_no_errors():
    noise = DeviceNoise(GenericBackendV2(3, noise_info=False).target)
    matrix = noise.error(XGate(), (0,))
    assert matrix is None or np.allclose(matrix, np.eye(4))
    assert noise.readout(0) == (0.0, 0.0)


def test_a_line_of_six_has_nearly_the_reduced_states_of_the_exact_noisy_circuit():
    """Calibrated rates of the map's gates against every error of the transpiled circuit."""
    n_qubits, device = 6, fake_provider.FakeFez()
    X = np.random.default_rng(0).uniform(0, np.pi, size=(3, n_qubits))
    feature_map = built_in_map("zz", n_qubits)
    plain = point_circuit(feature_map)
    isa = Transpiler(device)(plain)
    rates = calibrated_rates(isa, feature_map, device.target)
    assert np.all(rates.one > 0)
    assert np.count_nonzero(rates.two) == 2 * (n_qubits - 1)
    cones = LightCones(feature_map, X, rates)
    program = OutcomeProgram(isa, DeviceNoise(device.target), list(plain.parameters))
    expected = []
    signs = 1 - 2 * (np.arange(2**n_qubits)[:, None] >> np.arange(n_qubits) & 1)
    for letters in uniform_settings(n_qubits):
        angles = np.tile(setting_angles(letters[None]), (len(X), 1))
        p = program.probabilities(np.concatenate([X, angles], axis=1))
        pairs = np.stack([signs[:, a] * signs[:, b] for a, b in line_edges(n_qubits)], axis=1)
        expected.append(np.concatenate([p @ signs, p @ pairs], axis=1))
    found = cones.expectations(line_edges(n_qubits))
    single = found[:, : 3 * n_qubits].reshape(3, n_qubits, 3)
    double = found[:, 3 * n_qubits :].reshape(3, n_qubits - 1, 3, 3)
    read = 1 - rates.readout.sum(axis=1)  # symmetric errors shrink an expectation
    ends = read[line_edges(n_qubits)].prod(axis=1)
    worst = max(
        np.abs(np.concatenate([single[:, :, k] * read, double[:, :, k, k] * ends], 1) - e).max()
        for k, e in enumerate(expected)
    )
    assert worst < 0.01
    clean = LightCones(feature_map, X).expectations(line_edges(n_qubits))
    assert np.abs(clean - found).max() > 0.03
