"""The comparison's page: what was aimed at, tables of means, and of the shots that are saved."""

import math
from dataclasses import dataclass
from pathlib import Path

from scipy.stats import t as student_t

from aqka_research.compare.comparison import FIXED, OURS, TUNED
from aqka_research.compare.findings import Comparison, ShotRatio, is_planted
from aqka_research.compare.tasks import TASKS
from aqka_research.spending import EXACT, MAJORITY
from aqka_research.suite import HALVES, SUITE, half_of_suite
from aqka_research.suite_data import SOURCES
from aqka_research.suite_maps import CIRCUITS, CLASSICAL

MEASURES = ("accuracy", "balanced_accuracy", "correlation")
HINDSIGHT = "best of these in every cell, in hindsight"
ALL_RATIO, REAL_RATIO, MOST_LOST = 1.3, 1.0, 0.05  # what the default is asked for


@dataclass(frozen=True)
class Aim:
    """One figure of the default beside what was asked of it."""

    what: str
    found: float
    asked: str
    met: bool

    def __str__(self) -> str:
        """Write it as a sentence."""
        verdict = "met" if self.met else "**not met**"
        return f"{self.what}: {self.found:.3g} (asked: {self.asked}; {verdict})."


def aims(found: Comparison) -> list[Aim]:
    """Return what the default is asked for against uniform shots with a leave-one-out ridge."""
    real = found.mean_ratio(OURS, lambda task: not is_planted(task)).value
    every = found.mean_ratio(OURS).value
    lost = found.share(found.gaps(OURS), "lost")
    ours, theirs = (found.overall(name, "balanced_accuracy") for name in (OURS, TUNED))
    return [
        Aim(
            f"Shots that `{TUNED}` needs for the correlation of `{OURS}`, in units of the latter's,"
            " geometric mean over targets that were not planted",
            real,
            f"≥ {REAL_RATIO}",
            real >= REAL_RATIO,
        ),
        Aim("The same over all tasks", every, f"≥ {ALL_RATIO}", every >= ALL_RATIO),
        Aim(
            f"Share of cells (task and budget) where `{OURS}` is behind `{TUNED}` in correlation by"
            " more than two standard errors",
            lost,
            f"≤ {MOST_LOST}",
            lost <= MOST_LOST,
        ),
        Aim(
            f"Balanced accuracy, mean over tasks and budgets, where `{TUNED}` has "
            f"{theirs.value:.4f}",
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


def overall_rows(found: Comparison) -> list[tuple[str, ...]]:
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
    return [*rows, best, *plain]


HEADINGS = (
    "method",
    *("accuracy", "balanced accuracy", "correlation"),
    *("shots, not planted", "shots, planted", "shots, all"),
    *("cells lost", "cells won"),
)


def write_comparison(found: Comparison, path: Path, half: str, confirmations: int) -> None:
    """Write the page of a half; ``confirmations`` is how often the second half was run so far."""
    lines = [
        "# Comparison" if half == "confirmation" else "# Comparison on development tasks",
        "",
        *_introduction(found, half, confirmations),
        "",
        *(f"- {aim}" for aim in aims(found)),
        "",
        _remarks(found),
        "",
        "## Means over all tasks and budgets",
        "",
        f"*Shots*: how many times more `{TUNED}` needs for the same correlation (geometric mean; "
        "“>”: somewhere not reached with the most shots it was given). *Cells* are pairs of task "
        f"and budget; lost and won against `{TUNED}` by more than two standard errors.",
        "",
        *_table(HEADINGS, overall_rows(found)),
        "",
    ]
    lines += _ratio_table(found)
    lines += _task_table(found)
    lines += _suite_section()
    path.write_text("\n".join(lines).rstrip() + "\n")


def _remarks(found: Comparison) -> str:
    """Say what chance alone would lose, and how the ratios come out by another definition."""
    seeds = len(found.results.unique("seed"))
    chance = float(student_t.cdf(-2, seeds - 1))
    ours, own = (
        found.mean_ratio(name, lambda task: not is_planted(task), by_budget=True).value
        for name in (OURS, TUNED)
    )
    return (
        f"By chance alone {chance:.1%} of the cells would be lost between two methods that differ "
        f"in nothing but luck ({seeds} seeds). A ratio compares where the method and where the "
        "baseline itself stand on the baseline's curve; divided by the shots that were given "
        f"instead, the first figure is {ours:.2f}, and the baseline's own {own:.2f}."
    )


def _introduction(found: Comparison, half: str, confirmations: int) -> list[str]:
    seeds = len(found.results.unique("seed"))
    budgets = ", ".join(f"{budget:g}" for budget in found.budgets)
    told = (
        "No choice was made on these tasks. They are run when a choice is final: "
        f"**{confirmations} {'time' if confirmations == 1 else 'times'}** so far."
        if half == "confirmation"
        else "Choices were made on these tasks, so their figures flatter whatever was chosen; the "
        "figures to quote are those of the [confirmation half](comparison.md)."
    )
    return [
        f"The {half} half of the task suite: {len(found.tasks)} tasks, {budgets} shots a pair, "
        f"{seeds} seeds; written by `aqka compare --half {half} --report`. {told}",
        "",
        "A method is an allocator + a learner. Training shots only: test entries are exact here. "
        "*Correlation* is that of the decision values with those of a ridge tuned on the exact "
        "kernel. ± is one standard error over seeds, each seed being another data set or split. "
        "Of regressions the classes are above and below the mean.",
    ]


def _table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    head = ["| " + " | ".join(headings) + " |", "| --- " * len(headings) + "|"]
    return head + ["| " + " | ".join(row) + " |" for row in rows]


def _ratio_table(found: Comparison) -> list[str]:
    rows = [
        (task, *(ratio_text(found.shot_ratio(task, budget, OURS)) for budget in found.budgets))
        for task in found.tasks
    ]
    headings = ("task", *(f"{budget:g} a pair" for budget in found.budgets))
    return [
        f"## Shots that `{TUNED}` needs for the correlation of `{OURS}`",
        "",
        *_table(headings, rows),
        "",
    ]


def _task_table(found: Comparison) -> list[str]:
    methods = [name for name in (FIXED, TUNED, OURS) if name in found.methods]
    rows = []
    for task in found.tasks:
        results = found.results.where(task=task)
        plain = [
            f"{results.mean('accuracy', method=name).value:.3f} / "
            f"{results.mean('balanced_accuracy', method=name).value:.3f}"
            for name in (EXACT, MAJORITY)
        ]
        cells = []
        for method in methods:
            chosen = results.where(method=method, budget=lambda b: b in found.budgets)
            means = (chosen.mean(measure).value for measure in MEASURES)
            cells.append(" / ".join(f"{mean:.3f}" for mean in means))
        rows.append((task, *plain, *cells))
    return [
        "## Task by task",
        "",
        "Accuracy / balanced accuracy, and of methods / correlation; means over budgets.",
        "",
        *_table(("task", EXACT, MAJORITY, *methods), rows),
        "",
    ]


def _suite_section() -> list[str]:
    """Say what the suite is made of and how it was split."""
    points = [task.points for task in SUITE.values()]
    qubits = [task.features for task in SUITE.values() if task.is_quantum]
    sizes = " and ".join(f"{len(half_of_suite(half))} {half}" for half in HALVES)
    return [
        "## The suite",
        "",
        f"{len(SUITE)} tasks: each of {len(SOURCES)} sources of data ({', '.join(SOURCES)}) with "
        f"each of {len(CIRCUITS) + len(CLASSICAL)} kernels ({', '.join([*CIRCUITS, *CLASSICAL])}), "
        f"{min(qubits)} to {max(qubits)} qubits, {min(points)} to {max(points)} training points, "
        "angles up to π or π/2, and classes as the data have them or with 50, 25 or 10 % of one. "
        "An *own function* is the sign of a random function of the kernel's own space; a *planted* "
        "target is carried by few training points or by half of them. The hash of a task's name "
        f"decides its half: {sizes} tasks; {len(TASKS)} more, on which earlier versions were "
        "developed, are development tasks (`aqka_research.suite`).",
    ]
