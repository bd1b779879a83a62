"""The contract of an allocator, as assertions."""

from typing import cast

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka.allocators import Allocator
from aqka.allocators.schedule import Schedule
from aqka.core.pairs import PairTable
from aqka.core.plans import ShotPlan
from aqka.core.problem import Problem
from aqka.sessions import Training


def _run(
    allocator: str | Allocator,
    problem: Problem,
    kernel: FloatArray,
    budget: int,
    schedule: Schedule | None,
    seed: int,
) -> tuple[Training, list[ShotPlan]]:
    session = Training(problem, budget, allocator, schedule, seed)
    plans = []
    while not session.done:
        before = session.table.total
        plan = cast(ShotPlan, session.ask())
        assert session.ask() is plan, "ask() must repeat its plan until its answer comes"
        assert plan.shots.dtype == np.int64
        assert plan.shots.min() >= 1, "a plan lists only pairs that get shots"
        assert before + plan.total <= budget, "the budget was exceeded"
        rng = np.random.default_rng([seed, session.round, 1])
        session.tell(rng.binomial(plan.shots, kernel[plan.rows, plan.cols]))
        assert session.table.total == before + plan.total
        plans.append(plan)
    return session, plans


def check_allocator(
    allocator: str | Allocator,
    problem: Problem,
    kernel: FloatArray,
    budget: int,
    schedule: Schedule | None = None,
    seed: int = 0,
) -> Training:
    """Assert the contract on one run, and return the finished session.

    The budget is never exceeded and exactly spent, shots are whole and positive, hits stay
    within shots, and the same seed gives the same run bit for bit.

    Parameters
    ----------
    allocator, problem, budget, schedule, seed
        See :class:`~aqka.Training`.
    kernel : array of shape (points, points)
        The exact kernel that hits are drawn from.
    """
    session, plans = _run(allocator, problem, kernel, budget, schedule, seed)
    table = session.table
    assert table.total == budget, "the budget must be spent exactly"
    assert np.all((table.hits >= 0) & (table.hits <= table.shots))
    again, repeated = _run(allocator, problem, kernel, budget, schedule, seed)
    assert np.array_equal(again.table.hits, table.hits)
    for first, second in zip(plans, repeated, strict=True):
        assert np.array_equal(first.rows, second.rows)
        assert np.array_equal(first.cols, second.cols)
        assert np.array_equal(first.shots, second.shots)
    return session


def check_relabelling(
    allocator: Allocator, table: PairTable, problem: Problem, shots: int, order: IntArray
) -> None:
    """Assert that relabelling the points permutes the plan of a deterministic allocator.

    Parameters
    ----------
    allocator, problem, shots
        As in :meth:`aqka.allocators.Allocator.ask`.
    table : PairTable
        Counts without ties, since ties are broken at random.
    order : array of shape (points,)
        The points in their new order.
    """
    oracle = problem.true_kernel
    renamed = Problem(
        problem.y[order] if problem.y.ndim == 1 else problem.y[order].argmax(axis=1),
        problem.ridge,
        problem.C,
        problem.reading,
        None if oracle is None else oracle[np.ix_(order, order)],
    )
    answer = PairTable(table.n_points, table.diagonal)
    answer.shots = allocator.ask(table, problem, shots, np.random.default_rng(0)).shots
    other = table.subset(order)
    permuted = allocator.ask(other, renamed, shots, np.random.default_rng(0)).shots
    assert np.array_equal(answer.subset(order).shots, permuted)
