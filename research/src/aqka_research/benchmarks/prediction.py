"""Shots for prediction on held-out tasks: what reading, allocation and stopping save, coverage.

The rules were chosen on other tasks; every published row is of the confirmation half.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from aqka import MatrixBackend, Problem, Training, acquire
from aqka._util.arrays import FloatArray
from aqka._util.text import counted
from aqka.core.pairs import BlockTable
from aqka.core.plans import ShotPlan
from aqka.designs import KernelEstimate, Settle
from aqka.insight.intervals import with_total_interval
from aqka.learners import DEFAULT_LEARNER, FittedHead, make_learner
from aqka.planning import split_budget
from aqka.sessions import Prediction, predict
from aqka_research.benchmarks.bars import Bar, bar_table
from aqka_research.benchmarks.classical import controls
from aqka_research.circuit_tasks import by_kind, circuit_tasks, draw, points_of
from aqka_research.figures.page import PageRun
from aqka_research.markdown import mean_and_error, table
from aqka_research.suite import N_TEST, Half
from aqka_research.sweep.store import Cell, Result, stable_name
from aqka_research.tasks import Task

MOST_POINTS = 100
"""Training points of the tasks that are looked at."""
FEW_POINTS = 60
"""Training points of the tasks that intervals and splits are measured on, many times over."""
TRAINING_SHOTS = 16  # a pair
LEVELS = [4.0**k for k in range(6)]  # test shots a pair
AGREEMENTS = (0.9, 0.95)
LEARNERS = (DEFAULT_LEARNER, "svm")
SEEDS = 3
WAYS = ("equally, as measured", "equally, linear Bayes", "allocated", "with stopping at 5 %")
NEVER = 1e-300  # an error rate at which no point is settled
SHARES = (0.1, 0.3, 0.5, 0.7)  # of a budget for training, beside the recommended one
SHOTS_IN_ALL = (2, 10)  # for each pair, of training and of new points
NEW_POINTS = (10, 60, 150)
COVERED = (("ridge", 16), ("svm", 16), ("ridge-kfold", 4), ("ridge-kfold", 64), ("ridge-noise", 16))
"""Learners and training shots a pair of the total interval."""


def tasks_of(half: Half, most: int) -> list[str]:
    """Return a half's tasks with a circuit, classes and at most so many points."""
    return [name for name in circuit_tasks(half) if points_of(name) <= most]


def train_equally(task: Task, shots_a_pair: int, seed: int) -> Training:
    """Return a session that spent its shots equally on the training pairs."""
    n_pairs = len(task.y) * (len(task.y) - 1) // 2
    backend = MatrixBackend(task.kernel, seed=seed)
    return acquire(backend, task.y, shots_a_pair * n_pairs, "uniform", ridge=task.ridge, seed=seed)


def measure_equally(task: Task, shots_a_pair: int, seed: int) -> BlockTable:
    """Return a test block with the same shots on every pair."""
    block = BlockTable(*task.test_kernel.shape)
    rows, cols = (axis.ravel() for axis in np.indices(task.test_kernel.shape))
    plan = ShotPlan(rows, cols, np.full(len(rows), shots_a_pair))
    backend = MatrixBackend(task.test_kernel, rectangular=True, seed=seed)
    block.add(plan, backend.collect(backend.submit(plan, "equal")))
    return block


def spend(head: FittedHead, task: Task, shots: float, error_rate: float, seed: int) -> Prediction:
    """Return the prediction of one budget, in shots a pair."""
    backend = MatrixBackend(task.test_kernel, rectangular=True, seed=seed)
    budget, stop = int(shots * task.test_kernel.size), Settle(error_rate)
    found: Prediction = predict(head, backend, budget, stop=stop)
    return found


def drawn(cell: Cell) -> Task:
    """Return the task of a cell, with signs as targets and as many new points as it says."""
    task = draw(cell["task"], cell["seed"])
    n = cell.get("new_points", len(task.test_labels))
    y = np.sign(task.y) + (task.y == 0)
    return replace(task, y=y, test_kernel=task.test_kernel[:n], test_labels=task.test_labels[:n])


