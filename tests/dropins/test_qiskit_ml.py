import copy
import pickle

import numpy as np
import pytest
from qiskit.circuit.library import zz_feature_map
from qiskit.primitives import StatevectorSampler
from qiskit_machine_learning.algorithms import QSVC, QSVR, PegasosQSVC
from qiskit_machine_learning.datasets import ad_hoc_data
from qiskit_machine_learning.exceptions import QiskitMachineLearningError
from qiskit_machine_learning.kernels import FidelityStatevectorKernel
from qiskit_machine_learning.utils import algorithm_globals
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from aqka import BackendFactory, InputError, diagnose
from aqka.backends import SamplerBackend
from aqka.dropins.qiskit_ml import AqkaKernel
from tests.estimators.remembering import Counting, counted

MAP = zz_feature_map(2, reps=2, entanglement="linear")
MANY = 780 * 200_000


def make(**settings):
    return AqkaKernel(**{"feature_map": MAP, "design": "pairs"} | settings)


@pytest.fixture(scope="module")
def ad_hoc():
    """The data of the tutorial 'Quantum Kernel Machine Learning'."""
    algorithm_globals.random_seed = 12345
    return ad_hoc_data(training_size=20, test_size=5, n=2, gap=0.3, one_hot=False)


def tutorial(kernel, X, y, X_test, y_test):
    """The tutorial's three classifiers: a callable kernel, a matrix, and QSVC."""
    called = SVC(kernel=kernel.evaluate).fit(X, y)
    given = SVC(kernel="precomputed").fit(kernel.evaluate(x_vec=X), y)
    block = kernel.evaluate(x_vec=X_test, y_vec=X)
    quantum = QSVC(quantum_kernel=kernel).fit(X, y)
    return [called.score(X_test, y_test), given.score(block, y_test), quantum.score(X_test, y_test)]


def test_the_published_example_runs_with_one_line_changed(ad_hoc):
    X, y, *test = ad_hoc
    before = FidelityStatevectorKernel(feature_map=MAP)
    after = make(budget=78_000, test_budget=40_000)
    assert tutorial(before, X, y, *test) == tutorial(after, X, y, *test) == [1.0, 1.0, 1.0]
    assert diagnose(after.measured.session_.table, after.measured.session_.problem).advice
    assert (
        after.measured.shots_used_ == 78_000 + 360 * 100
    )  # for all three; a test point stands twice


@pytest.mark.parametrize("allocator", ["uniform", "predictive"])
def test_many_shots_give_the_exact_classifier(ad_hoc, allocator):
    X, y, X_test, _ = ad_hoc
    exact = QSVC(quantum_kernel=FidelityStatevectorKernel(feature_map=MAP)).fit(X, y)
    kernel = make(budget=MANY, test_budget=MANY, allocator=allocator, seed=1)
    kernel.measured.fit(X, y)  # whose labels steer
    found = QSVC(quantum_kernel=kernel).fit(X, y)
    wanted = exact.decision_function(X_test)
    assert np.abs(found.decision_function(X_test) - wanted).max() < 0.02
    plain = SVC(kernel=kernel.evaluate).fit(X, y)
    assert np.array_equal(plain.decision_function(X_test), found.decision_function(X_test))
    assert np.abs(kernel.evaluate(X) - exact.quantum_kernel.evaluate(X)).max() < 0.01


def seeded_sampler(seed):
    return StatevectorSampler(seed=np.random.default_rng(seed))


def test_shots_run_on_any_sampler(ad_hoc):
    X, y, X_test, _ = ad_hoc
    factory = BackendFactory(SamplerBackend, sampler=seeded_sampler)
    kernel = make(budget=28 * 50, test_budget=800, backend=factory)
    exact = FidelityStatevectorKernel(feature_map=MAP)
    model = QSVC(quantum_kernel=kernel).fit(X[16:24], y[16:24])
    model.predict(X_test[:2])
    assert kernel.measured.shots_used_ == 28 * 50 + 2 * 8 * 50
    found = kernel.evaluate(X_test[:2], X[16:24])
    wanted = exact.evaluate(X_test[:2], X[16:24])
    assert np.abs(found - wanted).max() < 0.5 / np.sqrt(50) * 4.5


