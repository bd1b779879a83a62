"""The demo: two tasks, several allocators side by side, and whether adaptivity paid."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.backends import MatrixBackend
from aqka.demo.tasks import Task, breast_cancer, planted_sparse
from aqka.insight.diagnostics import Diagnostics, diagnose
from aqka.learners import labels_of
from aqka.maths.metrics import balanced_accuracy
from aqka.sessions import Training, acquire

TASKS: tuple[Callable[[int], Task], ...] = (
    lambda seed: planted_sparse(seed=seed, largest_class=0.7),
    lambda seed: breast_cancer(seed=seed),
)
ALLOCATORS = ("uniform", "leverage", "shofar", "nystrom", "hybrid", "aqka", "aqka-oracle")
HEATMAP_ANCHORS = 4
HEATMAPS = ("uniform", "aqka", "aqka-oracle")
READINGS = ("paper", "fair")
SHOTS_PER_PAIR = (0.3, 1.0, 4.0, 16.0)
TABLE_SHOTS_PER_PAIR = 4.0


@dataclass(frozen=True)
class DemoRun:
    """One run: allocator, shots and how well the head does."""

    task: str
    reading: str
    allocator: str
    shots_per_pair: float
    seed: int
    shots: int
    accuracy: float
    balanced_accuracy: float


@dataclass
class Demo:
    """All results, and what the table and the picture need besides, by task name."""

    results: list[DemoRun] = field(default_factory=list)
    majority: dict[str, float] = field(default_factory=dict)
    exact: dict[str, float] = field(default_factory=dict)
    diagnostics: dict[str, Diagnostics] = field(default_factory=dict)
    """From the counts of an adaptive run."""
    true_diagnostics: dict[str, Diagnostics] = field(default_factory=dict)
    """From the exact kernel, which is unknown before the shots are bought."""
    heatmaps: dict[str, FloatArray] = field(default_factory=dict)
    """Shots per pair of a small planted run, by allocator, anchors in the top left."""

    def mean(
        self, task: str, reading: str, allocator: str, shots_per_pair: float, measure: str
    ) -> tuple[float, float | None]:
        """Return the mean over seeds of a result's ``measure``, and its standard error, if any."""
        key = (task, reading, allocator, shots_per_pair)
        values = [
            getattr(r, measure)
            for r in self.results
            if (r.task, r.reading, r.allocator, r.shots_per_pair) == key
        ]
        if len(values) == 1:
            return values[0], None
        return float(np.mean(values)), float(np.std(values, ddof=1)) / len(values) ** 0.5


def count_runs(seeds: int) -> int:
    """Return how many runs the demo makes."""
    return len(TASKS) * len(READINGS) * len(ALLOCATORS) * len(SHOTS_PER_PAIR) * seeds


def run_demo(seeds: int, on_run: Callable[[DemoRun], None]) -> Demo:
    """Run every task, reading, allocator and budget for a number of seeds."""
    demo = Demo()
    for make_task in TASKS:
        tasks = [make_task(seed) for seed in range(seeds)]
        name = tasks[0].name
        demo.majority[name] = float(np.mean([task.majority_accuracy for task in tasks]))
        demo.exact[name] = float(np.mean([_exact_accuracy(task) for task in tasks]))
        kinds = product(enumerate(tasks), READINGS, ALLOCATORS, SHOTS_PER_PAIR)
        for (seed, task), reading, allocator, shots in kinds:
            session = _spend(task, reading, allocator, shots, seed)
            table, problem, truth = session.table, session.problem, task.test_labels
            predicted = session.fit(problem.reading.learner).predict(task.test_kernel)
            accuracy, balanced = np.mean(predicted == truth), balanced_accuracy(truth, predicted)
            key = (name, reading, allocator, shots, seed, table.total)
            demo.results.append(DemoRun(*key, float(accuracy), balanced))
            on_run(demo.results[-1])
            if (reading, allocator, shots, seed) == ("fair", "aqka", TABLE_SHOTS_PER_PAIR, 0):
                demo.diagnostics[name] = diagnose(table, problem)
                demo.true_diagnostics[name] = diagnose(table, problem, task.kernel)
    for allocator in HEATMAPS:
        demo.heatmaps[allocator] = _small_planted_shots(allocator)
    return demo


def _spend(
    task: Task, reading: str, allocator: str, shots_per_pair: float, seed: int = 0
) -> Training:
    n_points = len(task.y)
    return acquire(
        MatrixBackend(task.kernel, seed=seed),
        task.y,
        int(shots_per_pair * (n_points * (n_points + 1) // 2)),  # with the diagonal
        allocator,
        ridge=task.ridge,
        reading=reading,
        true_kernel=task.kernel,
        seed=seed,
    )


def _small_planted_shots(allocator: str) -> FloatArray:
    """Return the shots of the paper's heat map (its Fig. 4: 30 points, 4 anchors, 10 a pair)."""
    task = planted_sparse(n_train=30, n_anchors=HEATMAP_ANCHORS)
    table = _spend(task, "paper", allocator, 10).table
    order = np.concatenate([task.anchors, np.setdiff1d(np.arange(30), task.anchors)])
    return np.asarray(table.square(table.shots.astype(np.float64))[np.ix_(order, order)])


def _exact_accuracy(task: Task) -> float:
    """Return the accuracy of the same head on the exact kernel, at the task's ridge."""
    alpha = np.linalg.solve(task.kernel + task.ridge * np.eye(len(task.y)), task.y)
    predicted = labels_of(task.test_kernel @ alpha, np.array([-1.0, 1.0]))
    return float(np.mean(predicted == task.test_labels))
