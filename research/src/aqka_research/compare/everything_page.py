"""The page of the one comparison with everything."""

import numpy as np
from matplotlib.colors import to_rgba

from aqka._util.colours import BLUE, GREY, VERMILION
from aqka.planning.budget import duration
from aqka_research.benchmarks.classical import controls
from aqka_research.circuit_tasks import KINDS, by_kind, circuit_tasks, quick_tasks
from aqka_research.compare.everything import (
    DEVICE,
    LEVELS,
    NEAR,
    NEW_POINTS,
    POINT_LEVELS,
    QISKIT,
    USUAL,
    WAYS,
    Cost,
    chip,
    cost,
    measure,
)
from aqka_research.figures.page import PageRun
from aqka_research.markdown import table
from aqka_research.style import new_figure, style
from aqka_research.sweep.store import Cell, Result

SEEDS, NOISY_SEEDS = 3, 2
LEARNABLE = 0.05
"""By so much the exact kernel must beat the majority class: else there is nothing to reach."""

Costs = dict[str, dict[int, dict[str, Cost]]]
"""By task, new points and way."""


def page(run: PageRun) -> list[str]:
    """Measure everything with and without noise, and write the page."""
    blocks, every = [], {}
    half = run.pick("held-out", "development", "development")
    for device in (None, DEVICE):
        names = run.pick(circuit_tasks("confirmation", device), quick_tasks(), quick_tasks()[:1])
        seeds = run.pick(SEEDS if device is None else NOISY_SEEDS, 1, 1)
        control = controls(run, names, seeds)
        costs = _costs(run, names, seeds, device, control)
        every[device] = costs
        blocks += _section(costs, control, device)
    _draw(every[None], run)
    return [
        "# Everything side by side",
        f"What it costs to come within {100 * NEAR:.0f} percentage point of the exact kernel's "
        f"accuracy on {half} tasks, training and new points together. Figures are geometric means "
        "over tasks. QPU time is what `aqka plan` gives for an IBM Heron: 2 s a job and about "
        "350 µs an execution, with the depths and tiles of each task's circuit on "
        f"{DEVICE}. Where a way falls short on a task, the most shots tried are counted; where the "
        "fewest tried are enough, these. “>” marks a mean with the first, a lower bound; “<” one "
        "with the second, an upper bound; “~” one with both, which is neither. Tasks on which the "
        f"exact kernel beats the majority class by less than {100 * LEARNABLE:.0f} points are left "
        "out. The best classical model is [the best of four](classical.md) on each task, chosen in "
        "hindsight.",
        "\n".join(f"- {line}" for line in _ways()),
        "\n".join(f"- *{kind}* tasks: {words}." for kind, words in KINDS.items()),
        "![QPU time of every way, one column for each kind of task](everything.png)",
        "In the picture a dot is a task, hollow where the way falls short, and a bar the mean.",
        *blocks,
    ]


def _ways() -> list[str]:
    return [
        f"*{QISKIT}*: {USUAL:,} shots on every training and test pair, one circuit an execution, "
        "kernel made positive, SVM with C = 1. It is tried at this one number of shots.",
        "*uniform pairs, our split*: the same shots on every pair, split between training and new "
        "points by `split_budget`, `ridge-noise` and the prior of test rows.",
        "*AQKA as in the paper*: its warm-up, rounds and fixed ridge, diagonal measured; test "
        "pairs get the mean shots of a training pair.",
        "*ShoFaR*, *Nyström*: the paper's baselines with a leave-one-out ridge; with Nyström, new "
        "points are measured against the landmarks only.",
        "*points*: the same shots on every point, old and new, states by maximum likelihood.",
        "*points with prior*: the same, but new points that a Gaussian process on the gate angles "
        "is sure about are not measured, except for 5 % of them, at least 10, as a check.",
        "*on tiles*: the same shots, many circuits side by side in an execution.",
    ]


