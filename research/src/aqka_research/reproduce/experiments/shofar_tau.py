"""ShoFaR-style allocation with its support threshold tuned for every budget, against AQKA."""

from typing import TYPE_CHECKING, ClassVar

from aqka._util import colours
from aqka.allocators import Allocator
from aqka.allocators.aqka import Aqka
from aqka.allocators.baselines import Shofar, Uniform
from aqka_research.reproduce.claims import Claim, at_least, at_most
from aqka_research.reproduce.experiments._base import Experiment, Parameters
from aqka_research.reproduce.experiments._notes import levels_note
from aqka_research.reproduce.experiments._planted import BUDGETS, LARGEST, planted_rows
from aqka_research.reproduce.experiments._stated import direction, stated_gain
from aqka_research.results import Estimate, Results, highest
from aqka_research.spending import EXACT, MAJORITY
from aqka_research.sweep.store import Cell, Result, stable_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEEDS = 3  # of the paper
TABLE, FIGURE, TEXT = "App. Table 2", "App. Fig. 13, caption", "App. C.12"
STATED = {
    3000: (0.01, 5.3, -8.0),
    10_000: (0.10, 6.7, 3.1),
    30_000: (0.20, 10.2, 11.1),
    100_000: (0.01, 7.1, 24.0),
    300_000: (0.02, 0.9, 8.0),
    LARGEST: (0.20, -1.8, 10.7),
}
"""The paper's Table 2: best τ, ShoFaR's gain with it and AQKA's gain, by budget."""


@stable_name("aqka.experiments.shofar_tau:measure")
def measure(cell: Cell) -> Result:
    """Measure one seed: every threshold and AQKA at every budget."""
    methods: dict[str, Allocator] = {"uniform": Uniform(), "aqka": Aqka()}
    methods |= {_name(tau): Shofar(threshold=tau) for tau in cell["thresholds"]}
    return {"rows": planted_rows(cell, methods)}


def _name(tau: float) -> str:
    return f"shofar, {tau:.2f}"


def _best(results: Results, budget: int) -> str:
    """Return the best threshold's method at a budget."""
    chosen = results.where(budget=budget, method=lambda name: name.startswith("shofar"))
    names: list[str] = chosen.unique("method")
    return max(names, key=lambda name: chosen.mean("accuracy", method=name).value)


def _behind(results: Results, tau: float, budget: int) -> Estimate:
    """Return by how much a threshold falls behind the best one."""
    return results.gain(_best(results, budget), _name(tau), budget=budget)


def _margins(results: Results, least: int) -> dict[int, Estimate]:
    """Return the lead of the best threshold over AQKA at each budget from ``least``."""
    budgets = results.where(budget=lambda b: b >= least).unique("budget")
    return {b: results.gain(_best(results, b), "aqka", budget=b) for b in budgets}


def _table(results: Results) -> str:
    """Say our version of the paper's Table 2."""
    words = "; ".join(
        f"{budget:,} shots: {_best(results, budget)} gains "
        f"{results.gain(_best(results, budget), 'uniform', budget=budget)}, AQKA "
        f"{results.gain('aqka', 'uniform', budget=budget)}"
        for budget in results.unique("budget")
    )
    return f"Our best threshold at each budget, gains over uniform in pts: {words}."


def _why(results: Results, budget: int) -> str:
    return levels_note(results, ("uniform", "aqka", _best(results, budget)), budget=budget)


def _rows(budget: int) -> tuple[Claim, Claim, Claim]:
    """Return the claims of one row of Table 2."""
    tau, shofar, aqka = STATED[budget]
    return (
        Claim(
            f"{TABLE}; {FIGURE}",
            f"B = {budget:,}: τ = {tau:.2f} is the best; how far it is behind ours",
            Estimate(0.0),
            lambda r: _behind(r, tau, budget),
            at_most(),
            _table,
            unit="pts",
        ),
        stated_gain(
            TABLE,
            f"B = {budget:,}: ShoFaR with the best τ gains {shofar:+g} pts over uniform",
            shofar,
            lambda r: r.gain(_best(r, budget), "uniform", budget=budget),
            lambda r: _why(r, budget),
            seeds=SEEDS,
        ),
        stated_gain(
            TABLE,
            f"B = {budget:,}: AQKA gains {aqka:+g} pts over uniform",
            aqka,
            lambda r: r.gain("aqka", "uniform", budget=budget),
            lambda r: _why(r, budget),
            seeds=SEEDS,
        ),
    )


