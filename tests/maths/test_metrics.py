from math import comb

import numpy as np
import pytest

from aqka.maths.metrics import (
    FOLDS,
    PairedShares,
    balanced_accuracy,
    compare_shares,
    share_interval,
    split_folds,
)


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


def two_sided(first, second):
    """The exact McNemar test by hand: twice the smaller tail of a fair coin."""
    n, k = first + second, min(first, second)
    return min(1.0, 2 * sum(comb(n, j) for j in range(k + 1)) / 2**n)


@pytest.mark.parametrize("first", range(0, 12, 3))
@pytest.mark.parametrize("second", range(0, 12, 2))
def test_the_p_value_is_that_of_a_fair_coin(first, second):
    assert PairedShares(40, first, second).p_value == pytest.approx(two_sided(first, second))


def test_only_points_that_they_differ_on_count():
    one, two = [1, 1, 0, 0, 1, 0], [1, 0, 1, 0, 0, 0]
    found = compare_shares(one, two)
    assert (found.n_points, found.only_first, found.only_second) == (6, 2, 1)
    assert found.difference == pytest.approx(np.mean(one) - np.mean(two))
    assert compare_shares(two, one).difference == -found.difference


def test_equal_models_are_hardly_ever_told_apart():
    """Of 2,000 pairs of equal models at most 5 % have p < 0.05, plus three standard errors."""
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(40, [0.5, 0.15, 0.15, 0.2], 2000)[:, 1:3]
    kinds, counts = np.unique(drawn, axis=0, return_counts=True)
    found = [PairedShares(40, int(one), int(two)).p_value < 0.05 for one, two in kinds]
    share = np.average(found, weights=counts)
    assert share <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)


def test_models_that_agree_everywhere_differ_by_nothing():
    found = compare_shares([1, 1, 0], [1, 1, 0])
    assert (found.difference, found.p_value) == (0, 1)


@pytest.mark.parametrize(("n_points", "folds"), [(20, 4), (23, 5), (3, 5), (2, 2)])
def test_every_point_is_held_out_once_and_trains_otherwise(n_points, folds):
    found = list(split_folds(n_points, folds))
    assert len(found) == min(folds, n_points)
    held = np.concatenate([fold.held for fold in found])
    np.testing.assert_array_equal(np.sort(held), np.arange(n_points))
    for fold in found:
        together = np.concatenate([fold.kept, fold.held])
        np.testing.assert_array_equal(np.sort(together), np.arange(n_points))
        assert np.all(np.diff(fold.kept) > 0)
    sizes = [fold.held.size for fold in found]
    assert max(sizes) - min(sizes) <= 1


def test_the_folds_are_those_that_stored_results_were_computed_with():
    order = np.random.default_rng(0).permutation(42)
    found = list(split_folds(42))
    assert len(found) == FOLDS
    for fold, held in zip(found, np.array_split(order, 5), strict=True):
        np.testing.assert_array_equal(fold.held, held)
