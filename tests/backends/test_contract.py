import numpy as np
import pytest
from qiskit.primitives import StatevectorSampler
from qiskit.providers.fake_provider import GenericBackendV2
from qiskit_ibm_runtime.fake_provider import FakeFez

from aqka import MatrixBackend
from aqka.backends import (
    AerBackend,
    PennylaneBackend,
    RuntimeBackend,
    SamplerBackend,
    StatevectorBackend,
    depolarising_noise,
)
from aqka.backends.sentinel import SentinelBackend
from aqka.testing import check_backend
from tests.backends.aer_sampling import AerSamplingBackend
from tests.fake_runtime import FakeRuntime

X = np.random.default_rng(7).normal(size=(9, 2))
KERNEL = StatevectorBackend(X[:4]).kernel()
TEST = np.random.default_rng(8).normal(size=(5, 2))


def angle_map(x):
    import pennylane as qml

    qml.AngleEmbedding(x, wires=range(2))
    qml.CNOT(wires=[0, 1])
    qml.RY(x[..., 0] * x[..., 1] if x.ndim > 1 else x[0] * x[1], wires=1)


def test_matrix_backend():
    kernel = StatevectorBackend(X).kernel()
    check_backend(lambda seed: MatrixBackend(kernel, seed=seed), kernel)


@pytest.mark.parametrize("columns", [None, TEST])
def test_statevector_backend(columns):
    kernel = StatevectorBackend(X, columns=columns).kernel()
    check_backend(lambda seed: StatevectorBackend(X, columns=columns, seed=seed), kernel)


def test_statevector_backend_of_a_pennylane_function():
    # A local function cannot be pickled itself; the backend still can.
    def feature_map(x):
        angle_map(x)

    kernel = StatevectorBackend(X, feature_map).kernel()
    check_backend(lambda seed: StatevectorBackend(X, feature_map, seed=seed), kernel)


def test_aer_backends():
    noise = depolarising_noise()
    kernel = AerBackend(X[:4], noise=noise).kernel()
    check_backend(lambda seed: AerBackend(X[:4], noise=noise, seed=seed), kernel)
    check_backend(
        lambda seed: AerSamplingBackend(X[:4], noise=noise, seed=seed),
        kernel,
        shots=500,
        rows=500,
    )


def exact_sampler(seed):
    return StatevectorSampler(seed=np.random.default_rng(seed))


def test_sampler_backend():
    kernel = StatevectorBackend(X[:4]).kernel()
    check_backend(
        lambda seed: SamplerBackend(exact_sampler, X[:4], seed=seed), kernel, shots=400, rows=300
    )


def test_runtime_backend_on_a_fake_device():
    noise = FakeFez()
    kernel = AerBackend(X[:4], noise=noise).kernel()
    backend = RuntimeBackend(noise, X[:4])
    np.testing.assert_array_equal(backend.shape, kernel.shape)
    check_backend(lambda seed: RuntimeBackend(noise, X[:4], seed=seed), kernel, shots=400, rows=300)


def test_runtime_backend_on_a_service(tmp_path):
    kernel = StatevectorBackend(X[:4]).kernel()
    directories = (tmp_path / str(k) for k in range(1000))  # each backend its own service
    check_backend(
        lambda seed: RuntimeBackend(FakeRuntime(next(directories)), X[:4], seed=seed),
        kernel,
        shots=400,
        rows=300,
    )


@pytest.mark.parametrize("watched", [False, True])
def test_tiles_keep_the_contract(tmp_path, watched):
    kernel = StatevectorBackend(X[:4]).kernel()
    line = GenericBackendV2(8, coupling_map=[[k, k + 1] for k in range(7)], seed=1)
    directories = (tmp_path / str(k) for k in range(1000))

    def make(seed):
        service = FakeRuntime(next(directories), line)
        backend = RuntimeBackend(service, X[:4], tiles="auto", seed=seed)
        return SentinelBackend(backend, [0, 2], 20) if watched else backend

    check_backend(make, kernel, shots=400, rows=200)


@pytest.mark.parametrize("device", ["default.qubit", "lightning.qubit", "default.mixed"])
def test_pennylane_backend(device):
    kernel = StatevectorBackend(X[:4], angle_map).kernel()
    check_backend(
        lambda seed: PennylaneBackend(X[:4], angle_map, device, seed=seed), kernel, rows=2000
    )


def test_a_wrapped_backend_keeps_the_contract():
    check_backend(
        lambda seed: SentinelBackend(MatrixBackend(KERNEL, seed=seed), [0, 2], 20), KERNEL
    )
