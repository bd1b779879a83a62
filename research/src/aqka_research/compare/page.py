"""The comparison's page: targets, tables of means, and of the shots that are saved."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student_t

from aqka_research.benchmarks.classical import controls
from aqka_research.circuit_tasks import by_kind
from aqka_research.compare.comparison import (
    BASELINE_SHOTS_PER_PAIR,
    FIXED,
    OURS,
    QUICK_TASKS,
    SHOTS_PER_PAIR,
    TUNED,
    compare,
    tasks_of,
)
from aqka_research.compare.findings import Comparison, ShotRatio, is_planted
from aqka_research.compare.tasks import TASKS
from aqka_research.figures.page import PageRun
from aqka_research.markdown import mean_and_error, table
from aqka_research.spending import EXACT, MAJORITY
from aqka_research.suite import HALVES, SUITE, half_of_suite
from aqka_research.suite_data import SOURCES
from aqka_research.suite_maps import CIRCUITS, CLASSICAL
from aqka_research.sweep.store import Result

MEASURES = ("accuracy", "balanced_accuracy", "correlation")
FREE = "best classical model"
HINDSIGHT = "best of these in every cell, in hindsight"
ALL_RATIO, REAL_RATIO, MOST_LOST = 1.3, 1.0, 0.05  # targets of the default
SEEDS = 20


@dataclass(frozen=True)
class Aim:
    """One figure of the default beside its target; ``what`` is a sentence that has the figure."""

    what: str
    found: float
    target: str
    reached: bool

    def __str__(self) -> str:
        """Write it as a sentence."""
        verdict = "reached" if self.reached else "**not reached**"
        return f"{self.what} (target: {self.target}; {verdict})."


def aims(found: Comparison) -> list[Aim]:
    """Return the default's targets against uniform shots with a leave-one-out ridge."""
    real = found.mean_ratio(OURS, lambda task: not is_planted(task))
    every = found.mean_ratio(OURS)
    lost = found.share(found.gaps(OURS), "lost")
    ours, theirs = (found.overall(name, "balanced_accuracy") for name in (OURS, TUNED))
    return [
        Aim(
            f"`{TUNED}` needs {_said(real)} times as many shots as `{OURS}` for the same "
            "correlation, as a geometric mean over tasks that are not planted",
            real.value,
            f"≥ {REAL_RATIO}",
            real.value >= REAL_RATIO,
        ),
        Aim(
            f"Over all tasks it needs {_said(every)} times as many",
            every.value,
            f"≥ {ALL_RATIO}",
            every.value >= ALL_RATIO,
        ),
        Aim(
            f"`{OURS}` is behind `{TUNED}` in correlation by more than two standard errors in "
            f"{lost:.1%} of the pairs of task and budget",
            lost,
            f"≤ {MOST_LOST:.0%}",
            lost <= MOST_LOST,
        ),
        Aim(
            f"Mean balanced accuracy: {ours.value:.4f}, against {theirs.value:.4f} for `{TUNED}`",
            ours.value,
            f"≥ {theirs.value:.4f}",
            ours.value >= theirs.value,
        ),
    ]


def ratio_text(ratio: ShotRatio) -> str:
    """Write a shot ratio."""
    if math.isnan(ratio.value):
        return ""
    digits = f"{ratio.value:.2f}" if ratio.value < 100 else f"{ratio.value:.0f}"
    return f"> {digits}" if ratio.bound else digits


def _said(ratio: ShotRatio) -> str:
    return ratio_text(ratio).replace(">", "more than")


def overall_rows(
    found: Comparison, control: dict[str, Result] | None = None
) -> list[tuple[str, ...]]:
    """Return method, means, shot ratios and cells lost and won, as texts."""
    rows = []
    for method in found.methods:
        gaps = found.gaps(method)
        ratios = (
            found.mean_ratio(method, which)
            for which in (lambda t: not is_planted(t), is_planted, lambda t: True)
        )
        shares = (f"{found.share(gaps, how):.0%}" for how in ("lost", "won"))
        means = (str(found.overall(method, measure)) for measure in MEASURES)
        rows.append((method, *means, *map(ratio_text, ratios), *shares))
    rest = ("",) * 5
    best = (HINDSIGHT, *(str(found.best_in_hindsight(m)) for m in MEASURES), *rest)
    plain = [
        (name, *(str(found.overall(name, measure)) for measure in MEASURES), *rest)
        for name in (EXACT, MAJORITY)
    ]
    if control:
        means = (
            f"{np.mean([one[f'{what}, classical'] for one in control.values()]):.3f}"
            for what in ("accuracy", "balanced")
        )
        plain.append((f"{FREE}, {len(control)} tasks", *means, "", *rest))
    return [*rows, best, *plain]


