"""The page of points against pairs: headlines, targets, means, every task, and a picture."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aqka_research.benchmarks.bars import times
from aqka_research.benchmarks.classical import controls
from aqka_research.circuit_tasks import by_kind, circuit_tasks, quick_tasks
from aqka_research.compare.total import LEVELS, POINT_LEVELS, compare_totals
from aqka_research.compare.total_findings import (
    AUTO,
    BASELINE,
    NEW_POINTS,
    OURS,
    POINTS,
    TARGETS,
    Saving,
    TotalFindings,
    bound,
    geometric_mean,
)
from aqka_research.figures.page import PageRun
from aqka_research.markdown import table
from aqka_research.style import new_figure, style
from aqka_research.sweep.store import Result

LEAST = {100: 3.0, 1000: 5.0}
LEAST_SUMMED = 7.0
LEAST_ON_DEVICE = {100: 5.0, 1000: 5.0}
SHARE = 0.9  # of exact labels, which the targets are about


@dataclass(frozen=True)
class Mean:
    """Savings of one method over all tasks, at one target and number of new points."""

    method: str
    target: float
    new_points: int
    ratio: float
    error: float
    summed: float
    bound: str


def means(found: TotalFindings) -> list[Mean]:
    """Return geometric means of the baseline's shots over each method's, and of summed shots."""
    rows = []
    for target in TARGETS:
        for new_points in NEW_POINTS:
            savings = found.savings(target, new_points)
            for method in (OURS, POINTS, AUTO):
                ratio, error = geometric_mean([saving.ratio[method] for saving in savings])
                summed = _sum(savings, BASELINE) / _sum(savings, method)
                mark = _bound(savings, method)
                rows.append(Mean(method, target, new_points, ratio, error, summed, mark))
    return rows


def _sum(savings: list[Saving], method: str) -> float:
    return sum(saving.shots[method] for saving in savings)


def _bound(savings: Iterable[Saving], method: str) -> str:
    return bound((saving.unreached for saving in savings), BASELINE, method)


def auto_losses(found: TotalFindings) -> list[Saving]:
    """Return where ``design="auto"`` needs more than the baseline by over two standard errors."""
    return [
        saving
        for target in TARGETS
        for new_points in NEW_POINTS
        for saving in found.savings(target, new_points)
        if np.log(saving.ratio[AUTO]) < -2 * saving.error[AUTO]
    ]


def page(run: PageRun) -> list[str]:
    """Measure the held-out tasks without noise, and write the page."""
    return _page(run, None, run.pick(3, 2, 2))


def fez_page(run: PageRun) -> list[str]:
    """Measure the held-out tasks of few qubits with a fake Heron's noise, and write the page."""
    return _page(run, "fake_fez", run.pick(2, 2, 2))


def _page(run: PageRun, device: str | None, seeds: int) -> list[str]:
    half = run.pick("confirmation", "development", "development")
    tasks = run.pick(circuit_tasks(half, device), quick_tasks(), quick_tasks()[:1])
    every = run.pick(1, 4, 7)
    found = compare_totals(
        seeds,
        tasks=tasks,
        levels=LEVELS[::every],
        point_levels=POINT_LEVELS[:: every if device is None else 2 * every],
        device=device,
        cells_of=run.cells,
    )
    return total_blocks(found, run.path, half, device, controls(run, tasks, seeds))


