import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqka import InputError, Schedule


@given(
    budget=st.integers(1, 5000),
    warmup=st.floats(0, 1),
    rounds=st.integers(1, 12),
)
def test_milestones_rise_to_the_budget(budget, warmup, rounds):
    ends = Schedule(warmup, rounds).milestones(budget)
    assert ends[-1] == budget
    assert all(a < b for a, b in zip([0, *ends], ends, strict=False))
    assert len(ends) <= rounds + 1


def test_the_papers_schedule():
    schedule = Schedule()
    assert schedule.milestones(1000) == [200, 400, 600, 800, 1000]
    assert schedule.exploration_shots(200) == 40
    assert schedule.exploration_shots(5) == 1


def test_round_robin_explores_the_least_seen():
    spent = np.array([5, 0, 1, 9])
    added = Schedule(exploration="round-robin").explore_pairs(spent, 3, np.random.default_rng(0))
    assert added.sum() == 3
    assert added[[0, 3]].sum() == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"warmup": -0.1}, "warmup must be a fraction from 0 to 1, got -0.1"),
        ({"explore": 1.5}, "explore must be a fraction"),
        ({"warmup": float("nan")}, "warmup must be a fraction"),
        ({"rounds": 0}, "rounds must be a whole number of at least 1, got 0"),
        ({"exploration": "greedy"}, "'random', 'round-robin', got 'greedy'"),
    ],
)
def test_bad_schedules_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        Schedule(**settings)
