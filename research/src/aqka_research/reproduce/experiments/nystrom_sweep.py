"""Nyström with tuned landmark counts, random and by leverage, against AQKA."""

from typing import TYPE_CHECKING, ClassVar

from aqka.allocators import Allocator
from aqka.allocators.aqka import Aqka
from aqka.allocators.baselines import Nystrom, NystromLeverage, Uniform
from aqka_research.reproduce.claims import Claim, above, at_least, at_most
from aqka_research.reproduce.experiments._base import Experiment, Parameters
from aqka_research.reproduce.experiments._notes import levels_note
from aqka_research.reproduce.experiments._planted import LARGEST, planted_rows
from aqka_research.reproduce.experiments._stated import (
    direction,
    largest_size,
    stated_gain,
    stated_level,
    stated_span,
)
from aqka_research.results import Estimate, Results, Row, lowest
from aqka_research.spending import EXACT, MAJORITY
from aqka_research.sweep.store import Cell, Result, stable_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VARIANTS = {"nystrom": Nystrom, "nystrom-leverage": NystromLeverage}
DEFAULT = 15  # ⌈√225⌉
MIDDLE = 100_000
SEEDS = 5  # of the paper
PLACE = "App. C.10; App. Fig. 11, caption"


@stable_name("aqka.experiments.nystrom_sweep:measure")
def measure(cell: Cell) -> Result:
    """Measure one seed: both variants at every landmark count and budget, and AQKA."""
    methods: dict[str, Allocator] = {"uniform": Uniform(), "aqka": Aqka()}
    settings: dict[str, Row] = {}
    for variant, allocator in VARIANTS.items():
        for landmarks in cell["landmarks"]:
            name = f"{variant}, {landmarks}"
            methods[name] = allocator(landmarks=landmarks)
            settings[name] = {"variant": variant, "landmarks": landmarks}
    rows = planted_rows(cell, methods)
    return {"rows": [{"landmarks": None} | row | settings.get(row["method"], {}) for row in rows]}


def _name(variant: str, landmarks: int = DEFAULT) -> str:
    return f"{variant}, {landmarks}"


def _best(results: Results, variant: str, budget: int) -> str:
    """Return the method of a variant's best landmark count at a budget."""
    chosen = results.where(variant=variant, budget=budget)
    names: list[str] = chosen.unique("method")
    return max(names, key=lambda name: chosen.mean("accuracy", method=name).value)


def _differences(results: Results) -> dict[tuple[str, int], Estimate]:
    """Return AQKA less the best-tuned Nyström of either variant, at each budget."""
    return {
        (variant, budget): results.gain("aqka", _best(results, variant, budget), budget=budget)
        for variant in VARIANTS
        for budget in results.unique("budget")
    }


def _losses(results: Results) -> dict[tuple[str, int], Estimate]:
    """Return what doubling and quadrupling the default count costs at the middle budget."""
    return {
        (variant, times): results.gain(
            _name(variant), _name(variant, times * DEFAULT), budget=MIDDLE
        )
        for variant in VARIANTS
        for times in (2, 4)
    }


def _lead_of_default(variant: str, results: Results) -> Estimate:
    """Return the default count's lead over the best other one at the middle budget."""
    others = [m for m in results.where(variant=variant).unique("landmarks") if m != DEFAULT]
    return lowest(
        {m: results.gain(_name(variant), _name(variant, m), budget=MIDDLE) for m in others}
    )


def _by_count(results: Results) -> str:
    """Say the accuracies at the middle budget, and the majority's."""
    words = "; ".join(
        f"{row_name} {results.mean('accuracy', method=row_name, budget=MIDDLE)}"
        for row_name in results.where(budget=MIDDLE).unique("method")
    )
    methods = ("aqka", *(_name(variant) for variant in VARIANTS))
    return f"Accuracies at B = {MIDDLE:,}: {words}. {levels_note(results, methods, budget=MIDDLE)}"


def _by_budget(results: Results) -> str:
    words = "; ".join(
        f"{variant} at {budget:,} shots {gain}"
        for (variant, budget), gain in _differences(results).items()
    )
    return f"AQKA less the best count of each variant, in pts: {words}."


