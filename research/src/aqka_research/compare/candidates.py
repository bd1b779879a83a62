"""The default learner beside those that were not taken, on the tasks it was chosen on."""

from collections.abc import Callable

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.backends import MatrixBackend
from aqka.core.problem import Problem
from aqka.designs import PairEstimate
from aqka.learners import make_learner
from aqka.learners.ridge import (
    RIDGE_GRID,
    SMALLEST_RIDGE,
    best_loo_ridge,
    kfold_errors,
    loo_errors,
    ridge_above_noise,
)
from aqka.maths.spectrum import Spectrum
from aqka.sessions import acquire
from aqka_research.benchmarks.classical import MAJORITY, controls
from aqka_research.compare.comparison import QUICK_TASKS, SHOTS_PER_PAIR, draw, tasks_of
from aqka_research.compare.findings import Comparison, is_planted
from aqka_research.compare.page import ratio_text
from aqka_research.figures.page import PageRun
from aqka_research.markdown import table
from aqka_research.results import Results, Row
from aqka_research.spending import decision_row, exact_decision
from aqka_research.suite import SUITE
from aqka_research.sweep.store import Cell, Result, stable_name

SEEDS = 4
BASELINE, DEFAULT, HINDSIGHT = "leave-one-out", "`ridge-noise`", "best ridge in hindsight"
BASELINE_SHOTS = (0.1, *SHOTS_PER_PAIR, 100.0, 300.0)
FLOORS, TOLERANCES, EDGES = (0.15, 0.25, 0.4), (0.5, 1.0), (0.25, 0.5, 1.0)
ALLOCATORS = ("aqka", "shofar", "bernoulli", "leverage", "predictive")
BALANCED = "balanced"
WIDE = np.geomspace(1e-4, 1e3, 71)


class Reading:
    """What a rule may look at: one decomposition, the targets and the noise of the shots."""

    def __init__(self, estimate: PairEstimate, problem: Problem) -> None:
        self.problem, self.kernel = problem, estimate.kernel
        self.spectrum = Spectrum.of(estimate.kernel)
        self.variance = estimate.mean_variance() or 0.0
        self.edge = float(2 * np.sqrt(self.variance * problem.n_points))

    def above(self, floor: float, tolerance: float = 0.0) -> float:
        """Return the smallest ridge above a floor that is as good as any, by leave-one-out."""
        lowest = max(floor * self.edge, SMALLEST_RIDGE)
        ridges = np.geomspace(lowest, 10 * max(self.problem.n_points, lowest), 60)
        squared = loo_errors(self.spectrum, self.problem.outputs, ridges)
        means = squared.mean(axis=0)
        best = int(np.argmin(means))
        spread = np.std(squared - squared[:, [best]], axis=0) / np.sqrt(len(squared))
        return float(ridges[np.argmax(means - means[best] <= tolerance * spread)])

    def evidence(self) -> float:
        """Return the ridge of the largest marginal likelihood, its scale taken out."""
        y, values = self.problem.outputs[:, 0], self.spectrum.values[:, None] + WIDE
        turned = (self.spectrum.vectors.T @ y)[:, None] ** 2
        score = len(y) * np.log(np.sum(turned / values, axis=0)) + np.log(values).sum(axis=0)
        return float(WIDE[np.argmin(score)])

    def corrected(self) -> float:
        """Return the ridge of the smallest leave-one-out error less the rows' own shot noise."""
        y = self.problem.outputs
        squared = loo_errors(self.spectrum, y, WIDE).mean(axis=0)
        alpha = [np.sum(self.spectrum.solve(y, ridge) ** 2) for ridge in WIDE]
        return float(WIDE[np.argmin(squared - self.variance * np.array(alpha))])

    def folds(self) -> float:
        """Return the ridge of five-fold cross-validation."""
        ridges = np.asarray(RIDGE_GRID)
        return float(ridges[np.argmin(kfold_errors(self.kernel, self.problem.outputs, ridges))])


RULES: dict[str, Callable[[Reading], float]] = {
    BASELINE: lambda r: best_loo_ridge(r.spectrum, r.problem.outputs),
    DEFAULT: lambda r: ridge_above_noise(r.spectrum, r.problem, r.variance),
    **{f"floor at {c:g} of the noise": lambda r, c=c: r.above(c) for c in FLOORS},  # type: ignore[misc]
    **{
        f"floor at 0.25, within {t:g} standard error{'s' * (t != 1)}": lambda r, t=t: r.above(
            0.25, t
        )  # type: ignore[misc]
        for t in TOLERANCES
    },
    "evidence": Reading.evidence,
    "leave-one-out less the rows' noise": Reading.corrected,
    "five folds": Reading.folds,
    **{f"ridge fixed at {c:g} of the noise": lambda r, c=c: c * r.edge for c in EDGES},  # type: ignore[misc]
}


