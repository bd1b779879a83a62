"""Where the shots go: uniform and AQKA with true sensitivities on a small planted task."""

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from aqka._util import colours
from aqka._util.arrays import FloatArray
from aqka.allocators.aqka import AqkaOracle
from aqka.allocators.baselines import Uniform
from aqka.allocators.schedule import Schedule
from aqka_research.chosen_tasks import planted_rbf
from aqka_research.reproduce.claims import Claim, at_most, factor, within
from aqka_research.reproduce.experiments._base import Experiment, Parameters
from aqka_research.results import Estimate, Results, Row
from aqka_research.spending import spend
from aqka_research.sweep.store import Cell, Result, stable_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_TRAIN, N_ANCHORS, SHOTS_PER_PAIR = 30, 4, 10
BUDGET = SHOTS_PER_PAIR * N_TRAIN * (N_TRAIN + 1) // 2
ORACLE, WITHOUT_FLOOR = "aqka-oracle", "no floor"
WITHOUT_WARMUP, NEITHER = "no warm-up", "no floor, no warm-up"
NO_WARMUP = Schedule(warmup=0.0)
METHODS = {
    "uniform": (Uniform(), None),
    ORACLE: (AqkaOracle(), None),
    WITHOUT_FLOOR: (AqkaOracle(floor=0.0), None),
    WITHOUT_WARMUP: (AqkaOracle(), NO_WARMUP),
    NEITHER: (AqkaOracle(floor=0.0), NO_WARMUP),
}
"""The oracle as the paper's Table 1 and Section 5 describe it, and without the two things that put
shots on pairs that do not matter: the 5 % floor on sensitivities, and the warm-up."""