HEADINGS = (
    "method",
    "accuracy",
    "balanced accuracy",
    "correlation",
    "shots, not planted",
    "shots, planted",
    "shots, all",
    "cells lost",
    "cells won",
)


def page(run: PageRun) -> list[str]:
    """Compare on the held-out tasks, and write the page."""
    half = run.pick("confirmation", "development", "development")
    tasks = run.pick(tasks_of(half), QUICK_TASKS, QUICK_TASKS[:1])
    found = compare(
        run.pick(SEEDS, 2, 2),
        tasks=tasks,
        budgets=run.pick(SHOTS_PER_PAIR, (1.0, 10.0), (1.0,)),
        baseline_budgets=run.pick(BASELINE_SHOTS_PER_PAIR, (1.0, 10.0, 100.0), (1.0, 10.0)),
        cells_of=run.cells,
    )
    in_suite = [task for task in tasks if task in SUITE]
    return comparison_blocks(found, half, controls(run, in_suite, run.pick(5, 1, 1)))


def comparison_blocks(
    found: Comparison, half: str, control: dict[str, Result] | None = None
) -> list[str]:
    """Return the page of a half; ``control`` says what needs no shots on tasks of the suite."""
    return [
        "# Comparison" if half == "confirmation" else "# Comparison on development tasks",
        *_introduction(found, half),
        "\n".join(f"- {aim}" for aim in aims(found)),
        *(_kinds(found, control) if control else []),
        _remarks(found),
        "## Means over all tasks and budgets",
        f"*Shots*: how many times more `{TUNED}` needs for the same correlation (geometric mean; "
        "“>”: on some task the baseline did not reach it with the most shots tried). *Cells* are "
        f"pairs of task and budget, lost or won against `{TUNED}` by more than two standard "
        "errors. The best classical model needs no shots; it is the best of four on each task, in "
        "hindsight. It is trained on classes, even where methods and the exact kernel are trained "
        "on numbers: the targets of regressions and planted ones.",
        table(HEADINGS, overall_rows(found, control)),
        *(_control_section(found, control) if control else []),
        f"## Shots that `{TUNED}` needs for the correlation of `{OURS}`",
        _ratio_table(found),
        "## Task by task",
        "Accuracy / balanced accuracy; for methods also / correlation. Means over budgets.",
        _task_table(found, control or {}),
        "## The suite",
        _suite_section(),
    ]


def _kinds(found: Comparison, control: dict[str, Result]) -> list[str]:
    """Return the ratio of shots on each kind of circuit tasks, with its controls."""
    tasks = [t for t in control if SUITE[t].is_quantum and SUITE[t].kind != "regression"]
    lines = []
    for kind, names in by_kind(tasks).items():
        classical = np.mean([control[name]["accuracy, classical"] for name in names])
        majority = found.results.mean("accuracy", method=MAJORITY, task=names.__contains__)
        lines.append(
            f"- On {len(names)} *{kind}* tasks with a circuit, `{TUNED}` needs "
            f"{_said(found.mean_ratio(OURS, names.__contains__))} times as many shots; the best "
            f"classical model has an accuracy of {classical:.1%}, the majority class of "
            f"{majority.value:.1%}."
        )
    return [
        "\n".join(lines),
        "The suite has no quantum-labelled tasks; for those see [total](total.md) and "
        "[everything](everything.md).",
    ]


def _control_section(found: Comparison, control: dict[str, Result]) -> list[str]:
    """Return accuracies beside the control that needs no shots, for each kind of task.

    Only of tasks whose targets are classes: there all are trained on the same labels.
    """
    most = max(found.budgets)
    rows = []
    tasks = [t for t in control if SUITE[t].is_quantum and SUITE[t].kind in ("classes", "own")]
    for kind, names in by_kind(tasks).items():
        mine = [found.results.where(task=name) for name in names]
        columns = (
            [one.mean("accuracy", method=OURS, budget=most).value for one in mine],
            [one.mean("accuracy", method=EXACT).value for one in mine],
            [control[name]["accuracy, classical"] for name in names],
            [one.mean("accuracy", method=MAJORITY).value for one in mine],
        )
        rows.append((f"{kind} ({len(names)} tasks)", *map(mean_and_error, columns)))
    header = ("tasks", f"{OURS}, {most:g} a pair", EXACT, FREE, MAJORITY)
    return [
        "## Beside what needs no shots",
        "Accuracies on the tasks with a circuit whose targets are classes, so that all are trained "
        "on the same labels; ± is the standard error over tasks. [What needs no "
        "shots](classical.md) has more.",
        table(header, rows),
    ]


