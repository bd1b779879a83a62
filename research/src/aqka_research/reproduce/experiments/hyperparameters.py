"""AQKA's gain over uniform for other warm-ups, explorations and numbers of rounds."""

from typing import TYPE_CHECKING, ClassVar

from aqka.allocators.schedule import Schedule
from aqka_research.reproduce.claims import Claim, at_least, at_most
from aqka_research.reproduce.experiments._base import Experiment, Parameters
from aqka_research.reproduce.experiments._notes import levels_note
from aqka_research.reproduce.experiments._planted import planted_task
from aqka_research.reproduce.experiments._stated import direction, largest_size, stated_gain
from aqka_research.results import Estimate, Results, Row, highest, lowest
from aqka_research.spending import baseline_rows, exact_decision, session_row, spend
from aqka_research.sweep.store import Cell, Result, stable_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEFAULT = Schedule()
LOW, BUDGET = 3000, 100_000  # far below one shot a pair, and Table 5's
STATED = {
    (0.1, 0.1): 11.0,
    (0.2, 0.1): 12.5,
    (0.3, 0.1): 12.1,
    (0.1, 0.2): 12.8,
    (0.2, 0.2): 13.7,
    (0.3, 0.2): 13.0,
    (0.1, 0.4): 11.4,
    (0.2, 0.4): 11.9,
    (0.3, 0.4): 10.6,
}
"""The paper's Table 5: gain by warm-up and exploration."""
SEEDS = 5  # the least of the paper, which gives no number for this table
PLACE = "App. C.18; App. Table 5"


@stable_name("aqka.experiments.hyperparameters:measure")
def measure(cell: Cell) -> Result:
    """Measure one seed: uniform, and AQKA under every schedule, at every budget."""
    task = planted_task(cell["seed"], cell["protocol"])
    exact = exact_decision(task)
    schedules = [
        Schedule(warmup=warmup, explore=explore)
        for warmup in cell["warmups"]
        for explore in cell["explorations"]
    ]
    schedules += [Schedule(rounds=rounds) for rounds in cell["rounds"] if rounds != DEFAULT.rounds]
    rows = baseline_rows(task, cell["protocol"])
    for budget in cell["budgets"]:
        uniform = spend(task, "uniform", budget, cell["protocol"], cell["seed"])
        rows.append(session_row(task, uniform, exact) | {"method": "uniform", "budget": budget})
        for schedule in schedules:
            session = spend(task, "aqka", budget, cell["protocol"], cell["seed"], schedule)
            row: Row = {"method": _name(schedule), "budget": budget}
            rows.append(row | session_row(task, session, exact))
    return {"rows": rows}


def _name(schedule: Schedule) -> str:
    return f"η_w {schedule.warmup:g}, η_e {schedule.explore:g}, T {schedule.rounds}"


def _at(warmup: float, explore: float) -> str:
    return _name(Schedule(warmup=warmup, explore=explore))


def _rounds(rounds: int) -> str:
    return _name(Schedule(rounds=rounds))


def _gains(results: Results) -> dict[tuple[float, float], Estimate]:
    """Return our version of Table 5."""
    return {key: results.gain(_at(*key), "uniform", budget=BUDGET) for key in STATED}


def _spread(estimates: dict[tuple[float, float], Estimate]) -> Estimate:
    return highest(estimates) - lowest(estimates)


def _against_default(results: Results, names: list[str]) -> Estimate:
    """Return the largest change of accuracy from the default schedule, in points."""
    default = _name(DEFAULT)
    return largest_size({name: results.gain(name, default, budget=BUDGET) for name in names})


def _table(results: Results) -> str:
    words = "; ".join(
        f"({warmup}, {explore}) {gain}" for (warmup, explore), gain in _gains(results).items()
    )
    note = levels_note(results, ("uniform", _name(DEFAULT)), budget=BUDGET)
    return f"Gains over uniform by (η_w, η_e), in pts: {words}. {note}"


def _by_rounds(results: Results) -> str:
    words = "; ".join(
        f"T = {rounds}: {results.gain(_rounds(rounds), 'uniform', budget=budget)}"
        f" at {budget:,} shots"
        for budget in (LOW, BUDGET)
        for rounds in (1, 2, 4, 8)
    )
    return f"Gains over uniform, in pts: {words}."


def _cell(warmup: float, explore: float) -> Claim:
    points = STATED[warmup, explore]
    return stated_gain(
        PLACE,
        f"η_w = {warmup}, η_e = {explore}: the gain over uniform is {points:+g} pts",
        points,
        lambda r: r.gain(_at(warmup, explore), "uniform", budget=BUDGET),
        _table,
        seeds=SEEDS,
    )


