"""The AQKA–Nyström hybrid against its two components."""

from typing import TYPE_CHECKING, ClassVar

from aqka_research.reproduce.claims import Claim, above
from aqka_research.reproduce.experiments._base import Experiment, Parameters
from aqka_research.reproduce.experiments._notes import levels_note
from aqka_research.reproduce.experiments._planted import BUDGETS, LARGEST, planted_rows
from aqka_research.reproduce.experiments._stated import direction, stated_gain
from aqka_research.results import Estimate, Results, lowest
from aqka_research.spending import EXACT, MAJORITY
from aqka_research.sweep.store import Cell, Result, stable_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METHODS = ("uniform", "nystrom", "aqka", "hybrid")
COMPONENTS = ("aqka", "nystrom")
NEAR_A_SHOT_A_PAIR = 30_000
SEEDS = 5  # of the paper
PLACE = "Sec. 7; App. C.11; App. Fig. 12, caption"


@stable_name("aqka.experiments.hybrid:measure")
def measure(cell: Cell) -> Result:
    """Measure one seed: every method at every budget."""
    return {"rows": planted_rows(cell, METHODS)}


def _is_limited(budget: int) -> bool:
    return 3000 <= budget <= 100_000


def _is_saturating(budget: int) -> bool:
    return budget >= 300_000


def _smallest_lead(results: Results) -> Estimate:
    """Return the hybrid's smallest lead over a component at a limited budget."""
    return lowest(
        {
            (component, budget): results.gain("hybrid", component, budget=budget)
            for component in COMPONENTS
            for budget in results.where(budget=_is_limited).unique("budget")
        }
    )


def _leads(results: Results) -> str:
    words = "; ".join(
        f"{budget:,} shots {results.gain('hybrid', 'aqka', budget=budget)} and "
        f"{results.gain('hybrid', 'nystrom', budget=budget)}"
        for budget in results.unique("budget")
    )
    return f"The hybrid's lead over AQKA and over Nyström, in pts: {words}."


def _levels(results: Results) -> str:
    note = levels_note(results, METHODS, budget=NEAR_A_SHOT_A_PAIR)
    return f"{_leads(results)} {note}"


def _gain(method: str, baseline: str, points: float) -> Claim:
    return stated_gain(
        PLACE,
        f"B = 3 × 10⁴: {method} - {baseline} is {points:+g} pts",
        points,
        lambda r: r.gain(method, baseline, budget=NEAR_A_SHOT_A_PAIR),
        _levels,
        seeds=SEEDS,
    )


def _improvement(component: str) -> Claim:
    return direction(
        "App. C.11; App. Fig. 12, caption",
        f"the hybrid improves over {component} for B in [3 × 10³, 10⁵], on average",
        lambda r: r.gain("hybrid", component, budget=_is_limited),
        above(),
        _levels,
    )


CLAIMS = (
    _gain("hybrid", "uniform", 22.0),
    _gain("aqka", "uniform", 17.0),
    _gain("nystrom", "uniform", 10.0),
    _gain("hybrid", "aqka", 5.0),
    _gain("hybrid", "nystrom", 12.0),
    direction(
        "App. C.11; App. Fig. 12, caption",
        "the hybrid strictly improves over both components for B in [3 × 10³, 10⁵]: its "
        "smallest lead",
        _smallest_lead,
        above(),
        _levels,
    ),
    *(_improvement(component) for component in COMPONENTS),
    direction(
        "App. C.11; App. Fig. 12, caption",
        "AQKA reclaims the lead over the hybrid for B ≥ 3 × 10⁵",
        lambda r: r.gain("aqka", "hybrid", budget=_is_saturating),
        above(),
        _levels,
    ),
)


class Hybrid(Experiment):
    """The hybrid, AQKA, random Nyström and uniform on the planted-sparse task."""

    title = "AQKA–Nyström hybrid against its components"
    place = "Section 7; Appendix C.11, Figure 12"
    full: ClassVar[Parameters] = {"seeds": 20, "budgets": BUDGETS}
    quick: ClassVar[Parameters] = {"seeds": 2, "budgets": [3000, NEAR_A_SHOT_A_PAIR, LARGEST]}
    claims = CLAIMS

    def figures(self, results: Results) -> "dict[str, Figure]":
        """Draw accuracy (Appendix Figure 12)."""
        from aqka_research import style

        figure = style.method_panels(results, METHODS, levels=(EXACT, MAJORITY))
        figure.suptitle("planted-sparse RBF, N = 225, m = 10, 15 landmarks")
        return {"accuracy": figure}
