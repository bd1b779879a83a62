import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from aqka import QuantumSVC
from aqka.backends.statevector import zz_kernel
from aqka.core.problem import DEFAULT_C


@pytest.mark.parametrize(
    ("ours", "theirs"), [(QuantumSVC(backend="precomputed", C=2.0), SVC(kernel="precomputed", C=2))]
)
def test_svc_agrees_with_scikit_learn_on_a_given_kernel(ours, theirs, moons):
    X, y, X_test, _ = moons
    kernel, block = rbf_kernel(X), rbf_kernel(X_test, X)
    np.testing.assert_allclose(
        ours.fit(kernel, y).decision_function(block),
        theirs.fit(kernel, y).decision_function(block),
        atol=0.01,
    )


def test_c_is_that_of_the_machine(moons):
    X, y, *_ = moons
    model = QuantumSVC(backend="precomputed").fit(rbf_kernel(X), y)
    assert model.head_.regularisation == model.problem_.C == DEFAULT_C
    assert np.abs(model.head_.alpha).max() <= DEFAULT_C


def test_weights_are_those_of_scikit_learns_machine():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, size=(40, 2))
    kernel, y = zz_kernel(X), (X[:, 0] > 1.5).astype(int)
    weights = rng.uniform(0, 3, size=30)
    model = QuantumSVC(backend="precomputed").fit(kernel[:30, :30], y[:30], weights)
    exact = SVC(kernel="precomputed", tol=1e-6, C=model.C).fit(kernel[:30, :30], y[:30], weights)
    found = model.decision_function(kernel[30:, :30])
    np.testing.assert_allclose(found, exact.decision_function(kernel[30:, :30]), atol=1e-3)
