"""How often a regression's 90 % intervals hold the targets of new points, by shots on both.

The tasks are all regressions of the suite that a circuit has, each half apart.
"""

import warnings
from typing import NamedTuple

import numpy as np

from aqka import QuantumRidge
from aqka._util.arrays import FloatArray
from aqka_research.figures.page import PageRun
from aqka_research.markdown import mean_and_error, table
from aqka_research.suite import HALVES, N_TEST, SUITE, QuantumTask, SuiteTask
from aqka_research.suite_data import SOURCES, choose
from aqka_research.sweep.store import Cell, Result, stable_name

QUANTILE = 1.6449  # of a normal law, 90 % within
SHOTS = (64, 512)  # of each training point and each new one
SEEDS = range(2)
N_NEW = 60


class Regression(NamedTuple):
    """Points of a suite's task with their real targets, the training points first."""

    task: QuantumTask
    X: FloatArray
    y: FloatArray
    n_train: int


def regressions() -> list[SuiteTask]:
    """Return the regressions of the suite that have a circuit."""
    return [task for task in SUITE.values() if task.kind == "regression" and task.is_quantum]


def drawn(named: SuiteTask, seed: int, n_new: int = N_NEW) -> Regression:
    """Return a task's points with targets, of which the suite keeps only the new points' signs."""
    task = named.draw(seed)
    assert isinstance(task, QuantumTask)
    _, target = SOURCES[named.source].draw(seed, named.features)
    assert target is not None
    rng = np.random.default_rng([seed, *named.name.encode()])
    y = target[choose(target, named.points, N_TEST, None, rng)]
    n = named.points
    y = (y - y[:n].mean()) / y[:n].std()
    assert np.array_equal(y[:n], task.y)
    return Regression(task, np.vstack([task.X, task.test_X])[: n + n_new], y[: n + n_new], n)


@stable_name("benchmarks.target_coverage:measure")
def measure(cell: Cell) -> Result:
    """Return the share of new targets within their interval."""
    seed, shots = cell["seed"], cell["shots"]
    found = drawn(SUITE[cell["task"]], seed)
    n = found.n_train
    budget, design = shots * n, cell["design"]
    model = QuantumRidge(found.task.feature_map(), budget=budget, design=design, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of few shots on pairs
        model.fit(found.X[:n], found.y[:n])
    budget = shots * len(found.X[n:])
    mean, deviation = model.predict(found.X[n:], budget=budget, return_std=True)
    return {"share": float(np.mean(np.abs(found.y[n:] - mean) <= QUANTILE * deviation))}


def coverage_table(run: PageRun) -> str:
    """Measure all tasks, and return a Markdown table of means over tasks and seeds."""
    shown = HALVES if run.size == "full" else HALVES[:1]
    tasks = [task for task in regressions() if task.half in shown][: run.pick(None, 2, 1)]
    seeds, levels = run.pick((SEEDS, SHOTS), (range(1), SHOTS[:1]), (range(1), SHOTS[:1]))
    rows = []
    for design in ("points", "pairs"):
        for shots in levels:
            settings = {"design": design, "shots": shots}
            cells = [{"task": task.name, "seed": s, **settings} for task in tasks for s in seeds]
            found = [one["share"] for one in run.cells(measure, cells)]
            shares = np.reshape(found, (len(tasks), len(seeds))).mean(axis=1)
            row = [design, str(shots)]
            for half in shown:
                mine = [s for s, task in zip(shares, tasks, strict=True) if task.half == half]
                row.append(f"{mean_and_error(mine)} ({len(mine)})")
            rows.append([*row, f"{min(shares):.0%} to {max(shares):.0%}"])
    halves = (f"{half} tasks (how many)" for half in shown)
    return table(("design", "shots a point", *halves, "single tasks"), rows)
