import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge

from aqka import InputError, MatrixBackend, Problem, acquire, diagnose
from aqka.core import PairTable
from aqka.insight.diagnostics import Diagnostics, cross_validated_right, effective_support, gini
from aqka.learners import make_learner
from aqka.maths.metrics import split_folds
from aqka.maths.sensitivity import cauchy_schwarz_ratio, krr_gradient
from aqka_research.benchmarks.agreement import ridge_parts
from aqka_research.tasks import planted_sparse
from aqka_research.theory import planted_ceiling
from tests.conftest import make_kernel, make_labels


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=20))
def test_gini_is_the_mean_difference_over_twice_the_mean(values):
    x = np.array(values)
    if x.sum() == 0:
        assert gini(x) == 0
    else:
        expected = np.abs(np.subtract.outer(x, x)).mean() / (2 * x.mean())
        assert gini(x) == pytest.approx(expected, abs=1e-9)


def test_effective_support_counts_equal_carriers():
    assert effective_support(np.array([0.0, 3.0, 3.0, 3.0])) == pytest.approx(3)
    assert effective_support(np.zeros(5)) == 5


def test_diagnostics_of_a_true_kernel_follow_the_definitions():
    kernel, y = 0.9 * make_kernel(10), make_labels(10)
    problem, table = Problem(y, ridge=0.2), PairTable(10)
    found = diagnose(table, problem, kernel)
    alpha, beta, _ = ridge_parts(kernel, y, 0.2)
    g, k = (table.condense(m) for m in (krr_gradient(alpha, beta, 0.2), kernel))
    score = np.abs(g) * np.sqrt(k * (1 - k))
    assert found.gini == pytest.approx(gini(np.abs(g)))
    assert found.rho == pytest.approx(score.sum() ** 2 / (45 * np.sum(score**2)))
    assert found.effective_support == pytest.approx(effective_support(np.abs(g)))


def test_a_kernel_that_is_none_is_refused():
    table, problem = PairTable(4), Problem(make_labels(4), reading="fair")
    for kernel in (1.7 * make_kernel(4), np.full((4, 4), np.nan), [[1.0]]):
        with pytest.raises(InputError):
            diagnose(table, problem, kernel)


def test_tiny_sensitivities_are_not_nothing():
    assert effective_support(np.full(3, 1e-200)) == pytest.approx(3)
    assert cauchy_schwarz_ratio(np.array([1e-300, 0.0])) == pytest.approx(0.5)


@pytest.mark.parametrize("reading", ["paper", "fair"])
@pytest.mark.parametrize("shots_per_pair", [1, 16, 100])
def test_counts_hide_the_concentration_that_the_exact_kernel_has(reading, shots_per_pair):
    task = planted_sparse(seed=1)
    budget = shots_per_pair * 225 * 226 // 2
    session = acquire(MatrixBackend(task.kernel), task.y, budget, "uniform", reading=reading)
    assert diagnose(session.table, session.problem, task.kernel).gini > 0.95
    assert 0.5 < diagnose(session.table, session.problem).gini < 0.65


def test_advice_says_whether_it_is_from_counts():
    exact = Diagnostics(0.7, 0.2, 10.0, 100, 4, estimated=False)
    assert "weak hint" not in exact.advice
    assert "weak hint" in Diagnostics(0.7, 0.2, 10.0, 100, 4).advice


def test_planted_sparse_is_concentrated_and_below_the_ceiling():
    kernel = make_kernel(60)
    c = np.zeros(60)
    c[:3] = 1.0
    problem = Problem((kernel + 0.01 * np.eye(60)) @ c, reading="paper")
    found = diagnose(problem.new_table(), problem, kernel)
    assert found.gini > 0.9
    assert found.rho <= planted_ceiling(60, 3)
    assert "aqka" in found.advice


def test_a_run_can_be_diagnosed_from_its_counts():
    kernel, y = make_kernel(20), make_labels(20)
    session = acquire(MatrixBackend(kernel), y, 190 * 100_000, "uniform", ridge=0.2)
    found = diagnose(session.table, session.problem)
    truth = diagnose(session.table, session.problem, kernel)
    assert found.gini == pytest.approx(truth.gini, abs=0.02)
    assert found.shots_per_pair == 100_000
    assert "uniform does as well" in found.advice


@pytest.mark.parametrize(
    ("gini_value", "shots", "words"),
    [(0.7, 4, "can help"), (0.3, 4, "may hurt"), (0.57, 4, "border"), (0.9, 20, "uniform")],
)
def test_advice_follows_the_regimes(gini_value, shots, words):
    assert words in Diagnostics(gini_value, 0.2, 10.0, 100, shots).advice


def test_cross_validation_agrees_with_scikit_learn():
    labels = make_labels(40)
    kernel = make_kernel(40)
    labels[:5] *= -1
    right = 0
    for kept, held in split_folds(40):
        model = KernelRidge(alpha=0.3, kernel="precomputed")
        model.fit(kernel[np.ix_(kept, kept)], labels[kept])
        right += np.sum(np.sign(model.predict(kernel[np.ix_(held, kept)])) == labels[held])
    problem = Problem(labels, ridge=0.3)
    found = cross_validated_right(kernel, labels, make_learner("ridge"), problem)
    assert found.mean() == right / 40
    alone = np.array([1, 0, 0, 0])
    learner = make_learner("ridge")
    assert cross_validated_right(np.eye(4), alone, learner, Problem(alone)).size == 0