def _optimal(variant: str) -> Claim:
    return direction(
        PLACE,
        f"m_ℓ = 15 is the best count for {variant} at B = 10⁵: its lead over the best other",
        lambda r: _lead_of_default(variant, r),
        at_least(),
        _by_count,
    )


def _at_middle(method: str, accuracy: float) -> Claim:
    return stated_level(
        PLACE,
        f"{method} reaches {accuracy} at B = 10⁵",
        accuracy,
        _by_count,
        seeds=SEEDS,
        method=method,
        budget=MIDDLE,
    )


CLAIMS = (
    _at_middle("aqka", 0.816),
    _at_middle(_name("nystrom"), 0.829),
    _at_middle(_name("nystrom-leverage"), 0.819),
    *(_optimal(variant) for variant in VARIANTS),
    *stated_span(
        "App. C.10",
        "doubling or quadrupling m_ℓ costs accuracy at B = 10⁵",
        4.0,
        13.0,
        _losses,
        _by_count,
        seeds=SEEDS,
    ),
    Claim(
        PLACE,
        "AQKA and the best-tuned Nyström of either kind are within ± 2 pts at every budget: "
        "the largest difference",
        Estimate(2.0, count=SEEDS),
        lambda r: largest_size(_differences(r)),
        at_most(),
        _by_budget,
        unit="pts",
    ),
    stated_gain(
        "App. C.10",
        "leverage does not beat random landmarks: -1.0 pts at m_ℓ = 15, B = 10⁵",
        -1.0,
        lambda r: r.gain(_name("nystrom-leverage"), _name("nystrom"), budget=MIDDLE),
        _by_count,
        seeds=SEEDS,
    ),
    direction(
        "App. C.10",
        "AQKA wins at limited budgets (up to 3 × 10⁴): over random Nyström with 15 landmarks",
        lambda r: r.gain("aqka", _name("nystrom"), budget=lambda b: b <= 30_000),
        above(),
        _by_budget,
    ),
    direction(
        "App. C.10",
        "Nyström wins at saturating budgets (from 3 × 10⁵): random, with 15 landmarks, over AQKA",
        lambda r: r.gain(_name("nystrom"), "aqka", budget=lambda b: b >= 300_000),
        above(),
        _by_budget,
    ),
)


class NystromSweep(Experiment):
    """Landmark counts from √N to N/2, random and by leverage."""

    title = "Nyström with tuned landmarks against AQKA"
    place = "Appendix C.10, Figure 11"
    full: ClassVar[Parameters] = {
        "seeds": 20,
        "landmarks": [15, 30, 56, 60, 112],
        "budgets": [10_000, 30_000, MIDDLE, 300_000, LARGEST],
    }
    quick: ClassVar[Parameters] = {"seeds": 2, "landmarks": [15, 30, 60], "budgets": [MIDDLE]}
    claims = CLAIMS
    by = ("method", "budget")

    def figures(self, results: Results) -> "dict[str, Figure]":
        """Draw the best count against the budget, and the sweep at the middle budget."""
        from aqka_research import style

        figure, (best, sweep) = style.new_figure(2, sharey=True)
        for baseline in (EXACT, MAJORITY):
            style.level(best, results.mean("accuracy", method=baseline).value, baseline)
        style.curve(best, style.method_means(results, "accuracy", "aqka"), "aqka")
        for variant in VARIANTS:
            tuned = {
                budget: results.mean(
                    "accuracy", method=_best(results, variant, budget), budget=budget
                )
                for budget in results.unique("budget")
            }
            style.curve(best, tuned, variant)
            counts = results.where(variant=variant, budget=MIDDLE)
            style.curve(sweep, counts.along("landmarks", lambda r: r.mean("accuracy")), variant)
        style.budget_axis(best)
        best.set_title("best landmark count of each budget")
        best.set_ylabel("test accuracy")
        style.level(sweep, results.mean("accuracy", method="aqka", budget=MIDDLE).value, "aqka")
        sweep.set_title(f"B = {MIDDLE:,}")
        sweep.set_xlabel("landmarks")
        style.legend_below(figure, best)
        return {"landmarks": figure}
