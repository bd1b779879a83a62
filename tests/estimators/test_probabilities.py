import numpy as np
import pytest
from scipy.special import softmax
from sklearn.kernel_ridge import KernelRidge

from aqka import Problem, QuantumRidgeClassifier
from aqka.designs import KernelEstimate
from aqka.estimators.models import fit_temperature, score_per_class
from aqka.learners import make_learner
from aqka.maths.spectrum import left_out
from tests.conftest import make_kernel, make_labels


def test_probabilities_agree_with_the_prediction_and_are_calibrated(moons):
    X, y, X_test, y_test = moons
    model = QuantumRidgeClassifier(budget=100_000).fit(X, y)
    chance = model.predict_proba(X_test)
    np.testing.assert_allclose(chance.sum(axis=1), 1)
    assert np.array_equal(model.classes_[chance.argmax(axis=1)], model.predict(X_test))
    right = np.mean(model.predict(X_test) == y_test)
    # A mean confidence within 3 standard errors of the accuracy on 40 points.
    assert abs(chance.max(axis=1).mean() - right) < 3 * np.sqrt(right * (1 - right) / 40) + 0.05


def test_left_out_decisions_are_those_of_heads_that_have_not_seen_the_points():
    kernel, y = make_kernel(23), make_labels(23)
    problem = Problem(y)
    head = make_learner("ridge-loo").fit(KernelEstimate(kernel), problem)
    found = left_out(head.spectrum, problem.outputs, head.regularisation)[:, 0]
    for held in range(23):
        kept = np.arange(23) != held
        model = KernelRidge(alpha=head.regularisation, kernel="precomputed")
        model.fit(kernel[np.ix_(kept, kept)], y[kept])
        (expected,) = model.predict(kernel[held, kept][None])
        assert found[held] == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_of_two_classes_the_scores_are_as_far_apart_as_f_says():
    f = np.array([1.0, -3.0])
    np.testing.assert_array_equal(score_per_class(f), [[-0.5, 0.5], [1.5, -1.5]])
    np.testing.assert_array_equal(score_per_class(f[:, None]), score_per_class(f))
    several = np.arange(6.0).reshape(2, 3)
    assert score_per_class(several) is several


def test_the_temperature_that_made_the_classes_is_found():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(20_000, 3))
    chances = softmax(2.5 * scores, axis=1)
    winner = (rng.random(20_000)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
    assert fit_temperature(scores, winner) == pytest.approx(2.5, rel=0.05)