@stable_name("aqka.experiments.heatmap:measure")
def measure(cell: Cell) -> Result:
    """Measure one seed: where each method puts its shots."""
    task = planted_rbf(cell["protocol"], N_TRAIN, N_ANCHORS, cell["seed"], N_TRAIN // 3)
    others = np.setdiff1d(np.arange(N_TRAIN), task.anchors)
    order = np.concatenate([task.anchors, others])
    rows: list[Row] = []
    for method in cell["methods"]:
        allocator, schedule = METHODS[method]
        session = spend(task, allocator, BUDGET, cell["protocol"], cell["seed"], schedule)
        table = session.table
        shots = table.square(table.shots.astype(np.float64), known_diagonal=np.nan)
        rows.append({"method": method} | _blocks(shots[np.ix_(order, order)]))
        if cell["seed"] == 0:  # for the picture
            rows[-1]["shots"] = [table.shots.tolist(), order.tolist()]
    return {"rows": rows}


def _blocks(shots: FloatArray) -> Row:
    """Return the shots per pair in the anchors' block, their strip and the rest."""
    upper = np.triu(np.ones_like(shots, dtype=np.bool_)) & ~np.isnan(shots)
    anchor = np.arange(len(shots)) < N_ANCHORS
    both, either = np.logical_and.outer(anchor, anchor), np.logical_or.outer(anchor, anchor)
    return {
        "anchor_block": float(shots[upper & both].mean()),
        "anchor_largest": float(shots[upper & both].max()),
        "strip": float(shots[upper & either & ~both].mean()),
        "rest": float(shots[upper & ~either].mean()),
        "rest_median": float(np.median(shots[upper & ~either])),
    }


def _concentration(results: Results) -> Estimate:
    """Return how many times uniform's shots the anchors' block gets."""
    return results.ratio("anchor_block", ORACLE, "uniform")


def _variants(results: Results, measure: str) -> str:
    return "; ".join(f"{method}: {results.mean(measure, method=method)}" for method in METHODS)


def _spent_blindly() -> float:
    """Return the mean shots a pair gets from warm-up and exploration alone (Table 1)."""
    schedule = Schedule()
    share = schedule.warmup + (1 - schedule.warmup) * schedule.explore
    return share * SHOTS_PER_PAIR


def _why_rest(results: Results) -> str:
    return (
        f"Warm-up and exploration of Table 1 alone put {_spent_blindly():.1f} shots on every pair, "
        "so no sensitivity can bring the rest down to 1 or 2. Shots a pair outside the anchors' "
        f"strip: {_variants(results, 'rest')}. An oracle needs neither floor nor warm-up, but the "
        "paper says that all variants share the same warm-up (Sec. 5) and gives a floor of 5 % "
        "(App. B)."
    )


def _why_anchors(results: Results) -> str:
    return (
        f"Mean shots a pair in the anchors' block: {_variants(results, 'anchor_block')}; the "
        f"largest: {_variants(results, 'anchor_largest')}. The paper shows a single draw of "
        "anchors and does not give it."
    )


CLAIMS = (
    Claim(
        "App. C.4; App. Fig. 4, caption",
        "uniform puts ~10 shots on every pair; outside the anchors' strip",
        Estimate(10.0),
        lambda r: r.mean("rest", method="uniform"),
        within(0.5),
        lambda r: (
            "The budget is 10 shots for each of the 465 pairs with the diagonal; known, the "
            "diagonal costs nothing, and its shots go to the other 435 pairs."
        ),
        unit="shots",
    ),
    Claim(
        "App. C.4; App. Fig. 4, caption",
        "target-oracle leaves the non-anchor block at ≤ 2 shots a pair",
        Estimate(2.0),
        lambda r: r.mean("rest", method=ORACLE),
        at_most(),
        _why_rest,
        unit="shots",
    ),
    Claim(
        "App. C.4",
        "the largest count in the anchors' block is 470",
        Estimate(470.0),
        lambda r: r.mean("anchor_largest", method=ORACLE),
        factor(2),
        _why_anchors,
        unit="shots",
    ),
    Claim(
        "App. Fig. 4, caption",
        "AQKA puts 20 times more shots on the anchors' block than uniform",
        Estimate(20.0),
        _concentration,
        factor(2),
        _why_anchors,
        reference=1.0,
        unit="times",
    ),
)


class Heatmap(Experiment):
    """Shots per pair of uniform and of the oracle, with and without floor and warm-up."""

    title = "Shots per pair on a small planted task"
    place = "Appendix C.4, Figure 4"
    full: ClassVar[Parameters] = {"seeds": 50, "methods": list(METHODS)}
    quick: ClassVar[Parameters] = {"seeds": 5, "methods": ["uniform", ORACLE]}
    claims = CLAIMS
    by = ("method",)
    measures = ("anchor_block", "anchor_largest", "strip", "rest", "rest_median")

    def figures(self, results: Results) -> "dict[str, Figure]":
        """Draw the shots of the first seed, anchors first."""
        from matplotlib.colors import LogNorm

        from aqka_research import style

        figure, panels = style.new_figure(len(results.unique("method")))
        largest = 1.0
        pictures = {}
        for row in results.where(seed=0, shots=lambda shots: True).rows:
            pictures[row["method"]] = _as_picture(*row["shots"])
            largest = max(largest, float(np.nanmax(pictures[row["method"]])))
        for axes, (method, picture) in zip(panels, pictures.items(), strict=True):
            image = axes.imshow(picture, norm=LogNorm(1, largest), cmap=colours.HEAT_MAP)
            axes.set_title(method)
            for border in (axes.axhline, axes.axvline):
                border(N_ANCHORS - 0.5, color="white", lw=1)
        figure.colorbar(image, ax=panels, label="shots (0 drawn as 1)", shrink=0.8)
        return {"shots": figure}


def _as_picture(shots: list[int], order: list[int]) -> FloatArray:
    """Return shots in pair order as a matrix with the points in that order."""
    matrix = np.full((N_TRAIN, N_TRAIN), np.nan)
    measured = len(shots) == N_TRAIN * (N_TRAIN + 1) // 2
    upper = np.triu_indices(N_TRAIN, k=0 if measured else 1)
    matrix[upper] = np.maximum(shots, 1)
    matrix.T[upper] = matrix[upper]
    return np.asarray(matrix[np.ix_(order, order)])
