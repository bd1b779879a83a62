import numpy as np

from aqka import Problem
from aqka.allocators import make_allocator
from aqka.allocators.targets import raise_to_floor
from aqka.maths.sensitivity import leverage_sums
from aqka.maths.spectrum import Spectrum, project_psd
from tests.allocators.tables import measured_table
from tests.conftest import make_kernel, make_labels


def test_leverage_scores_are_those_of_the_formula():
    kernel, y = make_kernel(9), make_labels(9)
    problem = Problem(y, ridge=0.2)
    table = measured_table(problem, kernel)
    k_hat = project_psd(problem.reading.kernel(table))
    scores = np.diag(k_hat @ np.linalg.inv(k_hat + 0.2 * np.eye(9)))
    np.testing.assert_allclose(Spectrum.of(k_hat).leverage(0.2), scores, rtol=1e-9)
    expected = raise_to_floor(table.condense(leverage_sums(scores))) * problem.reading.deviation(
        table
    )
    allocator = make_allocator("leverage")
    np.testing.assert_allclose(allocator.score(table, problem), expected, rtol=1e-9)
