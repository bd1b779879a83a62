"""The gain over uniform as the number of points grows, on the planted-sparse task."""

from typing import TYPE_CHECKING, ClassVar

from aqka.allocators.aqka import Aqka
from aqka.allocators.baselines import Bernoulli, Uniform
from aqka_research.chosen_tasks import planted_rbf
from aqka_research.paper_arms import TrueBernoulli
from aqka_research.reproduce.claims import Claim, above, at_least, at_most, within
from aqka_research.reproduce.experiments._base import Experiment, Parameters
from aqka_research.results import Estimate, Results, highest, lowest
from aqka_research.spending import MAJORITY, all_rows, baseline_rows, n_pairs
from aqka_research.sweep.store import Cell, Result, stable_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure


METHODS = {
    "uniform": Uniform(),
    "bernoulli": Bernoulli(),
    "bernoulli-true": TrueBernoulli(),
    "aqka": Aqka(),
}
ANCHORS = {60: 3, 225: 10, 500: 22, 1000: 45}
"""As the paper lists them for three sizes; ⌈0.045 N⌉ differs (docs/explanation/errata.md)."""
SEEDS = 3  # of the paper


@stable_name("aqka.experiments.scaling:measure")
def measure(cell: Cell) -> Result:
    """Measure one seed of one size at one budget: small enough to keep all cores busy."""
    size = cell["points"]
    task = planted_rbf(cell["protocol"], size, ANCHORS[size], cell["seed"], size // 3)
    if cell["shots_per_pair"] is None:
        return {"rows": baseline_rows(task, cell["protocol"])}
    budget = round(cell["shots_per_pair"] * n_pairs(size))
    return {"rows": all_rows(task, METHODS, [budget], cell["protocol"], cell["seed"])}


def _is_limited(shots_per_pair: float) -> bool:
    """Whether a budget lies in the regime the paper speaks of, B/n_pairs in [1, 30]."""
    return 1 <= shots_per_pair <= 30


def _gains(results: Results, size: int) -> dict[float, Estimate]:
    """Return AQKA's gain over uniform at every budget of that regime."""
    chosen = results.where(points=size, shots_per_pair=_is_limited)
    return chosen.along("shots_per_pair", lambda r: r.gain("aqka", "uniform"))


def _mean_gain(results: Results, size: int) -> Estimate:
    return results.gain("aqka", "uniform", points=size, shots_per_pair=_is_limited)


def _run_time(results: Results) -> Estimate:
    """Return the one-core time of all three sizes for as many seeds as the paper's."""
    seeds = len(results.where(points=1000).unique("seed"))
    return Estimate(sum(results.seconds) * SEEDS / seeds)


def _why(results: Results) -> str:
    """Say what stands behind every gain of this experiment."""
    if results.protocol == "fair":
        uniform = results.mean("accuracy", method="uniform", shots_per_pair=_is_limited)
        return f"Under the fair protocol uniform itself reaches {uniform} over all sizes."
    shares = ", ".join(
        f"{results.mean('accuracy', method=MAJORITY, points=size)} (N = {size})"
        for size in results.unique("points")
    )
    largest = max(results.unique("points"))
    balanced = results.gain(
        "aqka", "uniform", "balanced_accuracy", points=largest, shots_per_pair=_is_limited
    )
    return (
        f"The majority class is right on {shares} of the test points. In balanced "
        f"accuracy the mean gain at N = {largest} is {balanced} pts. The paper gives neither its "
        "test points (we take N/3) nor its γ (0.1)."
    )


def _placeholder(results: Results, size: int) -> str:
    """Say where the gain of Bernoulli-only comes from."""
    gains = {
        method: results.gain(method, "uniform", points=size, shots_per_pair=lambda x: 1 <= x < 30)
        for method in ("bernoulli", "bernoulli-true", "aqka")
    }
    return (
        f"Estimated variances are 0 wherever all shots of a pair agree, so Bernoulli-only "
        f"concentrates as AQKA does: at N = {size} it gains {gains['bernoulli']} pts where AQKA "
        f"gains {gains['aqka']}. With the true variances it gains {gains['bernoulli-true']} pts, "
        f"which may be what the paper ran."
    )


def _smallest_gain(size: int, stated: float, span: str) -> Claim:
    return Claim(
        "App. C.7; Fig. 7, caption",
        f"N = {size}: the gain is {span} pts for B/n_pairs in [1, 30]; the smallest",
        Estimate(stated, count=SEEDS),
        lambda r: lowest(_gains(r, size)),
        at_least(),
        _why,
        reference=0.0,
        unit="pts",
    )


def _largest_gain(size: int, stated: float, span: str) -> Claim:
    return Claim(
        "App. C.7; Fig. 7, caption",
        f"N = {size}: the gain is {span} pts for B/n_pairs in [1, 30]; the largest",
        Estimate(stated, count=SEEDS),
        lambda r: highest(_gains(r, size)),
        within(),
        _why,
        reference=0.0,
        unit="pts",
    )


def _headline_gain(size: int, stated: float) -> Claim:
    """Return the abstract's gain, read as the mean over the regime at both sizes.

    The paper's own ranges are +8 to +20 and +22 to +29: its +8 is the end of one, its +25 the
    middle of the other.
    """
    return Claim(
        "Abstract; Sec. 1",
        f"N = {size}: the gain is {stated:+g} pts",
        Estimate(stated, count=SEEDS),
        lambda r: _mean_gain(r, size),
        within(),
        _why,
        reference=0.0,
        unit="pts",
    )


def _flat_bernoulli(size: int) -> Claim:
    return Claim(
        "App. C.7; Fig. 7, caption",
        f"N = {size}: Bernoulli-only is near zero or slightly negative below B/n_pairs = 30",
        Estimate(0.0),
        lambda r: r.gain("bernoulli", "uniform", points=size, shots_per_pair=lambda x: 1 <= x < 30),
        within(3.0),
        lambda r: _placeholder(r, size),
        unit="pts",
    )


def _saturated_gain(method: str) -> Claim:
    return Claim(
        "App. C.7",
        f"N = 1000: {method} gains +27 pts at B/n_pairs = 30",
        Estimate(27.0, count=SEEDS),
        lambda r: r.gain(method, "uniform", points=1000, shots_per_pair=30),
        within(),
        _why,
        reference=0.0,
        unit="pts",
    )


def _pairs(size: int, stated: int) -> Claim:
    return Claim(
        "App. C.7",
        f"N = {size}: n_pairs is {stated:,}",
        Estimate(float(stated)),
        lambda r: Estimate(float(n_pairs(size))),
        within(),
        lambda r: f"{size} points have {n_pairs(size):,} pairs.",
        unit="pairs",
    )


CLAIMS = (
    _smallest_gain(225, 8.0, "+8 to +20"),
    _largest_gain(225, 20.0, "+8 to +20"),
    _smallest_gain(1000, 22.0, "+22 to +29"),
    _largest_gain(1000, 29.0, "+22 to +29"),
    Claim(
        "Abstract; Sec. 1; App. C.7",
        "the gain grows from N = 225 to N = 1000",
        Estimate(0.0),
        lambda r: _mean_gain(r, 1000) - _mean_gain(r, 225),
        above(),
        _why,
        unit="pts",
    ),
    *(_headline_gain(size, stated) for size, stated in ((225, 8.0), (1000, 25.0))),
    *(_flat_bernoulli(size) for size in (225, 500, 1000)),
    *(_saturated_gain(method) for method in ("aqka", "bernoulli")),
    _pairs(225, 25_425),
    _pairs(1000, 500_500),
    Claim(
        "App. C.7",
        "all three sizes together take 66 seconds on a single CPU",
        Estimate(66.0),
        _run_time,
        at_most(),
        lambda r: (
            "The processor time of all cells; it depends on the machine, and cross-validation "
            "solves five more problems for every head."
            if r.protocol == "fair"
            else "The processor time of all cells; it depends on the machine."
        ),
        unit="s",
    ),
)


class Scaling(Experiment):
    """AQKA and Bernoulli-only against uniform at 225, 500 and 1000 points."""

    title = "Gain over uniform as the number of points grows"
    place = "Appendix C.7, Figure 7"
    full: ClassVar[Parameters] = {
        "seeds": 10,
        "points": [1000, 500, 225],
        "shots_per_pair": [0.3, 1, 3, 10, 30],
    }
    quick: ClassVar[Parameters] = {"seeds": 2, "points": [225, 60], "shots_per_pair": [1, 30]}
    claims = CLAIMS
    by = ("points", "method", "shots_per_pair")

    def cells(self, parameters: Parameters, protocol: str) -> list[Cell]:
        """Return one cell per size, budget and seed, the large ones first."""
        return [
            {"points": size, "shots_per_pair": ratio, "seed": seed, "protocol": protocol}
            for size in parameters["points"]
            for ratio in (*parameters["shots_per_pair"], None)  # None: the baselines
            for seed in range(parameters["seeds"])
        ]

    def figures(self, results: Results) -> "dict[str, Figure]":
        """Draw the gain against the budget, a panel per size."""
        from aqka_research import style

        sizes = results.unique("points")
        figure, panels = style.new_figure(len(sizes), sharey=True)
        for axes, size in zip(panels, sizes, strict=True):
            style.level(axes, 0.0, "uniform")
            for method in ("bernoulli", "aqka"):
                style.curve(axes, _curve(results.where(points=size), method), method)
            style.budget_axis(axes, "budget, shots per pair")
            axes.set_title(f"N = {size}, m = {ANCHORS[size]}")
        panels[0].set_ylabel("accuracy gain over uniform, pts")
        style.legend_below(figure, panels[0])
        return {"gain": figure}


def _curve(results: Results, method: str) -> dict[float, Estimate]:
    return results.along("shots_per_pair", lambda r: r.gain(method, "uniform"))
