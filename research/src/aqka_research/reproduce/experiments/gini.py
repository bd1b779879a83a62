"""Does the concentration of the sensitivities predict AQKA's gain?"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from aqka._util import colours
from aqka._util.arrays import FloatArray
from aqka.insight.diagnostics import diagnose
from aqka_research.chosen_tasks import planted_rbf
from aqka_research.read_runs import made_once
from aqka_research.reproduce.claims import Claim, above, below, within
from aqka_research.reproduce.experiments._base import Experiment, Parameters
from aqka_research.reproduce.experiments._real import CHOSEN, DATA, real_task
from aqka_research.reproduce.experiments._stated import Because, direction
from aqka_research.results import Estimate, Results, Row
from aqka_research.spending import EXACT, MAJORITY, baseline_rows, n_pairs, rows_per_pair, spend
from aqka_research.sweep.store import Cell, Result, stable_name
from aqka_research.tasks import Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATIO = 4
"""Shots per pair, of every run."""
WARM_UP = 0.2
SEEDS = 3  # of the paper
PLACE = "App. C.16, Table 4"


@dataclass(frozen=True)
class StatedLine:
    """A line of the paper's table."""

    gini: float
    rho: float
    oracle: float
    gain: float
    error: float


TABLE = {
    "planted m=10": StatedLine(0.97, 0.01, 1.00, 20.0, 4.4),
    "planted m=5": StatedLine(0.99, 0.01, 1.00, 11.1, 2.8),
    "planted m=50": StatedLine(0.88, 0.07, 1.00, 12.4, 6.3),
    "breast-cancer": StatedLine(0.71, 0.17, 0.97, 7.1, 5.6),
    "planted m=200": StatedLine(0.63, 0.27, 1.00, 15.6, 4.6),
    "digits 3-vs-5": StatedLine(0.57, 0.19, 0.98, -1.1, 0.6),
    "digits 0-vs-8": StatedLine(0.52, 0.27, 1.00, -19.3, 3.0),
}


@stable_name("aqka.experiments.gini:measure")
def measure(cell: Cell) -> Result:
    """Measure one seed of one task."""
    task, protocol, seed = _gini_task(cell), cell["protocol"], cell["seed"]
    rows = [_concentration(task, protocol, seed), *baseline_rows(task, protocol)]
    return {"rows": rows + rows_per_pair(task, ("uniform", "aqka"), [RATIO], protocol, seed)}


