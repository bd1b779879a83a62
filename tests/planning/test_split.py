import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from aqka import InputError
from aqka.designs.pairs import TRAINING_WEIGHT
from aqka.planning import Wish, split_budget


@given(
    st.integers(2, 10**9),
    st.integers(2, 5000),
    st.integers(1, 10**5),
    st.sampled_from(["pairs", "points"]),
)
def test_both_parts_get_something_and_nothing_is_lost(budget, n_train, n_new, design):
    split = split_budget(budget, n_train, n_new, design)
    assert split.train + split.predict == budget
    assert min(split.train, split.predict) >= 1


@pytest.mark.parametrize(("n_train", "n_new"), [(60, 10), (60, 250), (500, 20)])
def test_of_pairs_the_sum_of_both_errors_is_least(n_train, n_new):
    """Against a numerical minimum of w/s + 1/t at the budget."""
    budget, pairs, new_pairs = 10**7, n_train * (n_train - 1) / 2, n_train * n_new

    def error(share):
        return TRAINING_WEIGHT * pairs / (share * budget) + new_pairs / ((1 - share) * budget)

    best = minimize_scalar(error, bounds=(0.001, 0.999), method="bounded", options={"xatol": 1e-9})
    found = split_budget(budget, n_train, n_new, "pairs").train / budget
    assert found == pytest.approx(best.x, abs=1e-5)


def test_of_points_every_point_gets_the_same():
    split = split_budget(1000, 30, 70, "points")
    assert (split.train, split.predict) == (300, 700)
    assert "the same shots each" in split.reason


def test_more_new_points_leave_less_for_training():
    shares = [split_budget(10**6, 100, n, "pairs").train for n in (1, 10, 100, 1000)]
    assert np.all(np.diff(shares) < 0)


def test_an_unknown_design_is_refused():
    with pytest.raises(InputError, match="design must be one of"):
        split_budget(100, 10, 10, "rows")
    with pytest.raises(InputError, match="design must be 'pairs' or 'points', got 'auto'"):
        split_budget(100, 10, 10, "auto")
    with pytest.raises(InputError, match="design must be one of"):
        Wish(design="rows")
