import numpy as np

from aqka import Problem
from aqka.allocators import make_allocator
from aqka.maths.sensitivity import krr_gradient
from aqka.maths.spectrum import Spectrum
from tests.allocators.tables import measured_table
from tests.conftest import make_kernel, make_labels


def test_hybrid_takes_the_rows_with_the_largest_sensitivity():
    kernel, y = make_kernel(20), make_labels(20)
    problem = Problem(y, ridge=0.2)
    table = measured_table(problem, kernel)
    allocation = make_allocator("hybrid").ask(table, problem, 50_000, np.random.default_rng(0))
    spectrum = Spectrum.of(problem.reading.kernel(table))
    alpha = spectrum.solve(y, 0.2)
    sums = np.abs(krr_gradient(alpha, spectrum.solve(alpha, 0.2), 0.2)).sum(axis=1)
    assert set(allocation.landmarks.points) == set(np.argsort(sums)[-5:])
    assert allocation.landmarks.keep_block
    rows, cols = table.pairs(np.flatnonzero(allocation.shots))
    points = allocation.landmarks.points
    assert np.all(np.isin(rows, points) | np.isin(cols, points))
