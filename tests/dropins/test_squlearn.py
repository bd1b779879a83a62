"""sQUlearn's own estimators on a measured kernel, beside the same on its exact kernel."""

import numpy as np
import pytest
from qiskit.circuit.library import zz_feature_map
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from tests.estimators.remembering import Counting, counted

pytest.importorskip("squlearn", reason="sQUlearn is not installed; it is a peer of research")

from qc_executor import Parameters
from squlearn import Executor
from squlearn.encoding_circuit import ChebyshevPQC, QiskitEncodingCircuit
from squlearn.kernel import QGPR, QKRR, QSVC, QSVR, FidelityKernel

from aqka.dropins.squlearn import AqkaKernel

MAP = zz_feature_map(2, reps=2, entanglement="linear")
X = np.random.default_rng(0).uniform(0.3, 2.8, size=(14, 2))
Y = np.sin(X[:, 0]) + 0.3 * X[:, 1]
MANY = {"budget": 10**8, "test_budget": 10**9, "design": "pairs"}


def exact(circuit=None, **options):
    encoding = circuit or QiskitEncodingCircuit(MAP, mode="features")
    return FidelityKernel(encoding, Executor("pennylane"), **options)


@pytest.mark.parametrize(
    ("kind", "options"), [(QGPR, {"sigma": 0.1}), (QKRR, {"alpha": 0.1}), (QSVR, {"C": 2.0})]
)
def test_many_shots_give_the_regression_of_the_exact_kernel(kind, options):
    ours, theirs = (
        kind(kernel, **options).fit(X[:10], Y[:10]).predict(X[10:])
        for kernel in (AqkaKernel(MAP, **MANY), exact())
    )
    np.testing.assert_allclose(ours, theirs, atol=0.01)


def test_a_gaussian_process_has_deviations_at_no_cost_for_points():
    kernel = AqkaKernel(MAP, backend=counted(), budget=10 * 400, design="points")
    model = QGPR(kernel, sigma=0.1).fit(X[:10], Y[:10])
    mean, deviation = model.predict(X[10:], return_std=True)
    assert mean.shape == deviation.shape == (4,)
    assert Counting.total() == kernel.measured.shots_used_ == 14 * 400


def test_clones_and_searches_measure_once():
    kernel = AqkaKernel(MAP, backend=counted(), budget=14 * 200, test_budget=0, design="points")
    kernel.measured.fit(X)
    search = GridSearchCV(QKRR(kernel), {"alpha": [0.1, 1.0]}, cv=3).fit(X, Y)
    clone(search.best_estimator_).fit(X, Y)
    assert QSVC(kernel).fit(X, Y > 1).predict(X).shape == (14,)
    assert Counting.total() == 14 * 200


def test_parameters_are_those_of_what_measures():
    kernel = AqkaKernel(MAP, budget=2_000, design="pairs")
    model = QKRR(kernel, budget=4_000)
    assert model.fit(X[:5], Y[:5]).get_params()["budget"] == 4_000
    assert kernel.measured.shots_used_ == 4_000
    raw = kernel.evaluate(X[:5])
    kernel.set_params(regularization="tikhonov")
    ridge = np.maximum(0, -np.linalg.eigvalsh(raw)[0])
    np.testing.assert_allclose(kernel.evaluate(X[:5]), raw + ridge * np.eye(5), atol=1e-6)
    assert np.array_equal(kernel.evaluate(X[:2], X[2:5]), raw[:2, 2:])
    assert np.array_equal((kernel + kernel).evaluate(X[:2], X[2:5]), 2 * raw[:2, 2:])


def test_an_encoding_circuit_of_squlearn_is_a_feature_map():
    encoding = ChebyshevPQC(num_qubits=2, num_layers=1)
    values = encoding.generate_initial_parameters(num_features=2, seed=0)
    circuit = encoding.get_circuit(Parameters("x", 2), values).qiskit_circuit
    found = AqkaKernel(circuit, budget=10**7, design="pairs").evaluate(X[:6] / 3)
    wanted = exact(encoding, initial_parameters=values).evaluate(X[:6] / 3)
    np.testing.assert_allclose(found, wanted, atol=0.01)