def _fewer_rounds(rounds: int) -> Claim:
    return stated_gain(
        "App. C.9",
        f"T = {rounds} instead of 4 costs ~3 pts of accuracy at B far below n_pairs",
        3.0,
        lambda r: r.gain(_name(DEFAULT), _rounds(rounds), budget=LOW),
        _by_rounds,
        seeds=SEEDS,
    )


CLAIMS = (
    *(_cell(*key) for key in STATED),
    Claim(
        PLACE,
        "the gain varies by less than 3 pts over the grid: largest less smallest",
        Estimate(3.0),
        lambda r: _spread(_gains(r)),
        at_most(),
        _table,
        unit="pts",
    ),
    direction(
        PLACE,
        "(0.2, 0.2) is the best of the grid: its lead over the best other",
        lambda r: lowest(
            {
                key: r.gain(_name(DEFAULT), _at(*key), budget=BUDGET)
                for key in STATED
                if key != (0.2, 0.2)
            }
        ),
        at_least(),
        _table,
    ),
    Claim(
        "App. B.6; Sec. 5.5",
        "η_w and η_e in [0.1, 0.4] change accuracy by at most 3 pts from the default",
        Estimate(3.0),
        lambda r: _against_default(
            r, [*(_at(w, 0.2) for w in (0.1, 0.3, 0.4)), *(_at(0.2, e) for e in (0.1, 0.4))]
        ),
        at_most(),
        _table,
        unit="pts",
    ),
    Claim(
        "App. B.6",
        "T in {2, 4, 8} changes accuracy by at most 3 pts from the default",
        Estimate(3.0),
        lambda r: _against_default(r, [_rounds(2), _rounds(8)]),
        at_most(),
        _by_rounds,
        unit="pts",
    ),
    *(_fewer_rounds(rounds) for rounds in (1, 2)),
    stated_gain(
        "Sec. 5.5",
        "reducing η_w from 0.3 to 0.1 costs ~2 pts at low B",
        2.0,
        lambda r: r.gain(_at(0.3, 0.2), _at(0.1, 0.2), budget=LOW),
        lambda r: levels_note(r, (_at(0.1, 0.2), _at(0.3, 0.2)), budget=LOW),
        seeds=SEEDS,
    ),
)


class Hyperparameters(Experiment):
    """AQKA's schedule varied around the paper's default."""

    title = "Gain over uniform for other warm-ups, explorations and rounds"
    place = "Appendix C.18, Table 5; Appendix B.6; Section 5.5"
    full: ClassVar[Parameters] = {
        "seeds": 20,
        "warmups": [0.1, 0.2, 0.3, 0.4],
        "explorations": [0.1, 0.2, 0.4],
        "rounds": [1, 2, 4, 8],
        "budgets": [BUDGET, LOW],
    }
    quick: ClassVar[Parameters] = {
        "seeds": 2,
        "warmups": [0.1, 0.2],
        "explorations": [0.2],
        "rounds": [2, 4],
        "budgets": [BUDGET],
    }
    claims = CLAIMS

    def figures(self, results: Results) -> "dict[str, Figure]":
        """Draw the gains of Table 5 by warm-up, and those of the numbers of rounds."""
        from aqka_research import style

        figure, (fractions, rounds) = style.new_figure(2, sharey=True)
        at = results.where(budget=BUDGET)
        names = set(at.unique("method"))
        for explore, colour, marker in zip((0.1, 0.2, 0.4), style.COLOURS, "osD", strict=False):
            gains = {
                warmup: at.gain(_at(warmup, explore), "uniform")
                for warmup in (0.1, 0.2, 0.3, 0.4)
                if _at(warmup, explore) in names
            }
            if gains:
                style.curve(fractions, gains, f"η_e = {explore}", color=colour, marker=marker)
        fractions.set_xlabel("warm-up fraction η_w")
        fractions.set_ylabel("accuracy gain over uniform, pts")
        counts = {t: at.gain(_rounds(t), "uniform") for t in (1, 2, 4, 8) if _rounds(t) in names}
        style.curve(rounds, counts, "aqka")
        rounds.set_xlabel("rounds T")
        for axes in (fractions, rounds):
            style.level(axes, 0.0, "uniform")
        style.legend_below(figure, fractions)
        figure.suptitle(f"planted-sparse RBF, N = 225, m = 10, B = {BUDGET:,}")
        return {"gain": figure}