@stable_name("benchmarks.prediction:savings")
def savings(cell: Cell) -> Result:
    """Return shots a pair and agreement with exact test entries, for every way and level."""
    task, seed = drawn(cell), cell["seed"]
    head = train_equally(task, TRAINING_SHOTS, seed).fit(cell["learner"])
    exact = head.predict(task.test_kernel)
    f = head.decision_function(task.test_kernel)

    def equally(as_measured: bool) -> Callable[[float], tuple[float, float]]:
        def outcome(n: float) -> tuple[float, float]:
            decided = _decided(head, measure_equally(task, int(n), seed), as_measured)
            return n, float(np.mean(head.labels(decided) == exact))

        return outcome

    def by_session(error_rate: float) -> Callable[[float], tuple[float, float]]:
        def outcome(n: float) -> tuple[float, float]:
            found = spend(head, task, n, error_rate, seed)
            return float(found.table.shots.mean()), float(np.mean(found.labels == exact))

        return outcome

    outcomes = (equally(True), equally(False), by_session(NEVER), by_session(0.05))
    block = measure_equally(task, TRAINING_SHOTS, seed)
    errors = [np.mean((_decided(head, block, plain) - f) ** 2) for plain in (True, False)]
    return {
        "curves": {
            way: [outcome(n) for n in cell["levels"]]
            for way, outcome in zip(WAYS, outcomes, strict=True)
        },
        "error_ratio": float(errors[0] / errors[1]),
    }


def _decided(head: FittedHead, block: BlockTable, as_measured: bool) -> FloatArray:
    """Return f by linear Bayes, or from the entries as they were measured."""
    if not as_measured:
        return head.decide(block).f
    plain = KernelEstimate(head.kernel, rows_are_alike=False)
    return plain.decide(head, block).f


def shots_needed(curves: FloatArray) -> FloatArray:
    """Return the shots at which each mean agreement is reached; NaN: not reached.

    ``curves`` are seeds × levels × (shots, agreement); levels are interpolated.
    """
    shots, agreement = np.mean(curves, axis=0).T
    rising = np.maximum.accumulate(agreement)
    found = np.exp(np.interp(AGREEMENTS, rising, np.log(shots)))
    return np.where(np.asarray(AGREEMENTS) <= rising[-1], found, np.nan)


@stable_name("benchmarks.prediction:coverage")
def coverage(cell: Cell) -> Result:
    """Return how often classes are settled wrongly, and how often both intervals cover."""
    task, seed, learner, shots = drawn(cell), cell["seed"], cell["learner"], cell["shots"]
    session = train_equally(task, shots, seed)
    head = session.fit(learner)
    truth, exact = head.predict(task.test_kernel), head.decision_function(task.test_kernel)
    small = [spend(head, task, n, 0.05, seed) for n in (2, 8)]
    found = spend(head, task, 10, 0.05, seed)
    best = make_learner(learner).fit(KernelEstimate(task.kernel), Problem(task.y, task.ridge))
    total = with_total_interval(found, session, learner, repetitions=12, seed=seed)
    assert total.total_low is not None
    assert total.total_high is not None
    return {
        "wrong": float(np.mean([p.settled & (p.labels != truth) for p in small])),
        "settled": float(np.mean([p.settled for p in small])),
        "shot": _share(found.low, found.high, exact),
        "total": _share(
            total.total_low, total.total_high, best.decision_function(task.test_kernel)
        ),
    }


def _share(low: FloatArray, high: FloatArray, truth: FloatArray) -> float:
    return float(np.mean((low <= truth) & (truth <= high)))


