"""One contract suite over all allocators."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqka import Problem, Schedule, allocator_names, allocators
from aqka.allocators import make_allocator
from aqka.allocators.shofar import Shofar
from aqka.core import PairTable
from aqka.testing import check_allocator, check_relabelling
from tests.conftest import make_kernel, make_labels

TARGET_FILL = ["aqka", "aqka-oracle", "aqka-svm", "aqka-svm-soft", "bernoulli", "leverage"]
SHARED = {"__init__", "_base", "schedule", "targets"}
"""Files beside the allocators that are none."""
OF_0_1_0 = {
    *("uniform", "random", "bernoulli", "leverage", "aqka", "aqka-oracle", "multinomial"),
    *("multinomial-oracle", "shofar", "nystrom", "nystrom-leverage", "hybrid", "aqka-svm"),
    *("aqka-svm-soft", "predictive", "auto"),
}
"""Names that studies and ledgers may hold."""


def test_every_file_is_found_by_its_name():
    files = {path.stem for path in Path(allocators.__file__).parent.glob("*.py")}
    assert set(allocator_names()) == {stem.replace("_", "-") for stem in files - SHARED}


def test_no_name_that_was_published_is_lost():
    assert set(allocator_names()) >= OF_0_1_0


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
