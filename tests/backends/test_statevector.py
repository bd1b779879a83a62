"""States, fidelities and the ZZ map against dense circuits."""

import pickle
import sys

import numpy as np
import pytest
from qiskit.circuit.library import zz_feature_map

from aqka import InputError
from aqka.backends.feature_maps import built_in_map
from aqka.backends.statevector import StatevectorBackend, fidelities, zz_kernel, zz_states
from aqka.core import ShotPlan
from tests.backends.reference_states import assert_agrees, reference


def test_zz_map_against_qiskit_and_rectangular_block():
    rng = np.random.default_rng(6)
    X, T = rng.normal(size=(20, 4)), rng.normal(size=(7, 4))
    circuit = zz_feature_map(4, reps=2, entanglement="linear")
    expected = np.abs(reference(circuit, T).conj() @ reference(circuit, X).T) ** 2
    backend = StatevectorBackend(T, columns=X)
    assert backend.shape == (7, 20)
    assert backend.states().shape == (7, 16)
    np.testing.assert_allclose(backend.kernel(), expected, rtol=0, atol=1e-12)
    assert_agrees(circuit, X, atol=1e-12)


def test_computed_once():
    backend = StatevectorBackend([[0.1, 0.2], [0.3, 0.4]])
    assert backend.kernel() is backend.kernel()
    assert np.shares_memory(backend.states(), backend.states())


def test_pickle_before_and_after_submission():
    backend = StatevectorBackend([[0.1, 0.2], [0.3, 0.4]], seed=5)
    ticket = backend.submit(ShotPlan([0], [1], [100]), "t")
    copy = pickle.loads(pickle.dumps(backend))
    assert copy.collect(ticket) == backend.collect(ticket)


@pytest.mark.parametrize("extra", ["qiskit", "pennylane"])
def test_missing_extra_names_the_remedy(monkeypatch, extra):
    from aqka._util import optional

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(optional, "import_module", missing)
    feature_map = "z" if extra == "qiskit" else (lambda x: None)
    with pytest.raises(InputError, match=rf"pip install 'aqka\[{extra}\]'"):
        StatevectorBackend([[0.1] * 3], feature_map).kernel()


@pytest.mark.parametrize("n_qubits", [3, 4, 9, 13])
def test_the_zz_map_needs_no_quantum_sdk_and_is_the_circuits(monkeypatch, n_qubits):
    points = np.random.default_rng(0).uniform(0, 2 * np.pi, (20, n_qubits))
    by_circuit = StatevectorBackend(points, built_in_map("zz", n_qubits)).kernel()
    monkeypatch.setitem(sys.modules, "qiskit", None)
    np.testing.assert_allclose(StatevectorBackend(points).kernel(), by_circuit, atol=1e-12)


def test_thirty_columns_are_refused_with_the_qubits_they_need_and_pca():
    from aqka import QuantumRidgeClassifier

    X, y = np.random.default_rng(0).random((40, 30)), np.arange(40) % 2
    with pytest.raises(InputError, match=r"30 qubits.*640 GiB.*23 columns at most.*PCA\(4\)"):
        StatevectorBackend(X)
    with pytest.raises(InputError, match=r"would take 10\^84 GiB"):
        StatevectorBackend(np.ones((40, 300)))
    with pytest.raises(InputError, match=r"PCA\(4\)"):
        QuantumRidgeClassifier(budget=2000).fit(X, y)


def test_square_kernel_is_exactly_symmetric_within_bounds_over_many_tiles():
    X = np.random.default_rng(7).normal(size=(1100, 3))
    X[1] = X[0]
    kernel = StatevectorBackend(X).kernel()
    assert np.array_equal(kernel, kernel.T)
    assert np.all(kernel.diagonal() == 1.0)
    assert kernel.min() >= 0
    assert kernel.max() <= 1
    assert kernel[0, 1] == pytest.approx(1.0, abs=1e-12)
    some = X[[3, 700, 1099]]
    block = StatevectorBackend(some, columns=X).kernel()
    np.testing.assert_allclose(kernel[[3, 700, 1099]], block, rtol=0, atol=1e-12)


def dense_zz_state(x):
    """The same map gate by gate with dense matrices."""
    n = len(x)
    hadamard = np.array([[1, 1], [1, -1]]) / np.sqrt(2)
    z = np.diag([1.0, -1.0])

    def on(gates):
        full = np.eye(1)
        for q in reversed(range(n)):  # qubit 0 is the least significant bit
            full = np.kron(full, gates.get(q, np.eye(2)))
        return full

    state = np.zeros(2**n, dtype=complex)
    state[0] = 1
    for _ in range(2):
        state = on(dict.fromkeys(range(n), hadamard)) @ state
        for q in range(n):  # P(2x) = exp(i 2x (1 - Z)/2)
            state = np.exp(1j * 2 * x[q] * (1 - np.diag(on({q: z}))) / 2) * state
        for q in range(n - 1):
            angle = 2 * (np.pi - x[q]) * (np.pi - x[q + 1])
            state = np.exp(1j * angle * (1 - np.diag(on({q: z, q + 1: z}))) / 2) * state
    return state


@pytest.mark.parametrize("n_qubits", [1, 2, 4])
def test_zz_states_equal_a_dense_circuit(n_qubits):
    x = np.random.default_rng(0).uniform(0, np.pi, size=(5, n_qubits))
    expected = np.array([dense_zz_state(row) for row in x])
    np.testing.assert_allclose(zz_states(x), expected, atol=1e-12)
    overlaps = np.abs(expected[:2] @ expected.conj().T) ** 2
    np.testing.assert_allclose(zz_kernel(x[:2], x), overlaps, atol=1e-12)


def test_zz_kernel_is_that_of_the_qiskit_circuit():
    x = np.random.default_rng(1).uniform(0, np.pi, size=(20, 4))
    np.testing.assert_allclose(zz_kernel(x), StatevectorBackend(x).kernel(), atol=1e-12)


@pytest.mark.parametrize(
    ("n_points", "dimension"), [(1, 1), (3, 2), (90, 16), (90, 128), (5, 9000)]
)
def test_fidelities_are_squared_overlaps(n_points, dimension):
    random = np.random.default_rng(n_points)
    states = random.normal(size=(n_points, dimension, 2)) @ [1, 1j]
    states /= np.linalg.norm(states, axis=1, keepdims=True)
    expected = np.abs(states @ states.conj().T) ** 2
    for layout in (states, np.asfortranarray(states)):
        kernel = fidelities(layout)
        np.testing.assert_allclose(kernel, expected, atol=1e-14)
        np.testing.assert_array_equal(kernel, kernel.T)
        assert np.all(kernel.diagonal() == 1)
        np.testing.assert_allclose(fidelities(layout, layout[:2]), expected[:, :2], atol=1e-14)