def _remarks(found: Comparison) -> str:
    """Say what chance alone would lose, and how the ratios come out by another definition."""
    seeds = len(found.results.unique("seed"))
    chance = float(student_t.cdf(-2, seeds - 1))
    ours, own = (
        found.mean_ratio(name, lambda task: not is_planted(task), by_budget=True).value
        for name in (OURS, TUNED)
    )
    return (
        f"Two equally good methods would lose {chance:.1%} of the cells by chance ({seeds} seeds). "
        "Each ratio is read off the baseline's curve; divided by the shots actually given, the "
        f"first is {ours:.2f}, and the baseline's own {own:.2f}."
    )


def _introduction(found: Comparison, half: str) -> list[str]:
    seeds = len(found.results.unique("seed"))
    budgets = ", ".join(f"{budget:g}" for budget in found.budgets)
    words = (
        "These tasks are held out: settings were chosen on the development half."
        if half == "confirmation"
        else "Choices were made on these tasks, so their figures flatter whatever was chosen; the "
        "figures to quote are those of the [confirmation half](comparison.md)."
    )
    return [
        f"The {half} half of the task suite: {len(found.tasks)} tasks, {budgets} shots a pair, "
        f"{seeds} seeds. {words}",
        "A method is an allocator + a learner. Training shots only: test entries are exact here. "
        "*Correlation* is that of the decision values with those of a ridge tuned on the exact "
        "kernel. ± is one standard error over seeds, each seed being another data set or split. "
        "The classes of regressions are above and below the mean.",
    ]


def _ratio_table(found: Comparison) -> str:
    rows = [
        (task, *(ratio_text(found.shot_ratio(task, budget, OURS)) for budget in found.budgets))
        for task in found.tasks
    ]
    headings = ("task", *(f"{budget:g} a pair" for budget in found.budgets))
    return table(headings, rows)


def _task_table(found: Comparison, control: dict[str, Result]) -> str:
    methods = [name for name in (FIXED, TUNED, OURS) if name in found.methods]
    rows = []
    for task in found.tasks:
        results = found.results.where(task=task)
        plain = [
            f"{results.mean('accuracy', method=name).value:.3f} / "
            f"{results.mean('balanced_accuracy', method=name).value:.3f}"
            for name in (EXACT, MAJORITY)
        ]
        if control:
            free = control.get(task)
            plain.append(
                f"{free['accuracy, classical']:.3f} / {free['balanced, classical']:.3f}"
                if free
                else ""
            )
        cells = []
        for method in methods:
            chosen = results.where(method=method, budget=lambda b: b in found.budgets)
            means = (chosen.mean(measure).value for measure in MEASURES)
            cells.append(" / ".join(f"{mean:.3f}" for mean in means))
        rows.append((task, *plain, *cells))
    return table(("task", EXACT, MAJORITY, *([FREE] if control else []), *methods), rows)


def _suite_section() -> str:
    """Say what the suite is made of and how it was split."""
    points = [task.points for task in SUITE.values()]
    qubits = [task.features for task in SUITE.values() if task.is_quantum]
    sizes = " and ".join(f"{len(half_of_suite(half))} {half}" for half in HALVES)
    return (
        f"{len(SUITE)} tasks: each of {len(SOURCES)} sources of data ({', '.join(SOURCES)}) with "
        f"each of {len(CIRCUITS) + len(CLASSICAL)} kernels ({', '.join([*CIRCUITS, *CLASSICAL])}), "
        f"{min(qubits)} to {max(qubits)} qubits, {min(points)} to {max(points)} training points, "
        "angles up to π or π/2, and classes as the data have them or with 50, 25 or 10 % of one. "
        "An *own function* is the sign of a random function of the kernel's own space; a *planted* "
        "target is carried by few training points or by half of them. The hash of a task's name "
        f"decides its half: {sizes} tasks; {len(TASKS)} more, on which earlier versions were "
        "developed, are development tasks (`aqka_research.suite`)."
    )
