"""The page of points against pairs: what was asked, means, every task, and a picture."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aqka_research.compare.total_findings import (
    AUTO,
    BASELINE,
    NEW_POINTS,
    OURS,
    POINTS,
    TARGETS,
    Saving,
    TotalFindings,
    geometric_mean,
)
from aqka_research.style import new_figure, style

ASKED = {100: 3.0, 1000: 5.0}
ASKED_SUMMED = 7.0
ASKED_ON_DEVICE = {100: 5.0, 1000: 5.0}
SHARE = 0.9  # of exact labels, which the figures asked for are about


@dataclass(frozen=True)
class Mean:
    """Savings of one method over all tasks, at one target and number of new points."""

    method: str
    target: float
    new_points: int
    ratio: float
    error: float
    summed: float


def means(found: TotalFindings) -> list[Mean]:
    """Return geometric means of the baseline's shots over each method's, and of summed shots."""
    rows = []
    for target in TARGETS:
        for new_points in NEW_POINTS:
            savings = found.savings(target, new_points)
            for method in (OURS, POINTS, AUTO):
                ratio, error = geometric_mean([saving.ratio[method] for saving in savings])
                summed = _sum(savings, BASELINE) / _sum(savings, method)
                rows.append(Mean(method, target, new_points, ratio, error, summed))
    return rows


def _sum(savings: list[Saving], method: str) -> float:
    return sum(saving.shots[method] for saving in savings)


def auto_losses(found: TotalFindings) -> list[Saving]:
    """Return where ``design="auto"`` needs more than the baseline by over two standard errors."""
    return [
        saving
        for target in TARGETS
        for new_points in NEW_POINTS
        for saving in found.savings(target, new_points)
        if np.log(saving.ratio[AUTO]) < -2 * saving.error[AUTO]
    ]


def write_totals(
    found: TotalFindings, path: Path, half: str, confirmations: int, device: str | None = None
) -> None:
    """Write the page and its picture; ``confirmations`` counts runs of the second half."""
    picture = path.with_suffix(".png")
    _draw(found, picture)
    lines = [
        "# Points against pairs"
        + ("" if device is None else f" on {device}")
        + ("" if half == "confirmation" else " on development tasks"),
        "",
        *_introduction(found, half, confirmations, device),
        "",
        f"![Total shots of points and of pairs, one dot a task]({picture.name})",
        "",
        "## What was asked",
        "",
        *(f"- {line}" for line in asked_lines(found, device)),
        "",
        "## Means over tasks",
        "",
        "How many times more shots the baseline needs; geometric mean over tasks, ± the standard "
        "error of its logarithm over them. *Summed* compares the shots of all tasks together.",
        "",
        *_table(
            ("labels", "new points", "method", "times fewer", "summed"),
            [
                (
                    f"{mean.target:.0%}",
                    f"{mean.new_points:,}",
                    mean.method,
                    f"{mean.ratio:.2f} ± {mean.error:.2f}",
                    f"{mean.summed:.1f}",
                )
                for mean in means(found)
            ],
        ),
        "",
        *_tasks(found),
    ]
    path.write_text("\n".join(lines).rstrip() + "\n")


def asked_lines(found: TotalFindings, device: str | None = None) -> list[str]:
    """Return each figure that was asked for beside what was found."""
    points = {m.new_points: m for m in means(found) if m.method == POINTS and m.target == SHARE}
    what, asked = ("shots", ASKED) if device is None else ("executions", ASKED_ON_DEVICE)
    lines = [
        f"{points[count].ratio:.2f} times fewer {what} at {count:,} new points for {SHARE:.0%} of "
        f"the exact labels (asked: ≥ {least:g}; {_verdict(points[count].ratio >= least)})."
        for count, least in asked.items()
    ]
    if device is not None:
        return lines
    summed = min(points[count].summed for count in ASKED)
    lines.append(
        f"At least {summed:.1f} times fewer in summed shots (asked: ≥ {ASKED_SUMMED:g}; "
        f"{_verdict(summed >= ASKED_SUMMED)})."
    )
    lost = auto_losses(found)
    cells = len(found.by_task) * len(TARGETS) * len(NEW_POINTS)
    lines.append(
        f'`design="auto"` needs more than the baseline by over two standard errors in {len(lost)} '
        f"of {cells} cells (asked: none; {_verdict(not lost)})."
    )
    return lines


def _verdict(met: bool) -> str:
    return "met" if met else "**not met**"


def _introduction(
    found: TotalFindings, half: str, confirmations: int, device: str | None
) -> list[str]:
    seeds = len(next(iter(found.by_task.values())))
    qubits, option, noise, states = "2 to 6 and 8", "", "", "pure states"
    if device is not None:
        qubits, option, states = "2 to 4", f"--device {device} ", "the rank that a test chooses"
        noise = (
            f"Counts have the exact noise of {device}, gates and readout, at the place that the "
            "transpiler chooses; nothing is corrected on either side. A shot is an execution. "
        )
    told = (
        "No choice was made on these tasks; they were run "
        f"**{confirmations} {'time' if confirmations == 1 else 'times'}**."
        if half == "confirmation"
        else "Figures to quote are those of the confirmation half."
    )
    return [
        f"Total shots, for training and for predicting new points together, until a share of the "
        f"test points gets the label that a leave-one-out ridge on the exact kernel gives it. The "
        f"{half} half of the task suite: {len(found.by_task)} tasks with classes, of "
        f"{qubits} qubits; {seeds} seeds; written by `aqka compare --total --half {half} "
        f"{option}--report`. {noise}{told}",
        "",
        f"- *{BASELINE}*: the same shots on every training pair and the same on every test pair, "
        "and of all splits between the two the cheapest, chosen in hindsight.",
        f"- *{OURS}*: the same with `ridge-noise` and the prior of test rows, split in hindsight.",
        f"- *points*: the same shots on every point, old and new, {states}, leave-one-out ridge.",
        '- *auto*: what `design="auto"` takes at each budget, before the first shot; its pairs '
        "get the same shots everywhere.",
    ]


def _tasks(found: TotalFindings) -> list[str]:
    lines = []
    for target in TARGETS:
        rows = []
        for few, many in zip(*(found.savings(target, n) for n in NEW_POINTS), strict=True):
            rows.append(
                (
                    few.task,
                    _shots(few, BASELINE),
                    *(_ratio(saving, name) for saving in (few, many) for name in (POINTS, AUTO)),
                )
            )
        lines += [
            f"## Each task, {target:.0%} of the exact labels",
            "",
            "Shots of the baseline at 100 new points, and how many times fewer points and auto "
            "need, at 100 and at 1,000 new points. “>” and “<” stand where one side did not get "
            "there with the most shots that were tried.",
            "",
            *_table(("task", "pairs", "points", "auto", "points, 1,000", "auto, 1,000"), rows),
            "",
        ]
    return lines


def _shots(saving: Saving, method: str) -> str:
    mark = "> " if method in saving.unreached else ""
    return f"{mark}{saving.shots[method]:,.0f}"


def _ratio(saving: Saving, method: str) -> str:
    bound = "> " if BASELINE in saving.unreached else ""
    bound = "< " if method in saving.unreached else bound
    if {BASELINE, method} <= saving.unreached:
        return "neither"
    return f"{bound}{saving.ratio[method]:.2g}"


def _table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    head = ["| " + " | ".join(headings) + " |", "| --- " * len(headings) + "|"]
    return head + ["| " + " | ".join(row) + " |" for row in rows]


def _draw(found: TotalFindings, path: Path) -> None:
    with style():
        figure, axes = new_figure(len(NEW_POINTS))
        for panel, new_points in zip(axes, NEW_POINTS, strict=True):
            savings = found.savings(SHARE, new_points)
            pairs, points = ([s.shots[name] for s in savings] for name in (BASELINE, POINTS))
            ends = [min(*pairs, *points) / 2, max(*pairs, *points) * 2]
            panel.plot(ends, ends, color="0.6", linewidth=1, zorder=1)
            panel.scatter(pairs, points, s=18, zorder=2)
            panel.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal")
            panel.set_title(f"{new_points:,} new points", fontsize=10)
            panel.set_xlabel("pairs, best split in hindsight: total shots")
        axes[0].set_ylabel("points: total shots")
        figure.savefig(path, dpi=150)
