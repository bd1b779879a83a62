"""Our methods against the paper's, over eight tasks and five budgets, with the shots they save."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aqka._util.arrays import FloatArray, as_count
from aqka.allocators import make_allocator
from aqka.backends import MatrixBackend
from aqka.evaluation.compare.tasks import TASKS
from aqka.evaluation.results import Estimate, MissingError, Results, Row
from aqka.evaluation.spending import EXACT, MAJORITY, decision_row, exact_decision
from aqka.evaluation.tasks import Task
from aqka.sessions.acquire import acquire
from aqka.sweep.cells import OnCell, run_cells
from aqka.sweep.store import Cell, Result, stable_name

SHOTS_PER_PAIR = (0.3, 1.0, 3.0, 10.0, 30.0)
BASELINE_SHOTS_PER_PAIR = (0.1, *SHOTS_PER_PAIR, 100.0, 300.0, 1000.0)
"""Baselines are run further, to see how many shots they need to catch up."""

PAPER_METHODS = (
    "uniform",
    "random",
    "bernoulli",
    "leverage",
    "multinomial",
    "aqka",
    "shofar",
    "nystrom",
    "hybrid",
)
FIXED, TUNED = "uniform + ridge", "uniform + ridge-loo"
"""What libraries do today, and the same with a ridge chosen by leave-one-out on a wide grid."""
OURS = "auto + auto"
METHODS = (
    FIXED,
    "aqka + ridge",
    TUNED,
    *(f"{name} + ridge-kfold" for name in PAPER_METHODS),
    "uniform + auto",
    "predictive + auto",
    OURS,
)
SEEDS = 20


@stable_name("aqka.comparison:measure")
def measure(cell: Cell) -> Result:
    """Measure one seed of one task: every method at every budget."""
    task = TASKS[cell["task"]](cell["seed"])
    exact = exact_decision(task, "ridge-kfold")  # what all shots could buy
    rows: list[Row] = [
        {"method": EXACT} | decision_row(task, exact, exact),
        {
            "method": MAJORITY,
            "accuracy": task.majority_accuracy,
            "balanced_accuracy": 0.5,
            "correlation": 0.0,
        },
    ]
    by_allocator: dict[str, list[str]] = {}
    for method in METHODS:
        allocator, readout = method.split(" + ")
        by_allocator.setdefault(allocator, []).append(readout)
    for allocator, readouts in by_allocator.items():
        wanted = set(cell["budgets"])
        if allocator == "uniform":
            wanted |= set(cell["baseline_budgets"])
        for per_pair in sorted(wanted):
            rows += _method_rows(task, allocator, readouts, per_pair, cell, exact)
    return {"rows": rows}


def _method_rows(
    task: Task,
    allocator: str,
    readouts: Sequence[str],
    per_pair: float,
    cell: Cell,
    exact: FloatArray,
) -> list[Row]:
    """Spend one budget, and read it in several ways."""
    n_points = len(task.y)
    session = acquire(
        MatrixBackend(task.kernel, seed=cell["seed"]),
        task.y,
        max(1, round(per_pair * n_points * (n_points - 1) / 2)),
        make_allocator(allocator),
        ridge=task.ridge,
        seed=cell["seed"],
    )
    rows = []
    for readout in readouts:
        method = f"{allocator} + {readout}"
        if per_pair in cell["budgets"] or method in (FIXED, TUNED):
            decision = session.fit(readout).decision_function(task.test_kernel)
            row = decision_row(task, decision, exact)
            rows.append(row | {"method": method, "budget": per_pair})
    return rows


def compare(
    seeds: int = SEEDS,
    *,
    tasks: Sequence[str] = tuple(TASKS),
    budgets: Sequence[float] = SHOTS_PER_PAIR,
    baseline_budgets: Sequence[float] = BASELINE_SHOTS_PER_PAIR,
    store: Path | None = None,
    workers: int | None = None,
    on_cell: OnCell | None = None,
) -> "Comparison":
    """Run every method on every task and budget; see :func:`~aqka.sweep.cells.run_cells`."""
    cells: list[Cell] = [
        {
            "task": task,
            "seed": seed,
            "budgets": list(budgets),
            "baseline_budgets": list(baseline_budgets),
        }
        for seed in range(as_count(seeds, "seeds"))
        for task in tasks
    ]
    found = run_cells(measure, cells, store, workers=workers, on_cell=on_cell)
    rows = [
        row | {"task": cell["task"], "seed": cell["seed"]}
        for cell, result in zip(cells, found, strict=True)
        for row in result["rows"]
    ]
    return Comparison(Results(rows, "fair"), list(tasks), list(budgets))


@dataclass(frozen=True)
class ShotRatio:
    """How many times more shots a baseline needs; ``bound`` where it never got there."""

    value: float
    bound: bool


@dataclass(frozen=True, eq=False)
class Comparison:
    """All rows of a comparison, and what follows from them."""

    results: Results
    tasks: list[str]
    budgets: list[float]

    def overall(self, method: str, measure: str) -> Estimate:
        """Return a measure's mean over tasks and budgets; seeds are what the error counts."""
        conditions: dict[str, Any] = (
            {} if method in (EXACT, MAJORITY) else {"budget": self._is_asked_for}
        )
        return self.results.mean(measure, method=method, **conditions)

    def best_in_hindsight(self, measure: str) -> Estimate:
        """Return the mean of the best of the paper's methods, chosen in every task and budget."""
        names = [f"{name} + ridge-kfold" for name in PAPER_METHODS]
        best: dict[int, list[float]] = {}
        for task in self.tasks:
            for budget in self.budgets:
                cell = self.results.where(task=task, budget=budget)
                means = {name: cell.mean(measure, method=name).value for name in names}
                winner = max(means, key=lambda name: means[name])
                for seed, value in cell.where(method=winner).by_seed(measure).items():
                    best.setdefault(seed, []).append(value)
        return Estimate.of([float(np.mean(values)) for values in best.values()])

    def shot_ratio(self, task: str, budget: float, baseline: str) -> ShotRatio:
        """Return how many times more shots the baseline needs for our correlation.

        The baseline's means over seeds are made monotone by their running maximum and read in
        the logarithm of the budget, so that a lucky budget counts in its favour.
        """
        ours = self.results.where(task=task, budget=budget).mean("correlation", method=OURS).value
        curve = self.results.where(task=task).along(
            "budget", lambda r: r.mean("correlation"), method=baseline
        )
        budgets = np.array(list(curve))
        means = np.maximum.accumulate([estimate.value for estimate in curve.values()])
        if ours > means[-1]:
            return ShotRatio(float(budgets[-1] / budget), True)
        needed = np.exp(np.interp(ours, means, np.log(budgets)))
        return ShotRatio(float(needed / budget), False)

    def mean_ratio(self, baseline: str) -> ShotRatio:
        """Return the geometric mean over tasks and budgets; a bound if any of them is one."""
        found = [self.shot_ratio(t, b, baseline) for t in self.tasks for b in self.budgets]
        mean = float(np.exp(np.mean([np.log(ratio.value) for ratio in found])))
        return ShotRatio(mean, any(ratio.bound for ratio in found))

    def losses(self, measure: str = "correlation") -> list[dict[str, Any]]:
        """Return where ours is behind a single method by more than two standard errors."""
        lost = []
        for task in self.tasks:
            for budget in self.budgets:
                cell = self.results.where(task=task, budget=budget)
                for method in METHODS:
                    if method == OURS:
                        continue
                    try:
                        gap = cell.gain(method, OURS, measure) * 0.01
                    except MissingError:
                        continue
                    if gap.value > 2 * gap.error:
                        lost.append({"task": task, "budget": budget, "method": method, "by": gap})
        return lost

    def _is_asked_for(self, budget: float) -> bool:
        return budget in self.budgets