@stable_name("aqka.candidates:measure")
def measure(cell: Cell) -> Result:
    """Return a row of scores for every rule and budget, and for every allocator."""
    task, seed = draw(cell["task"], cell["seed"]), cell["seed"]
    exact = exact_decision(task, "ridge-kfold")
    n_pairs = len(task.y) * (len(task.y) - 1) // 2
    rows: list[Row] = []

    def spend(allocator: str, budget: float) -> PairEstimate:
        backend, shots = MatrixBackend(task.kernel, seed=seed), max(1, round(budget * n_pairs))
        session = acquire(backend, task.y, shots, allocator, ridge=task.ridge, seed=seed)
        estimate = session.estimate()
        assert isinstance(estimate, PairEstimate)
        return estimate

    def keep(method: str, budget: float, f: FloatArray) -> None:
        rows.append(decision_row(task, f, exact) | {"method": method, "budget": budget})

    problem = Problem(task.y, task.ridge)
    for budget in sorted({*cell["budgets"], *cell["baseline_budgets"]}):
        estimate = spend("uniform", budget)
        reading = Reading(estimate, problem)
        rules = RULES if budget in cell["budgets"] else {BASELINE: RULES[BASELINE]}
        for method, rule in rules.items():
            keep(method, budget, task.test_kernel @ _solved(reading, rule(reading)))
        if budget in cell["budgets"]:
            every = [task.test_kernel @ _solved(reading, ridge) for ridge in WIDE[::3]]
            scores = [decision_row(task, f, exact)["correlation"] for f in every]
            keep(HINDSIGHT, budget, every[int(np.argmax(scores))])
            if problem.has_classes:
                head = make_learner(BALANCED).fit(estimate, problem)
                keep(BALANCED, budget, head.decision_function(task.test_kernel))
    for allocator in cell["allocators"]:
        for budget in cell["budgets"]:
            reading = Reading(spend(allocator, budget), problem)
            ridge = ridge_above_noise(reading.spectrum, problem, reading.variance)
            keep(f"`{allocator}` shots", budget, task.test_kernel @ _solved(reading, ridge))
    return {"rows": rows}


def _solved(reading: Reading, ridge: float) -> FloatArray:
    return reading.spectrum.solve(reading.problem.outputs[:, 0], ridge)


def page(run: PageRun) -> list[str]:
    """Measure every candidate on the development tasks, and write the page."""
    every = tasks_of("development")
    tasks = run.pick(every, QUICK_TASKS, QUICK_TASKS[-1:])
    budgets = run.pick(SHOTS_PER_PAIR, (1.0, 10.0), (1.0,))
    settings = {
        "budgets": list(budgets),
        "baseline_budgets": list(run.pick(BASELINE_SHOTS, (1.0, 10.0, 100.0), (1.0, 10.0))),
        "allocators": list(run.pick(ALLOCATORS, ALLOCATORS[:1], ())),
    }
    cells: list[Cell] = [
        {"task": task, "seed": seed, **settings}
        for seed in range(run.pick(SEEDS, 2, 2))
        for task in tasks
    ]
    rows = [
        row | {"task": cell["task"], "seed": cell["seed"]}
        for cell, one in zip(cells, run.cells(measure, cells), strict=True)
        for row in one["rows"]
    ]
    found = Comparison(Results(rows, "fair"), list(tasks), list(budgets), BASELINE)
    return [
        "# How the default learner was chosen",
        f"{len(tasks)} development tasks, {run.pick(SEEDS, 2, 2)} seeds, {budgets[0]:g} to "
        f"{budgets[-1]:g} shots a pair, even shots unless said otherwise. *Shots*: how many times "
        f"more *{BASELINE}* needs for the same correlation with the exact predictor, geometric "
        "means over tasks and budgets. *Cells* are pairs of task and budget, lost or won by more "
        "than two standard errors. *The noise* is the largest eigenvalue that shot noise alone "
        "would have; a *floor* is the smallest ridge that leave-one-out errors may choose, and a "
        "*fixed* ridge is not chosen by them. Choices were made on these tasks, so the figures "
        "flatter what was chosen; those to quote are of the [confirmation half](comparison.md).",
        table(
            ("method", "shots, not planted", "shots, planted", "shots, all", "lost", "won"),
            [_row(found, method) for method in found.methods if method != BALANCED],
        ),
        "## Rare classes",
        "Balanced accuracy of the default and of `balanced`, means over budgets, beside the best "
        "classical model ([of four, in hindsight](classical.md)), which needs no shots.",
        table(
            ("tasks", DEFAULT, f"`{BALANCED}`", "best classical model", MAJORITY), _rare(found, run)
        ),
    ]


def _row(found: Comparison, method: str) -> tuple[str, ...]:
    ratios = (
        found.mean_ratio(method, which)
        for which in (lambda t: not is_planted(t), is_planted, lambda t: True)
    )
    gaps = found.gaps(method)
    shares = (f"{found.share(gaps, how):.0%}" for how in ("lost", "won"))
    return (method, *map(ratio_text, ratios), *shares)


def _rare(found: Comparison, run: PageRun) -> list[tuple[str, ...]]:
    """Return balanced accuracies by the share of the rarer class."""
    groups: dict[str, list[str]] = {}
    for task in found.tasks:
        if task in SUITE and SUITE[task].kind in ("classes", "own"):
            share = SUITE[task].share
            name = "as the data have it" if share is None else f"{share:.0%} positive"
            groups.setdefault(name, []).append(task)
    rows = []
    for name, tasks in sorted(groups.items()):
        means = (
            np.mean(
                [
                    found.results.mean(
                        "balanced_accuracy",
                        task=task,
                        method=method,
                        budget=lambda b: b in found.budgets,
                    ).value
                    for task in tasks
                ]
            )
            for method in (DEFAULT, BALANCED)
        )
        control = controls(run, tasks, run.pick(SEEDS, 2, 2)).values()
        free = (
            np.mean([one[f"balanced, {which}"] for one in control])
            for which in ("classical", "majority")
        )
        rows.append((f"{name} ({len(tasks)} tasks)", *(f"{m:.3f}" for m in (*means, *free))))
    return rows
