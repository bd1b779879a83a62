"""Spends budgets on a task with several methods, and measures the heads in every way we report."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.allocators import Allocator, make_allocator
from aqka.allocators.schedule import Schedule
from aqka.backends import Backend, MatrixBackend
from aqka.core.problem import Problem
from aqka.designs import KernelEstimate
from aqka.learners import FittedHead, labels_of, make_learner
from aqka.maths.metrics import balanced_accuracy
from aqka.sessions import Training, acquire
from aqka_research.paper_arms import arm_as_read
from aqka_research.paper_reading import PaperReading, is_reading
from aqka_research.protocols import reading_of
from aqka_research.read_runs import made_once, read_run
from aqka_research.results import Row
from aqka_research.tasks import Task

EXACT, MAJORITY = "exact kernel", "majority class"
"""Methods of the two rows that every task has besides: no shot noise, and no learning."""

SIGNS = np.array([-1.0, 1.0])
"""The two classes of a task."""


def all_rows(
    task: Task,
    methods: Sequence[str] | Mapping[str, Allocator],
    budgets: Sequence[int],
    protocol: str,
    seed: int,
    backend: Backend | None = None,
    learner: str | None = None,
) -> list[Row]:
    """Return a row for every method and budget.

    ``methods`` are allocators' names, or allocators by the name that results give them. Shots
    run on ``backend``, or else on the task's exact kernel; heads are the ``learner``'s, or else
    the protocol's.
    """
    chosen = methods if isinstance(methods, Mapping) else {name: name for name in methods}
    exact = exact_decision(task, learner)
    rows = []
    for name, method in chosen.items():
        for budget in budgets:
            session = spend(task, method, budget, protocol, seed, backend=backend)
            row = session_row(task, session, exact, learner)
            rows.append(row | {"method": name, "budget": budget})
    return rows


def rows_per_pair(
    task: Task,
    methods: Sequence[str] | Mapping[str, Allocator],
    ratios: Sequence[float],
    protocol: str,
    seed: int,
    backend: Backend | None = None,
    learner: str | None = None,
) -> list[Row]:
    """Return a row for every method and budget, the budgets in shots per pair.

    Pairs are counted as the paper does, with the diagonal, under both protocols.
    """
    budgets = {round(ratio * n_pairs(len(task.y))): ratio for ratio in ratios}
    rows = all_rows(task, methods, list(budgets), protocol, seed, backend, learner)
    return [row | {"shots_per_pair": budgets[row["budget"]]} for row in rows]


def n_pairs(points: int) -> int:
    """Return the number of pairs, the diagonal included."""
    return points * (points + 1) // 2


def spend(
    task: Task,
    method: str | Allocator,
    budget: int,
    protocol: str,
    seed: int,
    schedule: Schedule | None = None,
    backend: Backend | None = None,
) -> Training:
    """Spend a budget of shots on a backend, or else simulated on the task's exact kernel.

    Under a reading of the paper shots are common random numbers, drawn from the kernel of the
    backend where it has one.
    """
    if is_reading(protocol):
        if backend is None or backend.has_kernel:
            measured = None if backend is None else backend.kernel()
            return read_run(task, method, budget, protocol, seed, schedule, measured)
        named = PaperReading.named(protocol)
        method, schedule = arm_as_read(make_allocator(method), schedule, named, budget)
    return acquire(
        backend or MatrixBackend(task.kernel, seed=seed),
        task.y,
        budget,
        method,
        design="pairs",
        ridge=task.ridge,
        reading=reading_of(protocol),
        schedule=schedule,
        true_kernel=task.kernel,
        seed=seed,
    )


def session_row(
    task: Task, session: Training, exact: FloatArray, learner: str | None = None
) -> Row:
    """Return how well the session's head does on the test points, and what share of pairs it saw.

    ``exact`` is the decision function without shot noise (:func:`exact_decision`); the mean
    squared error and the correlation are against it.
    """
    name = learner or session.problem.reading.learner

    def make() -> Row:
        head = fitted(session, name)
        row = decision_row(task, head.decision_function(task.test_kernel), exact)
        return row | {"seen": float(np.mean(session.table.shots > 0))}

    return made_once(session, name, make)


@lru_cache(maxsize=1)
def fitted(session: Training, learner: str) -> FittedHead:
    """Return the head of a finished session, fitted once for all that is asked about it."""
    return session.fit(learner)


def decision_row(task: Task, decision: FloatArray, exact: FloatArray) -> Row:
    """Return accuracy, balanced accuracy, error and correlation of a decision function."""
    predicted = labels_of(decision, SIGNS)
    constant = np.ptp(decision) == 0 or np.ptp(exact) == 0
    return {
        "accuracy": float(np.mean(predicted == task.test_labels)),
        "balanced_accuracy": balanced_accuracy(task.test_labels, predicted),
        "mse": float(np.mean((decision - exact) ** 2)),
        "correlation": 0.0 if constant else float(np.corrcoef(decision, exact)[0, 1]),
    }


@lru_cache(maxsize=4)
def exact_decision(task: Task, learner: str | None = None) -> FloatArray:
    """Return f on the exact kernel at the test points: of a learner, or of the task's own ridge."""
    if learner is not None:
        head = make_learner(learner).fit(KernelEstimate(task.kernel), Problem(task.y, task.ridge))
        return np.asarray(head.decision_function(task.test_kernel))
    alpha = np.linalg.solve(task.kernel + task.ridge * np.eye(len(task.y)), task.y)
    return np.asarray(task.test_kernel @ alpha)


def baseline_rows(task: Task, protocol: str, learner: str | None = None) -> list[Row]:
    """Return what the protocol's head does on the exact kernel, and what no learning does."""
    row = _exact_row(task, learner or reading_of(protocol).learner, learner)
    nothing = {"accuracy": task.majority_accuracy, "balanced_accuracy": 0.5, "correlation": 0.0}
    return [{"method": EXACT} | row, {"method": MAJORITY} | nothing]


@lru_cache(maxsize=4)
def _exact_row(task: Task, fitted: str, learner: str | None) -> Row:
    """Return how well a learner does on the exact kernel."""
    head = make_learner(fitted).fit(KernelEstimate(task.kernel), Problem(task.y, ridge=task.ridge))
    decision = head.decision_function(task.test_kernel)
    return decision_row(task, decision, exact_decision(task, learner))
