"""Two tasks, the paper's allocators side by side, and whether adaptivity paid."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from aqka._util.arrays import FloatArray
from aqka._util.colours import BLACK, GREY, HEAT_MAP, NOTE
from aqka.backends import MatrixBackend
from aqka.insight.diagnostics import Diagnostics, diagnose
from aqka.learners import labels_of
from aqka.maths.metrics import balanced_accuracy
from aqka.sessions import Training, acquire
from aqka_research.style import METHODS
from aqka_research.tasks import Task, breast_cancer, planted_sparse

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
ABOUT = (
    "Test accuracy ± standard error. Fixed ridge: the paper's learner, diagonal measured. "
    "Tuned ridge: the same cross-validated learner for all, diagonal known.\n"
    "A small fixed ridge does not damp the shot noise that the inverse amplifies, so accuracy "
    "can fall as shots grow;\nnystrom and hybrid reconstruct with it even where the learner is "
    "tuned."
)


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


def demo_facts(finished: Demo) -> dict[str, object]:
    """Return all results as plain values, for JSON."""
    found = {
        "diagnostics": finished.diagnostics,
        "exact_kernel_diagnostics": finished.true_diagnostics,
    }
    return {
        "results": [asdict(result) for result in finished.results],
        "majority_accuracy": finished.majority,
        "exact_kernel_accuracy": finished.exact,
        **{
            name: {task: asdict(one) | {"advice": one.advice} for task, one in tasks.items()}
            for name, tasks in found.items()
        },
    }


def draw_demo(demo: Demo, path: Path) -> None:
    """Draw the results and save them as a PNG."""
    with mpl.rc_context({"font.size": 9}):
        figure = Figure(figsize=(12, 8.4), layout="constrained")
        halves: Any = figure.subfigures(2, 1, height_ratios=(1.1, 1))
        top, bottom = halves
        curves = top.subplots(1, len(demo.majority), sharey=True, squeeze=False)[0]
        for axes, task in zip(curves, demo.majority, strict=True):
            _draw_curves(axes, demo, task)
        handles, labels = axes.get_legend_handles_labels()
        top.legend(handles, labels, loc="outside lower center", ncols=8, frameon=False)
        panels = bottom.subplots(1, len(HEATMAPS))
        largest = max(shots.max() for shots in demo.heatmaps.values())
        for axes, allocator in zip(panels, HEATMAPS, strict=True):
            image = _draw_heatmap(axes, demo, allocator, largest)
        bottom.colorbar(image, ax=panels.tolist(), label="shots on the pair", shrink=0.9)
        figure.savefig(path, dpi=130)


def _draw_curves(axes: Axes, demo: Demo, task: str) -> None:
    budgets = sorted({result.shots_per_pair for result in demo.results})
    for allocator in ALLOCATORS:
        accuracies = [
            demo.mean(task, "fair", allocator, budget, "accuracy")[0] for budget in budgets
        ]
        axes.plot(budgets, accuracies, ms=5, label=allocator, **METHODS[allocator])
    fixed = [demo.mean(task, "paper", "uniform", budget, "accuracy")[0] for budget in budgets]
    axes.plot(budgets, fixed, color=BLACK, ls=":", label="uniform, fixed ridge")
    for height, what in (
        (demo.majority[task], "majority class"),
        (demo.exact[task], "exact kernel"),
    ):
        axes.axhline(height, color=GREY, lw=1, ls="--")
        axes.text(budgets[0], height, what, color=NOTE, va="bottom")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xscale("log")
    axes.set_xticks(budgets, [f"{budget:g}" for budget in budgets])
    axes.minorticks_off()
    axes.set_xlabel("budget, shots per pair")
    axes.set_ylabel("test accuracy")
    axes.set_title(f"{task}: same tuned learner for all", fontsize=10)


def _draw_heatmap(axes: Axes, demo: Demo, name: str, largest: float) -> mpl.image.AxesImage:
    shots = np.ma.masked_equal(demo.heatmaps[name], 0)
    image = axes.imshow(shots, norm=LogNorm(1, largest), cmap=HEAT_MAP, interpolation="nearest")
    edge = HEATMAP_ANCHORS - 0.5
    axes.axhline(edge, color="white", lw=1)
    axes.axvline(edge, color="white", lw=1)
    axes.set_title(f"{name}, small planted task: white = no shot", fontsize=10)
    axes.set_xlabel(f"30 training points, the {HEATMAP_ANCHORS} anchors first")
    return image
