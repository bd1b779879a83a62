import numpy as np
import pytest
from qiskit.circuit.library import zz_feature_map
from qiskit.providers.fake_provider import GenericBackendV2
from qiskit_aer import AerSimulator
from qiskit_aer.noise import (
    NoiseModel,
    ReadoutError,
    amplitude_damping_error,
    depolarizing_error,
    pauli_error,
)
from qiskit_ibm_runtime import fake_provider

from aqka.backends import RuntimeBackend
from aqka.backends._jobs.transpile import Transpiler
from aqka.backends._noisy.models import (
    noise_on_circuit,
    noisy_simulator,
    target_of,
    used_qubits,
)
from aqka.backends.aer import AerBackend, depolarising_noise
from aqka.errors import InputError
from tests.backends.noisy_kernels import assert_as_aer, custom_noise, labelled_map, points


@pytest.mark.parametrize("n_qubits", [2, 3])
def test_relaxation_damping_and_readout_errors_are_aers(n_qubits):
    X, model = points(3, n_qubits), custom_noise()
    backend = AerBackend(X, noise=model)
    assert_as_aer(backend, model, X)
    assert np.abs(backend.kernel() - backend.kernel().T).max() > 1e-4


def test_errors_follow_labels_delays_and_idling():
    model = NoiseModel(basis_gates=["ry", "x", "cx", "id"])
    model.add_all_qubit_quantum_error(depolarizing_error(0.3, 1), ["x"])
    model.add_all_qubit_quantum_error(amplitude_damping_error(0.2), ["slow", "delay"])
    model.add_all_qubit_quantum_error(amplitude_damping_error(0.1), ["id"])
    X = points(3, 2)
    backend = AerBackend(X, labelled_map(), noise=model, optimization_level=0)
    assert backend.circuit.count_ops()["id"] == 2
    assert_as_aer(backend, model, X)


def test_delays_on_a_device_relax():
    device = GenericBackendV2(2, seed=1)
    X, model = points(2, 2), NoiseModel.from_backend(device)
    slow = labelled_map()
    slow.delay(450_000, 0, unit="dt")
    backend = AerBackend(X, slow, noise=device, optimization_level=0)
    assert_as_aer(backend, model, X)
    quick = AerBackend(X, labelled_map(), noise=device, optimization_level=0)
    assert np.abs(backend.kernel() - quick.kernel()).max() > 1e-3


def test_an_error_on_measurements_comes_before_them():
    flips, reads = depolarising_noise(), depolarising_noise()
    flips.add_all_qubit_quantum_error(pauli_error([("X", 0.1), ("I", 0.9)]), ["measure"])
    reads.add_all_qubit_readout_error(ReadoutError([[0.9, 0.1], [0.1, 0.9]]))
    X = points(4, 2)
    kernels = [AerBackend(X, noise=model).kernel() for model in (flips, reads)]
    np.testing.assert_allclose(*kernels, atol=1e-12)


def test_correlated_readout_errors_are_refused():
    model = depolarising_noise()
    model.add_readout_error(ReadoutError(np.full((4, 4), 0.25)), [0, 1])
    with pytest.raises(InputError, match="correlated readout error"):
        AerBackend(points(2, 2), noise=model)


X = np.random.default_rng(7).uniform(0, 1, (6, 2))


def test_a_devices_noise_is_that_of_the_whole_device():
    device = GenericBackendV2(6, seed=3)
    whole = NoiseModel.from_backend(device)
    circuit = Transpiler(target_of(device), 0, [4, 1, 2])(zz_feature_map(3))
    part = noise_on_circuit(device, circuit)
    for name, errors in part._local_quantum_errors.items():
        for qubits, error in errors.items():
            assert error == whole._local_quantum_errors[name][qubits]
    assert set(part._local_readout_errors) == {(1,), (2,), (4,)}
    assert part._local_readout_errors[(4,)] == whole._local_readout_errors[(4,)]


def test_a_devices_model_is_cut_to_the_qubits_in_use(calibrated):
    _, model = calibrated
    X = points(2, 2)
    backend = AerBackend(X, noise=model, initial_layout=[5, 3])
    circuit = Transpiler(target_of(model), 1, [5, 3])(zz_feature_map(2))
    part = noise_on_circuit(model, circuit)
    assert set(part._local_readout_errors) == {(3,), (5,)}
    assert set(part._local_quantum_errors["cx"]) == {(3, 5), (5, 3)}
    assert len(model._local_readout_errors) == 7
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


@pytest.mark.parametrize("n_qubits", [2, 3, 4])
@pytest.mark.parametrize("level", [0, 1, 3])
def test_depolarising_noise_is_aers(n_qubits, level):
    X, model = points(3, n_qubits), depolarising_noise()
    assert_as_aer(AerBackend(X, noise=model, optimization_level=level), model, X)


@pytest.mark.parametrize("rate", [-0.1, 1.5, "1%", True, float("nan")])
def test_depolarising_rates_are_checked(rate):
    with pytest.raises(InputError, match="one_qubit must be a fraction from 0 to 1"):
        depolarising_noise(rate)
