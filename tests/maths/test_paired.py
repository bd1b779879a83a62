"""Two models on the same points, against sums of binomial terms."""

from math import comb

import numpy as np
import pytest

from aqka.maths.paired import PairedShares, compare_shares


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
    drawn = rng.multinomial(40, [0.5, 0.15, 0.15, 0.2], 2000)
    share = np.mean([PairedShares(40, int(c[1]), int(c[2])).p_value < 0.05 for c in drawn])
    assert share <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)


def test_models_that_agree_everywhere_differ_by_nothing():
    found = compare_shares([1, 1, 0], [1, 1, 0])
    assert (found.difference, found.p_value) == (0, 1)