def total_blocks(
    found: TotalFindings,
    path: Path,
    half: str,
    device: str | None,
    control: dict[str, Result],
) -> list[str]:
    """Return the page, and draw its picture beside ``path``."""
    picture = path.with_suffix(".png")
    _draw(found, picture)
    title = "# Points against pairs" + ("" if device is None else f" on {device}")
    return [
        title + ("" if half == "confirmation" else " on development tasks"),
        *_introduction(found, half, device),
        f"![Total shots of points and of pairs, one dot a task]({picture.name})",
        "## The headline, for each kind of task",
        _headlines(found, control, device),
        "Where a classical model gives the share of exact labels without a shot, shots for it are "
        "wasted: *left* counts the tasks on which none of the four classical models reaches that "
        "share, and the last column is the mean over these. A method that falls short on a task "
        "counts with the most shots tried: “>” marks a mean where the baseline fell short, “<” "
        "where the method did, “~” where both did.",
        _kinds_table(found, control),
        "## Targets",
        "\n".join(f"- {line}" for line in target_lines(found, device)),
        "## Means over all tasks",
        "Over all kinds together; the table above has each kind and its controls. "
        "How many times more shots the baseline needs; geometric mean over tasks, ± the standard "
        "error of its logarithm over them. *Summed* compares the shots of all tasks together.",
        table(
            ("exact labels", "new points", "method", "times fewer", "summed"),
            [
                (
                    f"{mean.target:.0%}",
                    f"{mean.new_points:,}",
                    mean.method,
                    f"{mean.bound}{mean.ratio:.2f} ± {mean.error:.2f}",
                    f"{mean.bound}{mean.summed:.1f}",
                )
                for mean in means(found)
            ],
        ),
        *_tasks(found, control),
    ]


def _kind_rows(
    found: TotalFindings, control: dict[str, Result]
) -> Iterator[tuple[str, float, int, list[str], list[str], dict[str, Saving]]]:
    """Yield kind, target, new points, its tasks, those left to shots, and all savings."""
    for kind, names in by_kind(list(found.by_task)).items():
        for target in TARGETS:
            left = [name for name in names if control[name]["agreement, classical"] < target]
            for new_points in NEW_POINTS:
                savings = {saving.task: saving for saving in found.savings(target, new_points)}
                yield kind, target, new_points, names, left, savings


def _fewer(savings: dict[str, Saving], names: list[str]) -> tuple[str, str]:
    """Return the mark of a mean, and the mean."""
    mine = [savings[name] for name in names]
    ratio, _ = geometric_mean([saving.ratio[POINTS] for saving in mine])
    return _bound(mine, POINTS), f"{ratio:.2f}"


def _headlines(found: TotalFindings, control: dict[str, Result], device: str | None) -> str:
    what = "shots" if device is None else "executions"
    words = {
        "> ": " (a lower bound)",
        "< ": " (an upper bound)",
        "~ ": " (neither a lower nor an upper bound: both fell short on some task)",
    }
    lines = []
    for kind, target, new_points, names, left, savings in _kind_rows(found, control):
        if target == SHARE and new_points == NEW_POINTS[0]:
            agrees = np.mean([control[name]["agreement, classical"] for name in names])
            mark, fewer = _fewer(savings, names)
            lines.append(
                f"- *{kind}* ({len(names)} tasks): {fewer} times fewer {what} with points for "
                f"{target:.0%} of the exact labels at {new_points} new points"
                f"{words.get(mark, '')}. A classical model gives {agrees:.1%} of them with none, "
                f"and at least {target:.0%} in {len(names) - len(left)} of the {len(names)} tasks."
            )
    return "\n".join(lines)


def _kinds_table(found: TotalFindings, control: dict[str, Result]) -> str:
    rows = []
    for kind, target, new_points, names, left, savings in _kind_rows(found, control):
        shares = (
            f"{np.mean([control[name][f'agreement, {which}'] for name in names]):.1%}"
            for which in ("classical", "majority")
        )
        rows.append(
            (
                kind,
                f"{target:.0%}",
                f"{new_points:,}",
                str(len(names)),
                "".join(_fewer(savings, names)),
                *shares,
                str(len(left)),
                "".join(_fewer(savings, left)) if left else "",
            )
        )
    header = ("kind", "exact labels", "new points", "tasks", "times fewer, points")
    agree = ("classical agrees", "majority agrees")
    return table((*header, *agree, "left", "times fewer, left"), rows)


