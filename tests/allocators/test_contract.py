"""One contract suite over all allocators."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aqka import Problem, Schedule, allocator_names
from aqka.allocators import make_allocator
from aqka.allocators.baselines import Shofar
from aqka.allocators.schedule import EVEN_START, ONE_LOOK, ONE_SHOT
from aqka.core import FAIR, PAPER, PairTable
from aqka.testing import check_allocator, check_relabelling
from tests.conftest import make_kernel, make_labels

TARGET_FILL = ["aqka", "aqka-oracle", "aqka-svm", "aqka-svm-soft", "bernoulli", "leverage"]
DESCRIBED = {
    "aqka": "floor=0.05",
    "aqka-oracle": "floor=0.05",
    "aqka-svm": "floor=0.05",
    "aqka-svm-soft": "floor=0.05",
    "bernoulli": "floor=0.05",
    "hybrid": "landmarks=None",
    "leverage": "floor=0.05",
    "multinomial": "floor=0.05",
    "multinomial-oracle": "floor=0.05",
    "nystrom": "landmarks=None",
    "nystrom-leverage": "landmarks=None",
    "predictive": "floor=0.0",
    "random": "",
    "shofar": "threshold=0.05",
    "uniform": "",
}
"""Names that studies and ledgers hold, and the settings that tags depend on."""


def test_every_class_is_found_by_its_name():
    assert allocator_names() == sorted(DESCRIBED)


def test_what_ledgers_call_an_allocator_stays():
    for name, described in DESCRIBED.items():
        assert make_allocator(name).describe() == f"{name}({described})"
    assert all("ledger_name" in vars(type(make_allocator(name))) for name in allocator_names())


def test_what_ledgers_call_a_schedule_stays():
    assert [schedule.describe() for schedule in (Schedule(), ONE_SHOT, EVEN_START, ONE_LOOK)] == [
        "Schedule(warmup=0.2, rounds=4, explore=0.2, exploration='random', quantum=1)",
        "Schedule(warmup=0.0, rounds=1, explore=0.0, exploration='random', quantum=1)",
        "Schedule(warmup=0.4, rounds=2, explore=0.0, exploration='round-robin', quantum=1)",
        "Schedule(warmup=0.2, rounds=1, explore=0.0, exploration='random', quantum=1)",
    ]


def test_what_ledgers_call_a_reading_stays():
    assert [reading.describe() for reading in (PAPER, FAIR)] == [
        "Reading(name='paper', diagonal='measured', unseen='zero', learner='ridge')",
        "Reading(name='fair', diagonal='known', unseen='mean', learner='ridge-kfold')",
    ]


def test_an_allocator_without_a_name_of_its_own_goes_by_its_module():
    class Own(Shofar):
        pass

    assert Own().describe() == f"{__name__}.{Own.__qualname__}(threshold=0.05)"


@st.composite
def schedules(draw):
    return Schedule(
        warmup=draw(st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0])),
        rounds=draw(st.integers(1, 6)),
        explore=draw(st.sampled_from([0.0, 0.2, 0.37, 1.0])),
        exploration=draw(st.sampled_from(["random", "round-robin"])),
    )


@pytest.mark.parametrize("name", allocator_names())
@pytest.mark.parametrize("reading", ["paper", "fair"])
@settings(max_examples=40)  # of each of the thirty
@given(
    n_points=st.integers(2, 12),
    budget=st.integers(1, 600),
    seed=st.integers(0, 1000),
    schedule=st.none() | schedules(),
)
def test_budget_is_spent_exactly_and_runs_repeat(name, reading, n_points, budget, seed, schedule):
    kernel = make_kernel(n_points, seed=1)
    problem = Problem(make_labels(n_points), reading=reading, true_kernel=kernel)
    if schedule is not None and make_allocator(name).chooses_once:
        schedule = Schedule(schedule.warmup, 1, schedule.explore, schedule.exploration)
    session = check_allocator(name, problem, kernel, budget, schedule, seed)
    if session.schedule.exploration == "round-robin":
        # The variant's promise (Prop. 2): no pair below the floor of the exploration share.
        guaranteed = int(session.schedule.explore * budget + 1e-9) // session.table.n_pairs
        assert session.table.shots.min() >= guaranteed


def generic_table(n_points, diagonal):
    """Measurements without ties: every pair has another number of shots."""
    rng = np.random.default_rng(5)
    table = PairTable(n_points, diagonal)
    table.shots = 40 + rng.permutation(table.n_pairs).astype(np.int64)
    table.hits = rng.binomial(table.shots, table.condense(make_kernel(n_points)) * 0.9)
    return table


@pytest.mark.parametrize("reading", ["paper", "fair"])
@pytest.mark.parametrize("name", [*TARGET_FILL, "hybrid"])
@pytest.mark.parametrize("seed", range(5))
def test_relabelling_permutes_the_plan(name, reading, seed):
    order = np.random.default_rng(seed).permutation(10)
    problem = Problem(
        make_labels(10), ridge=0.1, reading=reading, true_kernel=0.9 * make_kernel(10)
    )
    table = generic_table(10, problem.reading.diagonal)
    check_relabelling(make_allocator(name), table, problem, 977, order)


@pytest.mark.parametrize("allocator", [make_allocator("uniform"), Shofar(threshold=0.0)])
def test_relabelling_permutes_the_plan_of_equal_shares(allocator):
    problem = Problem(make_labels(10), ridge=0.1)
    table = PairTable(10)
    table.shots[:] = 20
    table.hits = np.random.default_rng(0).binomial(table.shots, 0.3)
    order = np.random.default_rng(1).permutation(10)
    check_relabelling(allocator, table, problem, 4 * table.n_pairs, order)
