"""The demo's pictures."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from aqka._util.colours import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    HEAT_MAP,
    NOTE,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
)
from aqka.demo.iris import STEPS, IrisDemo
from aqka.demo.paper import ALLOCATORS, HEATMAP_ANCHORS, HEATMAPS, Demo
from aqka.planning.budget import duration

METHODS: dict[str, dict[str, Any]] = {
    "uniform": {"color": BLACK, "marker": "o"},
    "leverage": {"color": GREEN, "marker": "v"},
    "aqka": {"color": VERMILION, "marker": "D"},
    "aqka-oracle": {"color": BLUE, "marker": "X"},
    "shofar": {"color": PURPLE, "marker": "P"},
    "nystrom": {"color": ORANGE, "marker": "<"},
    "hybrid": {"color": SKY, "marker": "*", "ls": "--"},
}
"""Each method looks the same in every figure."""


def draw_iris(demo: IrisDemo, path: Path) -> None:
    """Draw the QPU time of each step with its accuracy and price, and save it as a PNG."""
    with mpl.rc_context({"font.size": 10}):
        figure = Figure(figsize=(9, 3.6), layout="constrained")
        axes = figure.subplots()
        bills = [demo.bill(step.name) for step in STEPS]
        places = np.arange(len(STEPS))[::-1]
        colours = [GREY, *[VERMILION] * (len(STEPS) - 1)]
        axes.barh(places, [bill.seconds for bill in bills], color=colours, height=0.62)
        for place, step, bill in zip(places, STEPS, bills, strict=True):
            words = f" {duration(bill.seconds)}, ${bill.cost:,.0f}, {bill.shots:,} shots"
            axes.text(bill.seconds, place, words, va="center", fontsize=9, color=NOTE)
            score = f"{demo.mean(step.name)[0]:.1%}"
            axes.text(1.1, place, score, va="center", fontsize=9, color="white", weight="bold")
        axes.set_xscale("log")
        axes.set_xlim(1, 90 * max(bill.seconds for bill in bills))
        axes.set_yticks(places, [step.name for step in STEPS])
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlabel("seconds of QPU time, training and predictions")
        axes.set_title(
            "Iris on four qubits: what each step saves, and the accuracy it keeps\n"
            f"(this kernel exactly {np.mean(demo.exact):.1%}, a plain SVM without any shot "
            f"{np.mean(demo.plain_svm):.1%})",
            fontsize=10.5,
        )
        figure.savefig(path, dpi=130)


def draw_demo(demo: Demo, path: Path) -> None:
    """Draw the demo's results and save them as a PNG."""
    with mpl.rc_context({"font.size": 9}):
        figure = Figure(figsize=(12, 8.4), layout="constrained")
        halves: Any = figure.subfigures(2, 1, height_ratios=(1.1, 1))
        top, bottom = halves
        curves = top.subplots(1, len(demo.majority), sharey=True, squeeze=False)[0]
        for axes, task in zip(curves, demo.majority, strict=True):
            _draw_curves(axes, demo, task)
        handles, labels = axes.get_legend_handles_labels()
        top.legend(handles, labels, loc="outside lower center", ncols=8, frameon=False)
        panels = bottom.subplots(1, len(HEATMAPS))
        largest = max(shots.max() for shots in demo.heatmaps.values())
        for axes, allocator in zip(panels, HEATMAPS, strict=True):
            image = _draw_heatmap(axes, demo, allocator, largest)
        bottom.colorbar(image, ax=panels.tolist(), label="shots on the pair", shrink=0.9)
        figure.savefig(path, dpi=130)


def _draw_curves(axes: Axes, demo: Demo, task: str) -> None:
    budgets = sorted({result.shots_per_pair for result in demo.results})
    for allocator in ALLOCATORS:
        accuracies = [
            demo.mean(task, "fair", allocator, budget, "accuracy")[0] for budget in budgets
        ]
        axes.plot(budgets, accuracies, ms=5, label=allocator, **METHODS[allocator])
    fixed = [demo.mean(task, "paper", "uniform", budget, "accuracy")[0] for budget in budgets]
    axes.plot(budgets, fixed, color=BLACK, ls=":", label="uniform, fixed ridge")
    for height, what in (
        (demo.majority[task], "majority class"),
        (demo.exact[task], "exact kernel"),
    ):
        axes.axhline(height, color=GREY, lw=1, ls="--")
        axes.text(budgets[0], height, what, color=NOTE, va="bottom")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xscale("log")
    axes.set_xticks(budgets, [f"{budget:g}" for budget in budgets])
    axes.minorticks_off()
    axes.set_xlabel("budget, shots per pair")
    axes.set_ylabel("test accuracy")
    axes.set_title(f"{task}: same tuned learner for all", fontsize=10)


def _draw_heatmap(axes: Axes, demo: Demo, name: str, largest: float) -> mpl.image.AxesImage:
    shots = np.ma.masked_equal(demo.heatmaps[name], 0)
    image = axes.imshow(shots, norm=LogNorm(1, largest), cmap=HEAT_MAP, interpolation="nearest")
    edge = HEATMAP_ANCHORS - 0.5
    axes.axhline(edge, color="white", lw=1)
    axes.axvline(edge, color="white", lw=1)
    axes.set_title(f"{name}, small planted task: white = no shot", fontsize=10)
    axes.set_xlabel(f"30 training points, the {HEATMAP_ANCHORS} anchors first")
    return image
