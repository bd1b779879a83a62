import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from aqka.allocators.targets import (
    fill,
    kkt_targets,
    raise_lowest,
    raise_to_floor,
    round_exactly,
    sample,
    sample_uniformly,
    spread,
)

scores = arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 1e6))
counts = arrays(np.int64, st.integers(1, 40), elements=st.integers(0, 1000))


def rng():
    return np.random.default_rng(0)


@given(scores, st.integers(0, 10_000))
def test_rounding_is_exact_and_moves_no_share_by_a_whole_shot(score, total):
    shares = kkt_targets(score, total)
    shots = round_exactly(shares, total, rng())
    assert shots.sum() == total
    assert np.all(np.abs(shots - shares) <= 1 + 1e-6)
    assert np.all(shots >= 0)


def test_rounding_gives_missing_shots_to_the_largest_fractions():
    shots = round_exactly(np.array([0.6, 1.7, 2.1, 0.6]), 5, rng())
    assert shots[1] == 2
    assert shots[2] == 2
    assert shots[0] + shots[3] == 1  # an exact tie


def test_ties_are_broken_at_random_but_by_the_seed():
    shares = np.full(100, 0.5)
    first = round_exactly(shares, 50, np.random.default_rng(1))
    assert np.array_equal(first, round_exactly(shares, 50, np.random.default_rng(1)))
    assert not np.array_equal(first, round_exactly(shares, 50, np.random.default_rng(2)))
    assert first[:50].sum() < 45


@given(counts, st.integers(0, 10_000))
def test_fill_spends_its_shots_where_the_target_is_above(spent, shots):
    score = np.arange(len(spent), dtype=float)
    targets = kkt_targets(score, float(spent.sum() + shots))
    added = fill(targets, spent, shots, rng())
    assert added.sum() == shots
    assert np.all(added[targets <= spent] == 0) or shots == 0


def test_fill_toward_reached_targets_still_spends():
    added = fill(np.zeros(4), np.full(4, 3), 6, rng())
    assert added.sum() == 6


@given(counts, st.integers(0, 10_000))
def test_raise_lowest_equals_giving_one_shot_at_a_time(spent, shots):
    shots = min(shots, 500)
    one_by_one = spent.copy()
    for _ in range(shots):
        one_by_one[np.argmin(one_by_one)] += 1
    assert sorted(spent + raise_lowest(spent, shots, rng())) == sorted(one_by_one)


@given(counts, st.integers(0, 1000))
def test_spread_is_equal_over_its_pairs(spent, shots):
    where = spent % 2 == 0
    where[0] = True
    added = spread(where, shots, rng())
    assert added.sum() == shots
    assert np.all(added[~where] == 0)
    assert added[where].max() - added[where].min() <= 1


@given(scores, st.integers(0, 1000))
def test_samples_spend_exactly_and_avoid_zero_scores(score, shots):
    drawn = sample(score, shots, rng())
    assert drawn.sum() == shots
    if score.sum() > 0:
        assert np.all(drawn[score == 0] == 0)
    assert sample_uniformly(len(score), shots, rng()).sum() == shots


def test_floor_is_a_fraction_of_the_largest_size():
    np.testing.assert_array_equal(raise_to_floor(np.array([-10.0, 0.1, 2.0])), [10.0, 0.5, 2.0])


def test_targets_without_any_score_are_equal():
    np.testing.assert_array_equal(kkt_targets(np.zeros(4), 10), np.full(4, 2.5))
