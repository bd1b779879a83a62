import numpy as np
import pytest
from qiskit.providers.fake_provider import GenericBackendV2
from qiskit_aer.noise import (
    NoiseModel,
    ReadoutError,
    amplitude_damping_error,
    depolarizing_error,
    pauli_error,
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