def _at_default(results: Results) -> Estimate:
    """Return how far τ = 0.05 falls behind the best τ at worst, for B ≥ 10⁴."""
    budgets = results.where(budget=lambda b: b >= 10_000).unique("budget")
    return highest({budget: _behind(results, 0.05, budget) for budget in budgets})


CLAIMS = (
    *(claim for budget in STATED for claim in _rows(budget)),
    Claim(
        FIGURE,
        "no single τ is the best at all budgets: number of different ones",
        Estimate(2.0),
        lambda r: Estimate(float(len({_best(r, budget) for budget in r.unique("budget")}))),
        at_least(),
        _table,
    ),
    direction(
        FIGURE,
        "ShoFaR with the best τ does not beat AQKA for B ≥ 3 × 10⁴: its largest lead",
        lambda r: highest(_margins(r, 30_000)),
        at_most(),
        _table,
    ),
    direction(
        TEXT,
        "ShoFaR with the best τ does not beat AQKA for B ≥ 10⁵: its largest lead",
        lambda r: highest(_margins(r, 100_000)),
        at_most(),
        _table,
    ),
    stated_gain(
        FIGURE,
        "B = 10⁵: AQKA is 17 pts ahead of ShoFaR with the best τ",
        17.0,
        lambda r: r.gain("aqka", _best(r, 100_000), budget=100_000),
        lambda r: _why(r, 100_000),
        seeds=SEEDS,
    ),
    stated_gain(
        TEXT,
        "B = 3000: ShoFaR with τ = 0.01 is 13 pts ahead of AQKA",
        13.0,
        lambda r: r.gain(_name(0.01), "aqka", budget=3000),
        lambda r: _why(r, 3000),
        seeds=SEEDS,
    ),
    Claim(
        TEXT,
        "τ = 0.05 is within 4 pts of the best τ at every B ≥ 10⁴: the furthest behind",
        Estimate(4.0, count=SEEDS),
        _at_default,
        at_most(),
        _table,
        unit="pts",
    ),
)


class ShofarTau(Experiment):
    """Five thresholds of ShoFaR-style allocation, AQKA and uniform."""

    title = "ShoFaR-style allocation with a tuned threshold against AQKA"
    place = "Appendix C.12, Figure 13, Table 2"
    full: ClassVar[Parameters] = {
        "seeds": 20,
        "thresholds": [0.01, 0.02, 0.05, 0.10, 0.20],
        "budgets": BUDGETS,
    }
    quick: ClassVar[Parameters] = {
        "seeds": 2,
        "thresholds": [0.01, 0.05, 0.20],
        "budgets": [3000, 100_000],
    }
    claims = CLAIMS

    def figures(self, results: Results) -> "dict[str, Figure]":
        """Draw accuracy of every threshold, AQKA and uniform (Appendix Figure 13)."""
        from aqka_research import style

        names = sorted({row["method"] for row in results.rows if "shofar" in row["method"]})
        palette = (colours.SKY, colours.BLUE, colours.PURPLE, colours.ORANGE, colours.GREEN)
        looks = {
            name: {"color": colour, "marker": "P", "ls": "--"}
            for name, colour in zip(names, palette, strict=False)
        }
        methods = ("uniform", *names, "aqka")
        figure = style.method_panels(results, methods, levels=(EXACT, MAJORITY), looks=looks)
        figure.suptitle("planted-sparse RBF, N = 225, m = 10")
        return {"accuracy": figure}
