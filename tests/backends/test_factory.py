"""What an estimator's ``backend`` may be, where no options are needed."""

import numpy as np
import pennylane as qml
import pytest
from qiskit_ibm_runtime.fake_provider import FakeFez
from sklearn.base import clone

from aqka import BackendFactory, InputError, QuantumRidgeClassifier, StatevectorBackend, acquire
from aqka.backends import AerBackend, PennylaneBackend, RuntimeBackend
from aqka.backends.factory import as_factory
from aqka.estimators import QuantumKernel

X = np.random.default_rng(0).uniform(0, 3, (6, 2))
Y = np.arange(6) % 2


def angles(x):
    qml.AngleEmbedding(x, wires=range(2))


@pytest.mark.parametrize(
    ("given", "feature_map", "kind"),
    [
        ("statevector", "zz", StatevectorBackend),
        ("aer", "zz", AerBackend),
        ("pennylane", angles, PennylaneBackend),
        (FakeFez(), "z", RuntimeBackend),
    ],
)
def test_names_and_devices_are_taken_where_they_are_obvious(given, feature_map, kind):
    made = as_factory(given)(X, feature_map, columns=None, seed=0)
    assert isinstance(made, kind)
    model = QuantumRidgeClassifier(feature_map, given, budget=150)
    assert clone(model).fit(X, Y).shots_used_ == 150
    assert len(model.fit(X, Y).predict(X, budget=100)) == 6


def test_the_names_without_noise_give_the_same_kernel():
    exact = StatevectorBackend(X).kernel()
    assert as_factory("aer")(X, None, columns=None, seed=0).kernel() == pytest.approx(exact)


def test_a_drop_in_takes_the_same():
    kernel = QuantumKernel("zz", budget=300, test_budget=10, backend="aer")
    assert kernel.matrix(X).shape == (6, 6)
    with pytest.raises(InputError, match=r"'statevector', 'light-cone', 'aer', .*device"):
        QuantumKernel(budget=300, test_budget=10, backend="qasm").fit(X)


def test_what_is_not_obvious_is_refused_with_what_would_be():
    def refused(backend, words):
        with pytest.raises(InputError, match=words):
            QuantumRidgeClassifier(backend=backend).fit(X, Y)

    refused(StatevectorBackend(X), r"of certain points.*pass BackendFactory\(StatevectorBackend")
    refused(qml.device("default.qubit", wires=2), "a PennyLane device, which has a number of wires")
    refused("statevectr", r"got .statevectr.\. Did you mean .statevector.\?")
    refused(3, "a device of Qiskit's, a finished run")
    refused("pennylane", "a function of one point that applies PennyLane gates")
    assert isinstance(as_factory(BackendFactory(AerBackend)), BackendFactory)


@pytest.mark.parametrize("backend", ["aer", FakeFez()])
def test_a_session_needs_points_and_says_which_backend_has_them(backend):
    with pytest.raises(InputError, match=r"must know the points.*RuntimeBackend\(device, X\)"):
        acquire(backend, Y, 100)
