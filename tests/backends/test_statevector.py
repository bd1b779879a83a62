import pickle
import sys

import numpy as np
import pytest
from qiskit.circuit.library import zz_feature_map

from aqka import InputError
from aqka.backends.circuits import zz_feature_map as our_zz_map
from aqka.backends.statevector import StatevectorBackend
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
    feature_map = None if extra == "qiskit" else (lambda x: None)
    with pytest.raises(InputError, match=rf"pip install 'aqka\[{extra}\]'"):
        StatevectorBackend([[0.1] * 11], feature_map).kernel()


def test_the_zz_map_needs_no_quantum_sdk_and_is_the_circuits(monkeypatch):
    points = np.random.default_rng(0).uniform(0, 2 * np.pi, (6, 3))
    by_circuit = StatevectorBackend(points, our_zz_map(3)).kernel()
    monkeypatch.setitem(sys.modules, "qiskit", None)
    np.testing.assert_allclose(StatevectorBackend(points).kernel(), by_circuit, atol=1e-12)


def test_thirty_columns_are_refused_with_the_qubits_they_need_and_pca():
    from aqka import QuantumRidgeClassifier

    X, y = np.random.default_rng(0).random((40, 30)), np.arange(40) % 2
    with pytest.raises(InputError, match=r"30 qubits.*640 GiB.*23 columns at most.*PCA\(4\)"):
        StatevectorBackend(X)
    with pytest.raises(InputError, match=r"PCA\(4\)"):
        QuantumRidgeClassifier(budget=2000).fit(X, y)
