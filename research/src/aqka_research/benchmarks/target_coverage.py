"""How often a regression's 90 % intervals hold the targets of new points, by shots on both.

``python -m aqka_research.benchmarks.models_page`` writes it into docs/measured/models.md; alone it
is ``python -m aqka_research.benchmarks.target_coverage``. The tasks are all regressions of the
suite that a circuit has; nothing about the intervals was chosen on any of them.
"""

import warnings
from typing import NamedTuple

import numpy as np

from aqka import QuantumRidge
from aqka._util.arrays import FloatArray
from aqka_research.markdown import table
from aqka_research.suite import HALVES, N_TEST, SUITE, QuantumTask, SuiteTask
from aqka_research.suite_data import SOURCES, choose

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


def coverage(named: SuiteTask, design: str, shots: int, seed: int) -> tuple[float, float]:
    """Return the share of new targets within their interval, and the mean squared error."""
    found = drawn(named, seed)
    n = found.n_train
    model = QuantumRidge(found.task.feature_map(), budget=shots * n, design=design, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of few shots on pairs
        model.fit(found.X[:n], found.y[:n])
    budget = shots * len(found.X[n:])
    mean, deviation = model.predict(found.X[n:], budget=budget, return_std=True)
    away = np.abs(found.y[n:] - mean)
    return float(np.mean(away <= QUANTILE * deviation)), float(np.mean(away**2))


def coverage_table() -> str:
    """Measure all tasks, and return a Markdown table of means over tasks and seeds."""
    rows = []
    for design in ("points", "pairs"):
        for shots in SHOTS:
            cells, every = [], []
            for half in HALVES:
                of_half = [
                    np.mean([coverage(task, design, shots, seed) for seed in SEEDS], axis=0)
                    for task in regressions()
                    if task.half == half
                ]
                every += of_half
                cells.append(f"{np.mean(of_half, axis=0)[0]:.1%} of {len(of_half)}")
            shares = [share for share, _ in every]
            low, high = min(shares), max(shares)
            error = np.std(shares, ddof=1) / np.sqrt(len(shares))
            cells.append(f"{np.mean(shares):.1%} ± {error:.1%}")
            rows.append((design, str(shots), *cells, f"{low:.0%} to {high:.0%}"))
            print(rows[-1], flush=True)
    return table(
        ("design", "shots a point", *(f"{half} tasks" for half in HALVES), "all", "single tasks"),
        rows,
    )


if __name__ == "__main__":
    print(coverage_table())