def test_a_noisy_training_kernel_is_projected_if_wanted(ad_hoc):
    X, _, X_test, _ = ad_hoc
    kernel = make(budget=7_800, test_budget=4_000)
    raw = kernel.measured.matrix(X)
    assert np.linalg.eigvalsh(raw)[0] < -0.1
    projected = kernel.evaluate(X)
    values, vectors = np.linalg.eigh(raw)
    nearest = (vectors * np.maximum(values, 0)) @ vectors.T
    assert np.abs(projected - nearest).max() < 1e-5
    assert np.array_equal(kernel.evaluate(X, X), projected)
    assert np.array_equal(kernel.evaluate(X_test, X), kernel.measured.matrix(X_test, X))
    unforced = make(budget=7_800, test_budget=4_000, enforce_psd=False)
    assert np.array_equal(unforced.evaluate(X), unforced.measured.matrix(X))
    assert not unforced.enforce_psd
    assert kernel.feature_map is MAP
    assert kernel.num_features == 2


def test_clones_copies_and_saved_models_share_the_budget(ad_hoc, tmp_path):
    X, y, X_test, y_test = ad_hoc
    kernel = make(budget=7_800, test_budget=3_700, backend=counted())
    model = QSVC(quantum_kernel=kernel).fit(X, y)
    score = model.score(X_test, y_test)
    for other in (clone(model), clone(SVC(kernel=kernel.evaluate)), copy.deepcopy(model)):
        assert other.fit(X, y).score(X_test, y_test) == score
    assert pickle.loads(pickle.dumps(model)).score(X_test, y_test) == score
    model.to_dill(tmp_path / "model.dill")
    assert QSVC.from_dill(tmp_path / "model.dill").score(X_test, y_test) == score
    assert Counting.total() == kernel.measured.shots_used_ == 11_400
    with pytest.raises(InputError, match="3600 of 3700"):
        copy.deepcopy(kernel).evaluate(X_test)


def test_a_grid_search_over_c_costs_one_training_kernel(ad_hoc):
    X, y, *_ = ad_hoc
    kernel = make(budget=78_000, test_budget=0, backend=counted())
    kernel.measured.fit(X, y)
    search = GridSearchCV(QSVC(quantum_kernel=kernel), {"C": [0.1, 1, 10]}, cv=4).fit(X, y)
    assert search.best_score_ > 0.9
    assert Counting.total() == kernel.measured.shots_used_ == 78_000


def test_one_object_serves_both_libraries(ad_hoc):
    X, _, X_test, _ = ad_hoc
    kernel = make(budget=7_800, test_budget=4_000)
    kernel.evaluate(X)
    block = kernel.measured.matrix(X_test, X)
    assert np.array_equal(block, kernel.evaluate(X_test, X))
    assert kernel.measured(X_test[3], X[5]) == block[3, 5]
    assert kernel.measured.shots_used_ == 11_400


def test_regression_and_single_points(ad_hoc):
    X, *_ = ad_hoc
    target = np.sin(X[:, 0])
    kernel = make(budget=78_000, test_budget=100)
    assert QSVR(quantum_kernel=kernel).fit(X, target).score(X, target) > 0
    assert kernel.evaluate(X[0], X[1]).shape == (1, 1)
    assert kernel.evaluate(X[0]) == pytest.approx(1)


@pytest.mark.parametrize("design", ["pairs", "points"])
def test_pegasos_asks_for_a_block_without_columns(ad_hoc, design):
    X, y, X_test, y_test = ad_hoc
    kernel = make(budget=780 * 50, test_budget=40_000, design=design)
    kernel.measured.fit(X)
    model = PegasosQSVC(quantum_kernel=kernel, C=1000, num_steps=100).fit(X, y)
    assert model.score(X_test, y_test) > 0.8
    assert kernel.evaluate(np.empty((0, 2))).shape == (0, 0)
    assert kernel.evaluate(X[0], np.empty((0, 2))).shape == (1, 0)


def test_what_qiskits_kernels_take_besides_is_accepted_or_refused_by_name():
    kernel = make(budget=100, test_budget=0, evaluate_duplicates="none", fidelity=None)
    assert kernel.evaluate(np.ones((2, 2))).shape == (2, 2)
    for settings, words in (
        ({"evaluate_duplicates": "all"}, "evaluate_duplicates must be 'none', got 'all'"),
        ({"fidelity": object()}, "fidelity must be None, got object"),
    ):
        with pytest.raises(InputError, match=words):
            make(budget=100, test_budget=0, **settings)


def test_wrong_input_is_refused_as_qiskit_refuses_it():
    with pytest.raises(QiskitMachineLearningError, match="feature map"):
        AqkaKernel(feature_map=None, budget=100, test_budget=100)
    kernel = make(budget=7_800, test_budget=0)
    with pytest.raises(ValueError, match="incompatible dimensions"):
        kernel.evaluate(np.ones((4, 3)))
    assert kernel.measured.shots_used_ == 0
