"""The comparison's page: tables of means, and of the shots that are saved."""

from pathlib import Path

from aqka.evaluation.compare.comparison import FIXED, METHODS, OURS, TUNED, Comparison, ShotRatio
from aqka.evaluation.spending import EXACT, MAJORITY

MEASURES = ("accuracy", "balanced_accuracy", "correlation")
HINDSIGHT = "best of the paper's methods, in hindsight"
RATIO_AIMS = {FIXED: 10.0, TUNED: 3.0}


def overall_rows(found: Comparison) -> list[tuple[str, ...]]:
    """Return method and means over all tasks and budgets, as texts."""
    rows = [
        (method, *(str(found.overall(method, measure)) for measure in MEASURES))
        for method in (*METHODS, EXACT, MAJORITY)
    ]
    best = (HINDSIGHT, *(str(found.best_in_hindsight(measure)) for measure in MEASURES))
    return [*rows[: len(METHODS)], best, *rows[len(METHODS) :]]


def ratio_text(ratio: ShotRatio) -> str:
    """Write a shot ratio."""
    digits = f"{ratio.value:.1f}" if ratio.value < 100 else f"{ratio.value:.0f}"
    return f"> {digits}" if ratio.bound else digits


def aim_lines(found: Comparison) -> list[str]:
    """Say what was aimed at and what was reached."""
    lines = []
    for baseline, aim in RATIO_AIMS.items():
        ratio = found.mean_ratio(baseline)
        met = "met" if ratio.value >= aim else "**not met**"
        lines.append(
            f"- For the same correlation `{baseline}` needs {ratio_text(ratio)} times the shots "
            f"of `{OURS}` (geometric mean; aimed at: {aim:g}; {met})."
        )
    lost = found.losses()
    cells = {(loss["task"], loss["budget"]) for loss in lost}
    total = len(found.tasks) * len(found.budgets)
    lines.append(
        f"- In {len(cells)} of {total} pairs of task and budget some single method is ahead of "
        f"`{OURS}` in correlation by more than two standard errors (aimed at: 0)"
        + (":" if lost else ".")
    )
    lines += [
        f"  - {loss['task']}, {loss['budget']:g} shots a pair: `{loss['method']}` by {loss['by']}"
        for loss in lost
    ]
    return lines


def write_comparison(found: Comparison, path: Path) -> None:
    """Write the page."""
    seeds = len(found.results.unique("seed"))
    budgets = ", ".join(f"{budget:g}" for budget in found.budgets)
    head = "| method | accuracy | balanced accuracy | correlation |\n| --- | --- | --- | --- |"
    lines = [
        "# Comparison",
        "",
        f"{len(found.tasks)} tasks, {budgets} shots a pair, {seeds} seeds; written by "
        "`aqka compare --report`. A method is an allocator + a readout. Training shots only: test "
        "entries are exact here. *Correlation* is that of the decision values with those of a "
        "ridge tuned on the exact kernel. ± is one standard error over seeds, each seed being "
        "another data set or split. `auto` was developed on these same tasks, so its figures here "
        "are not those of unseen ones.",
        "",
        *aim_lines(found),
        "",
        "## Means over all tasks and budgets",
        "",
        head,
        *("| " + " | ".join(row) + " |" for row in overall_rows(found)),
        "",
    ]
    for baseline in RATIO_AIMS:
        lines += _ratio_table(found, baseline)
    for task in found.tasks:
        lines += _task_table(found, task)
    path.write_text("\n".join(lines).rstrip() + "\n")


def _ratio_table(found: Comparison, baseline: str) -> list[str]:
    lines = [
        f"## Shots that `{baseline}` needs, in units of ours",
        "",
        "“>”: not reached with the most shots that it was given.",
        "",
        "| task | " + " | ".join(f"{budget:g} a pair" for budget in found.budgets) + " |",
        "| --- |" + " --- |" * len(found.budgets),
    ]
    for task in found.tasks:
        ratios = (found.shot_ratio(task, budget, baseline) for budget in found.budgets)
        lines.append(f"| {task} | " + " | ".join(map(ratio_text, ratios)) + " |")
    return [*lines, ""]


def _task_table(found: Comparison, task: str) -> list[str]:
    results = found.results.where(task=task)
    lines = [
        f"## {task}",
        "",
        "Accuracy / balanced accuracy / correlation. "
        + "; ".join(
            f"{name}: {results.mean('accuracy', method=name)} / "
            f"{results.mean('balanced_accuracy', method=name)}"
            for name in (EXACT, MAJORITY)
        )
        + ".",
        "",
        "| method | " + " | ".join(f"{budget:g} a pair" for budget in found.budgets) + " |",
        "| --- |" + " --- |" * len(found.budgets),
    ]
    for method in METHODS:
        cells = []
        for budget in found.budgets:
            cell = results.where(method=method, budget=budget)
            cells.append(" / ".join(f"{cell.mean(measure).value:.3f}" for measure in MEASURES))
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return [*lines, ""]