def target_lines(found: TotalFindings, device: str | None = None) -> list[str]:
    """Return each figure with a target beside what was found."""
    points = {m.new_points: m for m in means(found) if m.method == POINTS and m.target == SHARE}
    what, targets = ("shots", LEAST) if device is None else ("executions", LEAST_ON_DEVICE)
    lines = [
        f"{points[count].bound}{points[count].ratio:.2f} times fewer {what} at {count:,} new "
        f"points for {SHARE:.0%} of the exact labels (target: ≥ {least:g}; "
        f"{_verdict(points[count].ratio >= least, points[count].bound)})."
        for count, least in targets.items()
    ]
    if device is None:
        summed = " and ".join(f"{points[count].bound}{points[count].summed:.1f}" for count in LEAST)
        enough = min(points[count].summed for count in LEAST) >= LEAST_SUMMED
        counts = " and ".join(f"{count:,}" for count in LEAST)
        marks = (points[count].bound for count in LEAST)
        lines.append(
            f"{summed} times fewer shots summed over tasks, at {counts} new points (target: ≥ "
            f"{LEAST_SUMMED:g} at both; {_verdict(enough, *marks)})."
        )
    lost = auto_losses(found)
    cells = len(found.by_task) * len(TARGETS) * len(NEW_POINTS)
    lines.append(
        f'`design="auto"` needs more than the baseline by over two standard errors in {len(lost)} '
        f"of {cells} combinations of task, share and number of new points (target: none; "
        f"{_verdict(not lost)})."
    )
    return lines


def _verdict(reached: bool, *marks: str) -> str:
    """Judge a figure; one above its target that is not a lower bound decides nothing."""
    if reached and {"< ", "~ "} & {*marks}:
        return "**undecided**: points fell short on some task"
    return "reached" if reached else "**not reached**"


def _introduction(found: TotalFindings, half: str, device: str | None) -> list[str]:
    seeds = len(next(iter(found.by_task.values())))
    noise, states = "", "pure states"
    if device is not None:
        states = "the rank that a test chooses"
        noise = (
            f" Counts have the exact noise of {device}, gates and readout, at the place that the "
            "transpiler chooses, without error mitigation on either side. A shot is an execution."
        )
    words = (
        "Settings were chosen on the development half."
        if half == "confirmation"
        else "Figures to quote are those of the confirmation half."
    )
    qubits = [found.qubits(task) for task in found.by_task]
    return [
        f"Total shots, for training and for predicting new points together, until a share of the "
        f"test points gets the label that a leave-one-out ridge on the exact kernel gives it. The "
        f"{half} tasks: {len(found.by_task)} with classes, of {min(qubits)} to {max(qubits)} "
        f"qubits; {seeds} seeds.{noise} {words}",
        f"- *{BASELINE}*: the same shots on every training pair and the same on every test pair, "
        "and the cheapest of all splits between the two, chosen in hindsight.\n"
        f"- *{OURS}*: the same with `ridge-noise` and the prior of test rows, split in hindsight.\n"
        f"- *points*: the same shots on every point, old and new, {states}, leave-one-out ridge.\n"
        '- *auto*: what `design="auto"` takes at each budget, before the first shot; its pairs '
        "get the same shots everywhere.",
    ]


def _tasks(found: TotalFindings, control: dict[str, Result]) -> list[str]:
    blocks = []
    for target in TARGETS:
        rows = []
        for few, many in zip(*(found.savings(target, n) for n in NEW_POINTS), strict=True):
            shares = (
                f"{control[few.task][f'agreement, {which}']:.1%}"
                for which in ("classical", "majority")
            )
            rows.append(
                (
                    few.task,
                    _shots(few, BASELINE),
                    *(_ratio(saving, name) for saving in (few, many) for name in (POINTS, AUTO)),
                    *shares,
                )
            )
        header = ("task", "pairs", "points", "auto", "points, 1,000", "auto, 1,000")
        blocks += [
            f"## Each task, {target:.0%} of the exact labels",
            "Shots of the baseline at 100 new points, and how many times fewer points and auto "
            "need, at 100 and at 1,000 new points. “>” and “<” stand where one side did not get "
            "there with the most shots that were tried. Then the shares of exact labels that the "
            "best classical model and the majority class give without a shot.",
            table((*header, "classical agrees", "majority agrees"), rows),
        ]
    return blocks


def _shots(saving: Saving, method: str) -> str:
    mark = "> " if method in saving.unreached else ""
    return f"{mark}{saving.shots[method]:,.0f}"


def _ratio(saving: Saving, method: str) -> str:
    if {BASELINE, method} <= saving.unreached:
        return "neither"
    return f"{_bound([saving], method)}{times(saving.ratio[method])}"


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
