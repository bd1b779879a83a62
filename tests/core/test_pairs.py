import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqka import InputError
from aqka.core import PairTable, ShotPlan


@given(n_points=st.integers(2, 15), diagonal=st.sampled_from(["known", "measured"]))
def test_pairs_and_index_are_inverse_and_in_upper_triangle_order(n_points, diagonal):
    table = PairTable(n_points, diagonal)
    rows, cols = table.pairs()
    expected = np.triu_indices(n_points, k=0 if diagonal == "measured" else 1)
    np.testing.assert_array_equal((rows, cols), expected)
    assert table.n_pairs == len(rows)
    np.testing.assert_array_equal(table.index(rows, cols), np.arange(table.n_pairs))
    np.testing.assert_array_equal(table.index(cols, rows), np.arange(table.n_pairs))


@given(n_points=st.integers(2, 15), diagonal=st.sampled_from(["known", "measured"]))
def test_square_and_condense_are_inverse(n_points, diagonal):
    table = PairTable(n_points, diagonal)
    values = np.random.default_rng(n_points).random(table.n_pairs)
    matrix = table.square(values)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(table.condense(matrix), values)
    if diagonal == "known":
        np.testing.assert_array_equal(matrix.diagonal(), 1.0)


def test_estimate_variance_and_unseen():
    table = PairTable(3)
    table.add(ShotPlan([0, 2], [1, 1], [8, 4]), [2, 4])
    np.testing.assert_array_equal(table.shots, [8, 0, 4])
    np.testing.assert_array_equal(table.estimate(unseen=-1.0), [0.25, -1.0, 1.0])
    np.testing.assert_array_equal(table.seen, [True, False, True])
    assert table.shots.dtype == table.hits.dtype == np.int64


def test_a_pair_listed_twice_is_summed():
    table = PairTable(3)
    table.add(ShotPlan([0, 1, 0], [1, 0, 2], [5, 5, 1]), [1, 2, 0])
    np.testing.assert_array_equal(table.shots, [10, 1, 0])
    np.testing.assert_array_equal(table.hits, [3, 0, 0])


def test_counts_beyond_32_bits_are_exact():
    table = PairTable(2)
    table.add(ShotPlan([0], [1], [2**40]), [2**39 + 1])
    assert table.total == 2**40
    assert table.hits[0] == 2**39 + 1


@pytest.mark.parametrize(
    ("plan", "hits", "message"),
    [
        (([0], [1], [5]), [1, 1], r"expected shape \(1,\), got \(2,\)"),
        (([0], [1], [5]), [6], r"pair \(0, 1\) had 5 shots, got 6 hits"),
        (([0], [1], [5]), [-1], "got -1 hits"),
        (([0], [1], [5]), [1.5], "whole numbers"),
        (([0], [1], [5]), [np.nan], "whole numbers"),
        (([0], [1], [5]), ["x"], "whole numbers"),
        (([0], [3], [5]), [1], "between 0 and 2"),
        (([0], [1], [5]), [1e300], r"at most 2\*\*50"),
        (([1], [1], [5]), [1], "diagonal of this table is known"),
    ],
)
def test_bad_counts_change_nothing(plan, hits, message):
    table = PairTable(3)
    with pytest.raises(InputError, match=message):
        table.add(ShotPlan(*plan), hits)
    assert table.total == 0


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0], [1], [1, 2]), "one length, got 1, 1 and 2"),
        (([0], [1], [-1]), "shots must not be negative, got -1"),
        (([0], [1], [0.5]), "shots must hold whole numbers"),
        (([[0]], [[1]], [[2]]), "one-dimensional"),
        (([0, 0, 1], [1, 2, 2], [2**49] * 3), r"at most 2\*\*50 in all"),
        (([0.9], [1], [2]), "rows must hold whole numbers"),
    ],
)
def test_bad_plans_are_refused(columns, message):
    with pytest.raises(InputError, match=message):
        ShotPlan(*columns)


def test_bad_tables_are_refused():
    with pytest.raises(InputError, match="n_points must be a whole number of at least 2, got 1"):
        PairTable(1)
    with pytest.raises(InputError, match="'known', 'measured', got 'maybe'"):
        PairTable(3, "maybe")
    with pytest.raises(InputError, match=r"shape \(3, 3\), got \(2, 2\)"):
        PairTable(3).condense(np.eye(2))
