import numpy as np
import pytest
from qiskit.primitives import StatevectorSampler
from qiskit_ibm_runtime.fake_provider import FakeFez

from aqka import MatrixBackend
from aqka.backends import (
    AerBackend,
    AerSamplingBackend,
    PennylaneBackend,
    RuntimeBackend,
    SamplerBackend,
    StatevectorBackend,
    depolarising_noise,
)
from aqka.core import ShotPlan
from aqka.testing import check_backend
from aqka.testing.backends import check_rows_outside
from aqka.testing.fake_runtime import FakeRuntime

X = np.random.default_rng(7).normal(size=(9, 2))
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
        rows=2000,
    )


def exact_sampler(seed):
    return StatevectorSampler(seed=np.random.default_rng(seed))


def test_sampler_backend():
    kernel = StatevectorBackend(X[:4]).kernel()
    check_backend(
        lambda seed: SamplerBackend(exact_sampler, X[:4], seed=seed), kernel, shots=200, rows=500
    )


def test_runtime_backend_on_a_fake_device():
    noise = FakeFez()
    kernel = AerBackend(X[:4], noise=noise).kernel()
    backend = RuntimeBackend(noise, X[:4])
    np.testing.assert_array_equal(backend.shape, kernel.shape)
    check_backend(
        lambda seed: RuntimeBackend(noise, X[:4], seed=seed), kernel, shots=400, rows=2000
    )


def test_runtime_backend_on_a_service(tmp_path):
    kernel = StatevectorBackend(X[:4]).kernel()
    directories = (tmp_path / str(k) for k in range(1000))  # each backend its own service
    check_backend(
        lambda seed: RuntimeBackend(FakeRuntime(next(directories)), X[:4], seed=seed),
        kernel,
        shots=200,
        rows=500,
    )


@pytest.mark.parametrize("device", ["default.qubit", "lightning.qubit", "default.mixed"])
def test_pennylane_backend(device):
    kernel = StatevectorBackend(X[:4], angle_map).kernel()
    check_backend(
        lambda seed: PennylaneBackend(X[:4], angle_map, device, seed=seed), kernel, rows=2000
    )


class Broken(MatrixBackend):
    """Breaks one promise at a time."""

    fault = ""

    def submit(self, plan: ShotPlan, tag: str) -> str:
        if self.fault == "accepts anything":
            self._submitted[tag] = plan
            return tag
        return super().submit(plan, tag)

    def collect(self, ticket: str):
        if self.fault == "ignores the tag":
            self._submitted["same"] = self._submitted.pop(ticket)
            return super().collect("same")
        plan = self._submitted[ticket]
        hits = super().collect(ticket)
        if self.fault == "biased":
            return np.minimum(hits + plan.shots // 50, plan.shots)
        if self.fault == "too many hits":
            return hits + 1
        if self.fault == "forgets a pair":
            return hits[:-1]
        if self.fault == "correlated shots":
            rng = np.random.default_rng(abs(hash(ticket)) % 2**32)
            half = rng.binomial(plan.shots // 2, self.kernel()[plan.rows, plan.cols])
            return 2 * half + np.minimum(plan.shots % 2, hits)
        if self.fault == "unseeded":
            return np.random.default_rng().binomial(plan.shots, self.kernel()[plan.rows, plan.cols])
        return hits


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("accepts anything", "outside"),
        ("ignores the tag", "fresh"),
        ("biased", "do not follow|biased"),
        ("too many hits", "within"),
        ("forgets a pair", "expected"),
        ("unseeded", "same seed and tag"),
        ("correlated shots", "independent|do not follow|biased"),
    ],
)
def test_broken_backends_are_caught(fault, message):
    kernel = StatevectorBackend(X).kernel()
    faulty = type("Faulty", (Broken,), {"fault": fault})
    with pytest.raises(AssertionError, match=message):
        check_backend(lambda seed: faulty(kernel, seed=seed), kernel)


def test_checks_can_be_run_one_by_one():
    check_rows_outside(lambda seed: MatrixBackend(np.eye(3), seed=seed))
