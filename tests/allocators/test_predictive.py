import numpy as np
import pytest

from aqka import MatrixBackend, Problem, acquire
from aqka.allocators.aqka import Predictive
from aqka.core import PairTable
from aqka.maths.sensitivity import prediction_sensitivity
from aqka.maths.spectrum import Spectrum
from aqka_research.tasks import planted_sparse
from tests.conftest import make_kernel, make_labels


@pytest.mark.parametrize("outputs", [1, 3])
def test_prediction_sensitivity_is_the_norm_of_the_gradient(outputs):
    """‖∂f/∂K_ij‖ / √N by central differences of f = K₀ (K + λI)⁻¹ y, K₀ held fixed."""
    kernel, ridge, n = make_kernel(9), 0.3, 9
    y = np.random.default_rng(0).normal(size=(n, outputs))
    spectrum = Spectrum.of(kernel)
    ours = prediction_sensitivity(spectrum, spectrum.solve(y, ridge), ridge)
    step = 1e-5
    for i, j in ((0, 1), (2, 7), (3, 3), (8, 5)):
        moved = []
        for sign in (1, -1):
            other = kernel.copy()
            other[i, j] += sign * step
            if i != j:
                other[j, i] += sign * step
            moved.append(kernel @ np.linalg.solve(other + ridge * np.eye(n), y))
        gradient = (moved[0] - moved[1]) / (2 * step)
        assert ours[i, j] == pytest.approx(np.linalg.norm(gradient) / np.sqrt(n), rel=1e-4)


def test_half_of_the_score_is_uniform():
    class Given(Predictive):
        def sensitivity(self, table, problem):
            return np.array([0.0, 1.0, 3.0]) * scale

        def deviation(self, table, problem):
            return np.ones(3)

    scale, table, problem = 1.0, PairTable(3), Problem([0, 1, 1])
    score = Given().score(table, problem)
    np.testing.assert_allclose(score / score.sum(), [1 / 6, 1 / 6 + 1 / 8, 1 / 6 + 3 / 8])
    scale = 0.0
    assert np.array_equal(Given().score(table, problem), np.zeros(3))


def test_it_gives_every_pair_its_uniform_half():
    kernel, y = make_kernel(20), make_labels(20)
    session = acquire(MatrixBackend(kernel), y, 190 * 40, Predictive())
    assert session.table.shots.min() >= 17  # 40 % evenly, then half of what is left
    assert session.table.shots.max() > 45


def test_it_steadies_the_predictions_of_a_sparse_problem():
    """Mean squared error of f, given α's own learner, below uniform's over 20 runs."""
    task = planted_sparse(60, 40, 3, seed=2)
    errors = {"uniform": [], "predictive": []}
    truth = np.linalg.solve(task.kernel + 0.5 * np.eye(60), task.y)
    for seed in range(20):
        for name, values in errors.items():
            backend = MatrixBackend(task.kernel, seed=seed)
            head = acquire(backend, task.y, 1770 * 30, name, ridge=0.5).fit("ridge")
            values.append(np.mean((task.test_kernel @ (head.alpha - truth)) ** 2))
    assert np.mean(errors["predictive"]) < 0.9 * np.mean(errors["uniform"])
