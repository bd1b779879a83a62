import numpy as np
from qiskit.circuit.library import zz_feature_map
from qiskit.providers.fake_provider import GenericBackendV2
from qiskit_aer import AerSimulator
from qiskit_aer.noise import NoiseModel
from qiskit_ibm_runtime import fake_provider

from aqka.backends import AerBackend, RuntimeBackend
from aqka.backends._noisy.models import (
    noise_on_circuit,
    noisy_simulator,
    transpile_for_noise,
    used_qubits,
)
from tests.backends.noisy_kernels import assert_as_aer, custom_noise, points

X = np.random.default_rng(7).uniform(0, 1, (6, 2))


def test_a_devices_noise_is_that_of_the_whole_device():
    device = GenericBackendV2(6, seed=3)
    whole = NoiseModel.from_backend(device)
    circuit = transpile_for_noise(
        zz_feature_map(3), device, optimization_level=0, initial_layout=[4, 1, 2]
    )
    part = noise_on_circuit(device, circuit)
    for name, errors in part._local_quantum_errors.items():
        for qubits, error in errors.items():
            assert error == whole._local_quantum_errors[name][qubits]
    assert set(part._local_readout_errors) == {(1,), (2,), (4,)}
    assert part._local_readout_errors[(4,)] == whole._local_readout_errors[(4,)]


def test_a_devices_model_is_cut_to_the_qubits_in_use(heron):
    _, model = heron
    X = points(2, 2)
    backend = AerBackend(X, noise=model, initial_layout=[7, 6])
    circuit = transpile_for_noise(
        zz_feature_map(2), model, optimization_level=1, initial_layout=[7, 6]
    )
    part = noise_on_circuit(model, circuit)
    assert set(part._local_readout_errors) == {(6,), (7,)}
    assert set(part._local_quantum_errors["cz"]) == {(6, 7), (7, 6)}
    assert len(model._local_readout_errors) == 156
    assert_as_aer(backend, part, X)


def test_a_simulators_own_noise_is_used():
    X, model = points(3, 2), custom_noise()
    simulator = AerSimulator(noise_model=model)
    assert_as_aer(AerBackend(X, noise=simulator), model, X)


def test_noise_of_the_qubits_in_use_is_the_whole_devices():
    """The exact outcome probabilities on three qubits equal those of the whole device."""
    device = fake_provider.FakeManilaV2()
    backend = RuntimeBackend(device, X[:, [0, 1, 0]])
    circuit = backend.circuit.assign_parameters(np.arange(6) / 7)
    circuit.remove_final_measurements()
    used = used_qubits(circuit)
    assert len(used) == 3
    simulators = (
        noisy_simulator(device, circuit),
        AerSimulator.from_backend(device, method="density_matrix"),
    )
    assert len(simulators[0].options.noise_model._local_readout_errors) == 3
    circuit.save_probabilities(used)
    states = [run.run(circuit).result().data()["probabilities"] for run in simulators]
    np.testing.assert_allclose(states[0], states[1], atol=1e-10)