def _gini_task(cell: Cell) -> Task:
    if cell["task"] in DATA:
        return real_task(cell["task"], cell["seed"], cell["protocol"], cell["n_train"])
    anchors, points = int(cell["task"].partition("=")[2]), cell["n_train"] or 225
    return planted_rbf(cell["protocol"], points, min(anchors, points), cell["seed"], points // 3)


def _concentration(task: Task, protocol: str, seed: int) -> Row:
    """Return Gini and ρ of the exact kernel, and the Gini that a warm-up would show."""
    budget = round(WARM_UP * RATIO * n_pairs(len(task.y)))
    warm = spend(task, "random", budget, protocol, seed)

    def make() -> Row:
        exact = diagnose(warm.table, warm.problem, task.kernel)
        seen = diagnose(warm.table, warm.problem)
        return {"gini": exact.gini, "rho": exact.rho, "warm_up_gini": seen.gini}

    return {"method": "concentration"} | made_once(warm, "concentration", make)


def _correlation(results: Results, column: str = "gini") -> Estimate:
    """Return Pearson's r of the tasks' mean Gini and mean gain, with a jackknife over seeds."""
    tasks = results.unique("task")
    gini = np.array([list(results.where(task=t).by_seed(column).values()) for t in tasks])
    gain = np.array([results.seed_gains("aqka", "uniform", task=t) for t in tasks])
    count = gini.shape[1]
    everything = _pearson(gini.mean(axis=1), gain.mean(axis=1))
    if count == 1:
        return Estimate(everything)
    left_out = [
        _pearson(np.delete(gini, k, 1).mean(axis=1), np.delete(gain, k, 1).mean(axis=1))
        for k in range(count)
    ]
    return Estimate(everything, float(np.std(left_out) * (count - 1) ** 0.5), count)


def _pearson(x: FloatArray, y: FloatArray) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def _extreme_gain(results: Results, tasks: list[str], largest: bool) -> Estimate:
    gains = [results.gain("aqka", "uniform", task=task) for task in tasks]
    pick = max if largest else min
    return pick(gains, key=lambda gain: gain.value)


def _accuracies_note(task: str, results: Results) -> str:
    """Say what stands beside a task's gain."""
    chosen = results.where(task=task)
    words = "; ".join(
        f"{method} {chosen.mean('accuracy', method=method)} "
        f"(balanced {chosen.mean('balanced_accuracy', method=method)})"
        for method in ("uniform", "aqka", EXACT, MAJORITY)
    )
    return f"Accuracies on {task}: {words}. We did not determine why the paper's number differs."


def _all_gains(results: Results) -> str:
    words = ", ".join(
        f"{task} {results.mean('gini', task=task).value:.2f} and "
        f"{results.gain('aqka', 'uniform', task=task)}"
        for task in TABLE
    )
    seen = ", ".join(
        f"{results.mean('warm_up_gini', task=task).value:.2f} ({task})" for task in TABLE
    )
    return (
        f"Gini and gain in pts: {words}. The Gini read from a warm-up, which is what a user has: "
        f"{seen}; its r with the gain is {_correlation(results, 'warm_up_gini')}."
    )


def _kernel_claim(
    task: str, what: str, number: float, tolerance: float, because: Because, **column: Any
) -> Claim:
    """Return the claim of a number of the task's exact kernel."""
    return Claim(
        PLACE,
        f"{task}: {what}{CHOSEN if task in DATA else ''}",
        Estimate(number, count=SEEDS),
        lambda r: r.mean(**column, task=task),
        within(tolerance),
        because,
    )


def _line_claims(task: str, stated: StatedLine) -> tuple[Claim, ...]:
    """Return the four claims of a line of the table."""

    def settings(results: Results) -> str:
        return (
            "The paper does not say how its tasks were scaled, nor γ of each; where the exact "
            "kernel differs, the task does."
        )

    def accuracies(results: Results) -> str:
        return _accuracies_note(task, results)

    exact = {"measure": "accuracy", "method": EXACT}
    return (
        _kernel_claim(task, "Gini", stated.gini, 0.02, settings, measure="gini"),
        _kernel_claim(task, "ρ", stated.rho, 0.02, settings, measure="rho"),
        _kernel_claim(
            task, "accuracy of the exact kernel", stated.oracle, 0.01, accuracies, **exact
        ),
        Claim(
            PLACE,
            f"{task}: AQKA's gain at B = 4 n_pairs",
            Estimate(stated.gain, stated.error, SEEDS),
            lambda r: r.gain("aqka", "uniform", task=task),
            within(),
            accuracies,
            reference=0.0 if abs(stated.gain) > 2 * stated.error else None,
            unit="pts",
        ),
    )


CLAIMS = (
    *(claim for task, stated in TABLE.items() for claim in _line_claims(task, stated)),
    Claim(
        "Abstract; Sec. 7; App. C.16",
        "Pearson's r of Gini and gain over the seven tasks is +0.72",
        Estimate(0.72),
        _correlation,
        within(0.15),
        _all_gains,
        reference=0.0,
    ),
    direction(
        "App. C.16; Fig. 15, caption",
        "tasks with a Gini above 0.6 (the paper's five) gain: the smallest",
        lambda r: _extreme_gain(r, [t for t, s in TABLE.items() if s.gini > 0.6], largest=False),
        above(),
        _all_gains,
    ),
    direction(
        "App. C.16; Fig. 15, caption",
        "tasks with a Gini below 0.55 (the paper's one) lose",
        lambda r: _extreme_gain(r, [t for t, s in TABLE.items() if s.gini < 0.55], largest=True),
        below(),
        _all_gains,
    ),
)


class Gini(Experiment):
    """AQKA's gain over uniform against Gini and ρ, on seven tasks."""

    title = "Concentration of the sensitivities and AQKA's gain"
    place = "Appendix C.16, Figure 15 and Table 4"
    full: ClassVar[Parameters] = {"seeds": 20, "tasks": list(TABLE), "n_train": None}
    quick: ClassVar[Parameters] = {"seeds": 2, "tasks": list(TABLE), "n_train": 60}
    claims = CLAIMS
    by = ("task", "method")
    measures = ("gini", "rho", "warm_up_gini", "accuracy", "balanced_accuracy", "correlation")

    def cells(self, parameters: Parameters, protocol: str) -> list[Cell]:
        """Return one cell per task and seed, the largest task first."""
        tasks = sorted(parameters["tasks"], key=lambda task: task != "breast-cancer")
        return [
            {"task": task, "n_train": parameters["n_train"], "seed": seed, "protocol": protocol}
            for task in tasks
            for seed in range(parameters["seeds"])
        ]

    def figures(self, results: Results) -> "dict[str, Figure]":
        """Draw the gain of each task against its Gini and its ρ."""
        from aqka_research import style

        figure, panels = style.new_figure(2, sharey=True)
        for axes, column, label in zip(panels, ("gini", "rho"), ("Gini of |g|", "ρ"), strict=True):
            style.level(axes, 0.0, "uniform")
            for task, marker in zip(TABLE, "Dos^vPX", strict=True):
                x = results.mean(column, task=task)
                y = results.gain("aqka", "uniform", task=task)
                colour = colours.BLUE if task in DATA else colours.VERMILION
                look: dict[str, Any] = {"color": colour, "marker": marker, "ls": "", "ms": 7}
                axes.errorbar(x.value, y.value, y.error, x.error, label=task, **look)
            axes.set_xlabel(label)
        panels[0].set_ylabel("AQKA's gain over uniform, pts")
        style.legend_below(figure, panels[0])
        return {"gain": figure}