def _costs(
    run: PageRun, names: list[str], seeds: int, device: str | None, control: dict[str, Result]
) -> Costs:
    every = run.pick(1, 3, 6)
    cells: list[Cell] = [
        {
            "task": name,
            "seed": seed,
            "device": device,
            "levels": LEVELS[::every],
            "point_levels": POINT_LEVELS[::every],
        }
        for name in names
        for seed in range(seeds)
    ]
    found = run.cells(measure, cells)
    circuits = run.cells(chip, [{"task": name} for name in names])
    costs: Costs = {}
    for k, name in enumerate(names):
        mine = found[k * seeds : (k + 1) * seeds]
        exact = float(np.mean([one["exact"] for one in mine]))
        if run.size == "full" and exact - control[name]["accuracy, majority"] < LEARNABLE:
            continue
        costs[name] = {
            count: {way: cost(way, mine, circuits[k], count, exact - NEAR) for way in WAYS}
            for count in NEW_POINTS
        }
    return costs


def _section(costs: Costs, control: dict[str, Result], device: str | None) -> list[str]:
    blocks = ["## Without noise" if device is None else f"## With the noise of {device}"]
    if device is not None:
        blocks.append(
            "Tasks of 2 to 4 qubits, without error mitigation; the aim is still the accuracy of "
            "the kernel without noise."
        )
    for kind, names in by_kind(list(costs)).items():
        rows: list[tuple[str, ...]] = []
        for way in WAYS:
            mine = [[costs[name][count][way] for name in names] for count in NEW_POINTS]
            figures = [figure for some in mine for figure in _means(some)]
            reached = (f"{sum(one.reached for one in some)} of {len(names)}" for some in mine)
            rows.append((way, *figures, *reached))
        for which, words in (("classical", "best classical model"), ("majority", "majority class")):
            near = sum(
                control[name][f"accuracy, {which}"] >= control[name]["exact"] - NEAR
                for name in names
            )
            rows.append((words, *["0 s", "0", "0", "0"] * 2, *[f"{near} of {len(names)}"] * 2))
        few, many = NEW_POINTS
        header = (
            "way",
            f"QPU time, {few} new",
            "shots",
            "executions",
            "jobs",
            f"QPU time, {many:,} new",
            "shots",
            "executions",
            "jobs",
            f"reached, {few} new",
            f"reached, {many:,} new",
        )
        exact, classical, majority = (
            np.mean([control[name][column] for name in names])
            for column in ("exact", "accuracy, classical", "accuracy, majority")
        )
        blocks += [
            f"### {kind.capitalize()} tasks ({len(names)})",
            f"Mean accuracy: exact kernel {exact:.1%}, best classical model {classical:.1%}, "
            f"majority class {majority:.1%}.",
            table(header, rows),
        ]
    return blocks


def _means(costs: list[Cost]) -> list[str]:
    short, fewest = not all(one.reached for one in costs), any(one.fewest for one in costs)
    bound = "~ " if short and fewest else "> " if short else "< " if fewest else ""

    def mean(values: list[float]) -> float:
        return float(np.exp(np.mean(np.log(values))))

    seconds = mean([one.seconds for one in costs])
    return [
        bound + duration(seconds),
        bound + _short(mean([one.shots for one in costs])),
        bound + _short(mean([one.executions for one in costs])),
        f"{mean([float(one.jobs) for one in costs]):.1f}",
    ]


def _short(value: float) -> str:
    """Return a number of shots with three digits."""
    digits = 10 ** max(0, int(np.floor(np.log10(max(value, 1)))) - 2)
    return f"{round(value / digits) * digits:,}"


def _draw(costs: Costs, run: PageRun) -> None:
    kinds = by_kind(list(costs))
    with style():
        figure, axes = new_figure(len(kinds), sharey=True)
        for panel, (kind, names) in zip(axes, kinds.items(), strict=True):
            for place, way in enumerate(reversed(WAYS)):
                mine = [costs[name][NEW_POINTS[0]][way] for name in names]
                colour = BLUE if "points" in way else VERMILION if "Qiskit" in way else GREY
                seconds = [one.seconds for one in mine]
                faces = [to_rgba(colour, 0.5) if one.reached else "none" for one in mine]
                edges = to_rgba(colour, 0.5)
                places = [place] * len(mine)
                panel.scatter(seconds, places, s=10, facecolors=faces, edgecolors=edges)
                mean = float(np.exp(np.mean(np.log(seconds))))
                panel.plot([mean], [place], marker="|", markersize=16, color="black")
            panel.set(xscale="log", xlabel="QPU seconds, 100 new points")
            panel.set_title(f"{kind} ({len(names)} tasks), without noise", fontsize=9)
        axes[0].set_yticks(range(len(WAYS)), list(reversed(WAYS)))
        figure.savefig(run.path.with_name("everything.png"), dpi=150)
