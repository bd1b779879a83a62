import numpy as np
import pytest

from aqka import InputError, MatrixBackend, Problem, acquire
from aqka.allocators import make_allocator
from aqka.allocators.targets import raise_to_floor
from aqka.maths.sensitivity import krr_gradient
from aqka.maths.spectrum import Spectrum
from tests.allocators.tables import measured_table
from tests.conftest import make_kernel, make_labels


def test_oracle_follows_the_true_kernel_whatever_was_measured():
    kernel, y = 0.9 * make_kernel(9), make_labels(9)
    problem = Problem(y, ridge=0.2, true_kernel=kernel)
    first = make_allocator("aqka-oracle").score(measured_table(problem, kernel, seed=1), problem)
    second = make_allocator("aqka-oracle").score(measured_table(problem, kernel, seed=2), problem)
    assert np.array_equal(first, second)
    spectrum = Spectrum.of(kernel)
    alpha = spectrum.solve(y, 0.2)
    gradient = krr_gradient(alpha, spectrum.solve(alpha, 0.2), 0.2)
    table = problem.new_table()
    k = table.condense(kernel)
    expected = raise_to_floor(table.condense(gradient)) * np.sqrt(k * (1 - k))
    np.testing.assert_allclose(first / first.sum(), expected / expected.sum())


@pytest.mark.parametrize("name", ["aqka-oracle", "multinomial-oracle"])
def test_oracle_without_the_true_kernel_says_so(name):
    with pytest.raises(InputError, match="true_kernel is needed"):
        acquire(MatrixBackend(make_kernel(6)), make_labels(6), 100, name)
