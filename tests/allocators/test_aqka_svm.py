import numpy as np
import pytest

from aqka import InputError, MatrixBackend, Problem, acquire
from aqka.allocators import make_allocator
from aqka.allocators.targets import raise_to_floor
from aqka.maths.sensitivity import soft_support, solve_dual, svm_gradient
from aqka.maths.spectrum import project_psd
from tests.allocators.tables import measured_table
from tests.conftest import make_kernel, make_labels


def test_svm_allocators_follow_dual_and_soft_support():
    kernel, y = make_kernel(12), make_labels(12)
    problem = Problem(y, C=2.0)
    table = measured_table(problem, kernel)
    projected = project_psd(problem.reading.kernel(table))
    deviation = problem.reading.deviation(table)
    hard, soft = make_allocator("aqka-svm"), make_allocator("aqka-svm-soft")
    machine = solve_dual(projected, y, 2.0)
    weights = hard.weights(machine)
    expected = raise_to_floor(table.condense(svm_gradient(weights, y))) * deviation
    np.testing.assert_allclose(hard.score(table, problem), expected)
    flat = soft.weights(machine)
    assert flat.max() == 1.0
    assert np.all(flat > 0)  # nobody is shut out
    assert np.array_equal(np.argsort(flat), np.argsort(weights))


def test_soft_support_flattens_as_the_margin_thins():
    dual = np.array([0.0, 1.0, 2.0])
    wide, thin = soft_support(dual, margin=1.0), soft_support(dual, margin=0.01)
    np.testing.assert_allclose(wide, np.exp([-2, -1, 0]))
    assert thin.min() > 0.97


def test_svm_allocators_need_two_classes():
    with pytest.raises(InputError, match="needs two classes"):
        acquire(MatrixBackend(make_kernel(5)), [0.1, 0.4, -2.0, 1.0, 3.0], 100, "aqka-svm")


@pytest.mark.parametrize("name", ["aqka-svm", "aqka-svm-soft"])
def test_three_classes_weigh_a_pair_by_all_their_machines(name):
    kernel, y = make_kernel(12), np.arange(12) % 3
    problem = Problem(y, C=2.0)
    table = measured_table(problem, kernel)
    projected = project_psd(problem.reading.kernel(table))
    allocator = make_allocator(name)
    machines = [solve_dual(projected, np.where(y == c, 1.0, -1.0), 2.0) for c in range(3)]
    products = [np.outer(w, w) for w in map(allocator.weights, machines)]
    expected = table.condense(np.sqrt(np.sum(np.square(products), axis=0)))
    found = allocator.sensitivity(table, problem)
    off = ~table.on_diagonal()
    ratio = found[off] / expected[off]
    np.testing.assert_allclose(ratio, ratio[0])
    session = acquire(MatrixBackend(kernel), y, 3000, name)
    assert session.table.total == 3000
    assert set(session.fit("svm").predict(kernel)) == {0, 1, 2}
