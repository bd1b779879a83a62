"""One look for all figures: colours that everyone can tell apart, standard errors as bands."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from aqka._util.colours import BLACK, BLUE, GREEN, GREY, NOTE, ORANGE, PURPLE, SKY, VERMILION
from aqka_research.results import Estimate, Results

METHODS: dict[str, dict[str, Any]] = {
    "uniform": {"color": BLACK, "marker": "o"},
    "leverage": {"color": GREEN, "marker": "v"},
    "aqka": {"color": VERMILION, "marker": "D"},
    "aqka-oracle": {"color": BLUE, "marker": "X"},
    "shofar": {"color": PURPLE, "marker": "P"},
    "nystrom": {"color": ORANGE, "marker": "<"},
    "hybrid": {"color": SKY, "marker": "*", "ls": "--"},
    "random": {"color": GREY, "marker": "s"},
    "bernoulli": {"color": SKY, "marker": "^"},
    "aqka, no floor": {"color": ORANGE, "marker": "D", "ls": ":"},
    "aqka-oracle, no floor": {"color": SKY, "marker": "X", "ls": ":"},
    "multinomial": {"color": VERMILION, "marker": "d", "ls": "--"},
    "multinomial-oracle": {"color": BLUE, "marker": "x", "ls": "--"},
    "nystrom-leverage": {"color": ORANGE, "marker": ">", "ls": "--"},
    "aqka-svm": {"color": VERMILION, "marker": "p", "ls": ":"},
    "aqka-svm-soft": {"color": BLUE, "marker": "h", "ls": ":"},
}
"""Each method looks the same in every figure."""
COLOURS = (VERMILION, BLUE, GREEN, ORANGE, PURPLE, SKY, BLACK, GREY)
"""For curves that are not methods."""


def style() -> AbstractContextManager[None]:
    """Return the settings that every figure is drawn and saved under."""
    return mpl.rc_context(
        {
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 10,
            "legend.frameon": False,
            "lines.markersize": 4,
            "svg.hashsalt": "aqka",  # the same figure gives the same file
        }
    )


def new_figure(
    panels: int = 1, *, rows: int = 1, sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    """Return a figure with panels side by side, in ``rows`` rows."""
    columns = -(-panels // rows)
    figure = Figure(figsize=(max(5.0, 3.7 * columns), 3.4 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=sharey)
    return figure, list(np.ravel(axes))[:panels]


def curve(axes: Axes, estimates: Mapping[Any, Estimate], label: str, **look: Any) -> None:
    """Draw means against the mapping's keys, with a band of one standard error."""
    look = look or METHODS.get(label, {})
    x = np.array(list(estimates))
    mean = np.array([estimate.value for estimate in estimates.values()])
    error = np.array([estimate.error for estimate in estimates.values()])
    (line,) = axes.plot(x, mean, label=label, **look)
    low, high = mean - error, mean + error
    if axes.get_yscale() == "log":  # a band that reaches below 0 has no place there
        low = np.maximum(low, mean / 10)
    axes.fill_between(x, low, high, color=line.get_color(), alpha=0.15, lw=0)


def level(axes: Axes, height: float, label: str) -> None:
    """Draw a dashed line right across, such as the accuracy of the majority class."""
    axes.axhline(height, color=GREY, lw=1, ls="--")
    axes.annotate(
        label,
        (1.0, height),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="right",
        color=NOTE,
        fontsize=8,
    )


def budget_axis(axes: Axes, label: str = "budget, shots") -> None:
    """Make the horizontal axis logarithmic, as every budget's is."""
    axes.set_xscale("log")
    axes.set_xlabel(label)


def legend_below(figure: Figure, axes: Axes, columns: int = 4) -> None:
    """Put one legend for all panels under them."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(columns, len(labels)))


def method_panels(
    results: Results,
    methods: Sequence[str],
    column: str = "budget",
    label: str = "budget, shots",
    levels: Sequence[str] = (),
    looks: Mapping[str, dict[str, Any]] | None = None,
) -> Figure:
    """Draw accuracy of several methods; under the fair protocol what must stand beside it too.

    ``levels`` are methods without a budget, drawn right across; ``looks`` are colours and
    markers of methods that :data:`METHODS` does not know.
    """
    measures = {"accuracy": "test accuracy"}
    if results.protocol == "fair":
        measures |= {
            "balanced_accuracy": "balanced accuracy",
            "correlation": "correlation with exact predictor",
        }
    figure, panels = new_figure(len(measures))
    for axes, (measure, name) in zip(panels, measures.items(), strict=True):
        for baseline in levels if measure != "correlation" else ():  # 1 and 0 by definition
            level(axes, results.mean(measure, method=baseline).value, baseline)
        for method in methods:
            look = (looks or {}).get(method, {})
            curve(axes, method_means(results, measure, method, column), method, **look)
        budget_axis(axes, label)
        axes.set_ylabel(name)
    legend_below(figure, panels[0], columns=3 if len(panels) == 1 else 6)
    return figure


def accuracy_panel(
    axes: Axes, results: Results, methods: Sequence[str], levels: Sequence[str] = ()
) -> None:
    """Draw accuracy of several methods against the budget into one panel."""
    for baseline in levels:
        level(axes, results.mean("accuracy", method=baseline).value, baseline)
    for method in methods:
        curve(axes, method_means(results, "accuracy", method), method)
    budget_axis(axes)
    axes.set_ylabel("test accuracy")


def error_figure(results: Results, methods: Sequence[str], title: str) -> Figure:
    """Draw the test error of several methods against the budget, both on logarithmic axes."""
    figure, (axes,) = new_figure()
    axes.set_yscale("log")
    for method in methods:
        curve(axes, method_means(results, "mse", method), method)
    budget_axis(axes)
    axes.set_ylabel("test MSE")
    axes.set_title(title)
    legend_below(figure, axes, columns=3)
    return figure


def method_means(
    results: Results, measure: str, method: str, column: str = "budget"
) -> dict[Any, Estimate]:
    """Return a method's mean measure for every value of a column, such as every budget."""
    return results.along(column, lambda r: r.mean(measure), method=method)


def save_figures(
    figures: Mapping[str, Figure], directory: Any, endings: Sequence[str]
) -> list[str]:
    """Save every figure with every ending; return the file names."""
    names = [f"{name}.{ending}" for name in figures for ending in endings]
    for name, figure in figures.items():
        for ending in endings:
            metadata = {"Date": None} if ending == "svg" else {}
            figure.savefig(directory / f"{name}.{ending}", dpi=130, metadata=metadata)
    return names
