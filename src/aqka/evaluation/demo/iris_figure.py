"""The demo's picture: accuracy against shots, the usual way beside points on tiles."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from aqka._util.colours import BLUE, GREY, NOTE, VERMILION
from aqka.evaluation.demo.iris import PAIRS, POINTS, USUAL, IrisDemo
from aqka.planning.budget import duration

COLOURS = {PAIRS: GREY, POINTS: VERMILION}
NAMES = {
    PAIRS: "the usual way: every pair of points",
    POINTS: "aqka: every point once, the chip filled",
}


def draw_iris(demo: IrisDemo, path: Path) -> None:
    """Draw the demo's results and save them as a PNG."""
    with mpl.rc_context({"font.size": 10}):
        figure = Figure(figsize=(9, 4.8), layout="constrained")
        axes = figure.subplots()
        axes.set_xscale("log")
        for way in (PAIRS, POINTS):
            _draw_way(axes, demo, way)
        for values, name, side in (
            (demo.plain_svm, "a plain SVM, no quantum computer", "bottom"),
            (demo.exact, "this kernel, exactly", "top"),
        ):
            height, left = float(np.mean(values)), axes.get_xlim()[0]
            axes.axhline(height, color=BLUE, lw=1, ls="--", zorder=1)
            axes.text(left * 1.1, height, name, color=BLUE, fontsize=9, va=side)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlabel("shots for 100 training and 50 new points together")
        axes.set_ylabel("accuracy on new points")
        axes.set_title("Iris on four qubits: what the same accuracy costs on a quantum computer")
        axes.legend(frameon=False, loc="lower right")
        figure.savefig(path, dpi=130)


def _draw_way(axes: Axes, demo: IrisDemo, way: str) -> None:
    levels = demo.levels(way)
    shots = [demo.bill(way, level).shots for level in levels]
    means = [demo.mean(way, level) for level in levels]
    heights, errors = (np.array(column) for column in zip(*means, strict=True))
    axes.plot(shots, heights, "o-", color=COLOURS[way], label=NAMES[way])
    if np.all(np.isfinite(errors)):
        axes.fill_between(
            shots, heights - errors, heights + errors, color=COLOURS[way], alpha=0.2, lw=0
        )
    marked = USUAL if way == PAIRS else demo.enough(way)
    if marked is not None and marked in levels:
        bill, height = demo.bill(way, marked), demo.mean(way, marked)[0]
        words = f"{bill.shots:,} shots\n{duration(bill.seconds)} of QPU\n${bill.cost:,.0f}"
        axes.annotate(
            words,
            (bill.shots, height),
            xytext=(0, -18 if way == PAIRS else -130),
            textcoords="offset points",
            ha="right" if way == PAIRS else "left",
            va="top",
            color=NOTE if way == PAIRS else COLOURS[way],
            fontweight="bold",
            arrowprops={"arrowstyle": "-", "color": COLOURS[way], "lw": 1},
        )