@stable_name("benchmarks.prediction:splits")
def splits(cell: Cell) -> Result:
    """Return the agreement with the exact kernel's labels at every share of training shots."""
    task, seed, n_new = drawn(cell), cell["seed"], cell["new_points"]
    n_train = len(task.y)
    budget = cell["shots"] * (n_train * (n_train - 1) // 2 + n_train * n_new)
    exact = make_learner("ridge-loo").fit(KernelEstimate(task.kernel), Problem(task.y, task.ridge))
    truth = exact.predict(task.test_kernel)
    found = []
    for share in (split_budget(budget, n_train, n_new, "pairs").train / budget, *SHARES):
        training = MatrixBackend(task.kernel, seed=seed)
        session = acquire(training, task.y, round(share * budget), "uniform", seed=seed)
        test = MatrixBackend(task.test_kernel, rectangular=True, seed=seed)
        predicted = predict(session.fit("ridge-loo"), test, budget - round(share * budget))
        found.append(float(np.mean(predicted.labels == truth)))
    return {"agreement": found}


def page(run: PageRun) -> list[str]:
    """Measure, and write the page."""
    half: Half = "confirmation" if run.size == "full" else "development"
    few = tasks_of(half, FEW_POINTS)
    names = run.pick(tasks_of(half, MOST_POINTS), few[:2], few[:1])
    few = run.pick(few, few[:1], few[:1])
    seeds = run.pick(SEEDS, 1, 1)
    return [
        "# Shots for prediction, measured",
        f"[What is measured here](../explanation/prediction.md). {half.capitalize()} tasks "
        f"({len(names)}) with at most {MOST_POINTS} training points and at most {N_TEST} new "
        "points each. The rules were chosen on [other tasks](held-out.md), some of them from the "
        "same data sets.",
        "## What reading, allocation and stopping save",
        f"Training gets {TRAINING_SHOTS} shots a pair. Figures are the test shots a pair needed "
        "for the share of exact labels in *agreement*: geometric means over tasks, in brackets how "
        "many times fewer than equal shots read as measured. *Tasks*: those on which every way "
        f"gets there within {LEVELS[-1]:,.0f} shots a pair. *Squared error of f*: how many times "
        "smaller it is with linear Bayes than as measured. The last two columns are the shares of "
        "exact labels that the best classical model (of four, for each task in hindsight) and the "
        "majority class give without a shot.",
        _savings_table(run, names, seeds),
        "## Wrong classes and coverage",
        _coverage_table(run, names, few, run.pick(8, 1, 1)),
        "## How to split a budget",
        f"Share of labels equal to those of the exact kernel, with {FEW_POINTS} training points "
        "and `ridge-loo`: means over tasks.",
        _split_table(run, few, seeds),
    ]


def _savings_table(run: PageRun, names: list[str], seeds: int) -> str:
    levels = run.pick(LEVELS, LEVELS[::2], LEVELS[:2])
    control = controls(run, names, seeds)
    rows = []
    for learner in run.pick(LEARNERS, LEARNERS[:1], LEARNERS[:1]):
        cells: list[Cell] = [
            {"task": name, "seed": seed, "learner": learner, "levels": levels}
            for name in names
            for seed in range(seeds)
        ]
        found = run.cells(savings, cells)
        for kind, those in by_kind(names).items():
            mine = [names.index(name) for name in those]
            needed = []
            for k in mine:
                results = found[k * seeds : (k + 1) * seeds]
                curves = {way: np.array([one["curves"][way] for one in results]) for way in WAYS}
                needed.append([shots_needed(curves[way]) for way in WAYS])
            ratio = np.mean(
                [np.log(one["error_ratio"]) for k in mine for one in found[k * seeds :][:seeds]]
            )
            for level, agreement in enumerate(AGREEMENTS):
                shots = np.array(needed)[:, :, level]
                reached = shots[np.all(np.isfinite(shots), axis=1)]
                rows.append(
                    (
                        f"`{learner}`, {kind}",
                        f"{agreement:.0%}",
                        f"{len(reached)} of {len(mine)}",
                        *_with_ratios(reached),
                        f"{np.exp(ratio):.1f} ×" if level == 0 else "",
                        *(
                            mean_and_error(control[names[k]][f"agreement, {which}"] for k in mine)
                            for which in ("classical", "majority")
                        ),
                    )
                )
    header = ("learner, tasks", "agreement", "tasks", *WAYS, "squared error of f")
    return table((*header, "classical, no shots", "majority class"), rows)


def _with_ratios(shots: FloatArray) -> list[str]:
    if not len(shots):
        return ["not reached"] * len(WAYS)
    means = np.exp(np.log(shots).mean(axis=0))
    return [f"{means[0]:.3g}", *(f"{one:.3g} ({means[0] / one:.1f} ×)" for one in means[1:])]


def _coverage_table(run: PageRun, names: list[str], few: list[str], seeds: int) -> str:
    def mean(tasks: list[str], learner: str, shots: int, new: int) -> dict[str, FloatArray]:
        cells: list[Cell] = [
            {"task": t, "seed": s, "learner": learner, "shots": shots, "new_points": new}
            for t in tasks
            for s in range(seeds)
        ]
        found = run.cells(coverage, cells)
        return {
            key: np.reshape([one[key] for one in found], (len(tasks), seeds)).mean(axis=1)
            for key in found[0]
        }

    every = mean(names, DEFAULT_LEARNER, TRAINING_SHOTS, 40)
    bars = []
    for kind, those in by_kind(names).items():
        at = [names.index(name) for name in those]
        wrong, shot, settled = (every[key][at] for key in ("wrong", "shot", "settled"))
        head = f"{kind} ({counted(len(at), 'task')})"
        bars += [
            Bar(
                f"{head}: points settled with the wrong class, 2 and 8 shots a pair",
                f"{wrong.mean():.2%} of all, {wrong.max():.2%} in the worst task "
                f"({settled.mean():.0%} settled)",
                "≤ 5 %",
                bool(wrong.mean() <= 0.05),
            ),
            Bar(
                f"{head}: 90 % interval from 10 test shots a pair",
                f"covers in {shot.mean():.1%}, from {shot.min():.1%} to {shot.max():.1%}",
                "85 to 95 %",
                bool(0.85 <= shot.mean() <= 0.95),
            ),
        ]
    for learner, shots in run.pick(COVERED, COVERED[-1:], COVERED[-1:]):
        covered = mean(few, learner, shots, 10)["total"]
        for kind, those in by_kind(few).items():
            total = covered[[few.index(name) for name in those]]
            bars.append(
                Bar(
                    f"{kind} ({counted(len(those), 'task')} of {FEW_POINTS} points), {learner}, "
                    f"{shots} training shots a pair: total 90 % interval",
                    f"covers in {total.mean():.1%}, {total.min():.1%} in the worst task",
                    "≥ 85 %",
                    bool(total.mean() >= 0.85),
                )
            )
    return bar_table(bars)


def _split_table(run: PageRun, few: list[str], seeds: int) -> str:
    control = controls(run, few, seeds)
    rows = []
    for n_new in run.pick(NEW_POINTS, NEW_POINTS[:1], NEW_POINTS[:1]):
        for shots in SHOTS_IN_ALL:
            cells: list[Cell] = [
                {"task": name, "seed": seed, "new_points": n_new, "shots": shots}
                for name in few
                for seed in range(seeds)
            ]
            every = np.array([one["agreement"] for one in run.cells(splits, cells)])
            by_task = every.reshape(len(few), seeds, -1).mean(axis=1)
            share = split_budget(10**6, FEW_POINTS, n_new, "pairs").train / 10**6
            for kind, those in by_kind(few).items():
                found = by_task[[few.index(name) for name in those]].mean(axis=0)
                free = (
                    np.mean([control[name][f"agreement, {which}"] for name in those])
                    for which in ("classical", "majority")
                )
                shown = (f"{one:.1%}" for one in (*found, *free))
                head = (f"{kind} ({len(those)})", str(n_new), str(shots), f"{share:.0%}")
                rows.append((*head, *shown))
    header = ("tasks", "new points", "shots a pair", "recommended", "agreement at that share")
    shares = (f"at {share:.0%}" for share in SHARES)
    return table((*header, *shares, "classical, no shots", "majority class"), rows)
