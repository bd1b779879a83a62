import numpy as np
import pytest

from aqka.maths.metrics import balanced_accuracy, share_interval


@pytest.mark.parametrize(("successes", "trials"), [(0, 7), (3, 11), (11, 11), (40, 100)])
def test_the_interval_holds_the_shares_that_a_normal_test_does_not_reject(successes, trials):
    z = 1.959963984540054
    low, high = share_interval(successes, trials)
    shares = np.linspace(0, 1, 200_001)
    distance = np.abs(successes - trials * shares)
    kept = shares[distance <= z * np.sqrt(trials * shares * (1 - shares)) + 1e-12]
    np.testing.assert_allclose([low, high], [kept.min(), kept.max()], atol=1e-5)


def test_balanced_accuracy_is_the_mean_over_classes_that_are_there():
    truth = np.array(["a", "a", "a", "b", "b", "c"])
    predicted = np.array(["a", "b", "a", "b", "d", "d"])  # d is in no truth
    assert balanced_accuracy(truth, predicted) == pytest.approx((2 / 3 + 1 / 2 + 0) / 3)


def test_balanced_accuracy_weighs_classes_equally():
    truth = np.array([1, 1, 1, -1.0])
    assert balanced_accuracy(truth, np.ones(4)) == 0.5
    assert balanced_accuracy(truth, truth) == 1.0
