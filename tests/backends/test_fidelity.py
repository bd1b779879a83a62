import numpy as np
import pytest

from aqka.backends.statevector import StatevectorBackend


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
