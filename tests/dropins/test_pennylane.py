import numpy as np
import pennylane as qml
import pytest
from pennylane import numpy as qnp
from sklearn.svm import SVC

from aqka import BackendFactory
from aqka.backends import PennylaneBackend
from aqka.estimators import QuantumKernel

X = np.random.default_rng(1).uniform(0, np.pi, size=(8, 2))
Y = np.arange(8) % 2
TEST = np.random.default_rng(2).uniform(0, np.pi, size=(3, 2))


def embedding(x):
    qml.AngleEmbedding(x, wires=range(2))
    qml.CNOT(wires=[0, 1])
    qml.AngleEmbedding(x, wires=range(2), rotation="Z")
    qml.AngleEmbedding(x, wires=range(2))


@qml.qnode(qml.device("default.qubit", wires=2))
def circuit(x1, x2):
    embedding(x1)
    qml.adjoint(embedding)(x2)
    return qml.probs(wires=range(2))


def exact(x1, x2):
    return circuit(x1, x2)[0]


def make(**settings):
    given = {"budget": 28 * 10**6, "test_budget": 24 * 10**6, "design": "pairs"} | settings
    return QuantumKernel(embedding, **given)


def test_matrices_agree_with_pennylanes_in_the_limit():
    kernel = make()
    wanted = qml.kernels.square_kernel_matrix(X, exact, assume_normalized_kernel=True)
    found = kernel.matrix(X)
    assert np.abs(found - wanted).max() < 0.5 / 1000 * 6
    block = kernel.matrix(TEST, X)
    assert np.abs(block - qml.kernels.kernel_matrix(TEST, X, exact)).max() < 0.5 / 1000 * 5
    assert kernel.shots_used_ == 52 * 10**6


@pytest.mark.parametrize("device", ["lightning.qubit", "default.qubit"])
def test_shots_run_on_a_pennylane_device(device):
    kernel = make(
        budget=2_800,
        test_budget=2_400,
        backend=BackendFactory(PennylaneBackend, device=device),
    )
    wanted = qml.kernels.square_kernel_matrix(X, exact)
    found = kernel.matrix(X)
    shots = kernel.session_.table.square(kernel.session_.table.shots.astype(float))
    assert np.max(np.abs(found - wanted) * np.sqrt(shots)) < 0.5 * 4.5
    block = kernel.matrix(TEST, X)
    assert np.abs(block - qml.kernels.kernel_matrix(TEST, X, exact)).max() < 0.5 / 10 * 4.5
    assert kernel.shots_used_ == 5_200


def test_pennylanes_own_functions_take_the_kernel():
    kernel = make(budget=2_800, test_budget=2_400).fit(X, Y)
    whole = kernel.matrix(X)
    assert np.array_equal(qml.kernels.square_kernel_matrix(X, kernel), whole)
    pairwise = qml.kernels.kernel_matrix(qnp.array(TEST), X, kernel)  # its own array type too
    assert kernel.shots_used_ == 5_200
    assert np.array_equal(kernel.matrix(TEST, X), pairwise)
    assert kernel.shots_used_ == 5_200


def test_pair_by_pair_without_a_training_kernel():
    kernel = make(shots_each=100, test_budget=2_800)
    found = qml.kernels.square_kernel_matrix(X, kernel)
    assert kernel.shots_used_ == 2_800
    assert kernel.session_ is None
    wanted = qml.kernels.square_kernel_matrix(X, exact)
    assert np.abs(found - wanted).max() < 0.5 / 10 * 4.5


def test_an_svm_runs_unchanged():
    before = SVC(kernel=lambda A, B: qml.kernels.kernel_matrix(A, B, exact)).fit(X, Y)
    wanted = before.decision_function(TEST)
    kernel = make().fit(X, Y)

    def pairwise(A, B):
        return qml.kernels.kernel_matrix(A, B, kernel)

    for matrix in (pairwise, kernel.matrix):
        after = SVC(kernel=matrix).fit(X, Y)
        assert np.abs(after.decision_function(TEST) - wanted).max() < 0.02
    assert kernel.shots_used_ == 52 * 10**6


@pytest.mark.parametrize("kept", [True, False])
def test_points_that_the_feature_map_refuses_leave_nothing_behind(tmp_path, kept):
    kernel = make(budget=2_800, directory=tmp_path if kept else None)
    with pytest.raises(ValueError, match="length 2"):
        kernel.matrix(np.ones((8, 3)) * np.arange(8)[:, None])
    assert kernel.shots_used_ == 0
    assert not list(tmp_path.glob("*-*"))
    assert kernel.matrix(X).shape == (8, 8)
    assert kernel.shots_used_ == 2_800
