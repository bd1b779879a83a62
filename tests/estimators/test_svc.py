import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from aqka import QuantumSVC
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
