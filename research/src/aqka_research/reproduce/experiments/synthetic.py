"""Planted-sparse ridge regression on an RBF kernel: accuracy and error against the budget."""

import math
from typing import TYPE_CHECKING, ClassVar

from aqka_research.reproduce.claims import Claim, above, at_least, at_most, factor, within
from aqka_research.reproduce.experiments._base import Experiment, Parameters
from aqka_research.reproduce.experiments._planted import (
    LARGEST,
    N_ANCHORS,
    N_PAIRS,
    N_TRAIN,
    beyond_a_shot_a_pair,
    planted_rows,
)
from aqka_research.results import Estimate, Results, highest, lowest
from aqka_research.spending import EXACT, MAJORITY
from aqka_research.sweep.store import Cell, Result, stable_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METHODS = ("uniform", "random", "bernoulli", "leverage", "aqka", "aqka-oracle")
SEEDS = 5  # of the paper; we take more


@stable_name("aqka.experiments.synthetic:measure")
def measure(cell: Cell) -> Result:
    """Measure one seed: every method at every budget."""
    return {"rows": planted_rows(cell, cell.get("methods", METHODS))}


def _accuracies(results: Results, method: str) -> dict[int, Estimate]:
    return results.along("budget", lambda r: r.mean("accuracy"), method=method)


def _gains(results: Results) -> dict[int, Estimate]:
    """Return AQKA's gain over uniform at every budget beyond one shot a pair."""
    return results.along("budget", lambda r: r.gain("aqka", "uniform"), budget=beyond_a_shot_a_pair)


def _largest_gap(results: Results) -> Estimate:
    """Return how far AQKA falls behind the exact kernel at worst, beyond one shot a pair."""
    exact = results.mean("accuracy", method=EXACT)
    return (exact - lowest(_accuracies(results.where(budget=beyond_a_shot_a_pair), "aqka"))) * 100


def _fall(results: Results) -> Estimate:
    """Return how far uniform falls from its best budget to the largest one."""
    best = highest(_accuracies(results, "uniform"))
    return (best - results.mean("accuracy", method="uniform", budget=LARGEST)) * 100


def _climb(results: Results) -> Estimate:
    """Return how far uniform rises from the smallest budget to its best one."""
    accuracies = _accuracies(results, "uniform")
    return (highest(accuracies) - accuracies[min(accuracies)]) * 100


def _levels(results: Results) -> str:
    """Say what stands behind every accuracy of this task."""
    if results.protocol == "fair":
        uniform = results.mean("accuracy", method="uniform", budget=beyond_a_shot_a_pair)
        return (
            f"Under the fair protocol uniform itself reaches {uniform} beyond one shot a pair. It "
            "changes ridge, diagonal and the reading of unseen pairs together; their "
            "effects are not separated here."
        )
    majority = results.mean("accuracy", method=MAJORITY)
    balanced = {
        method: results.mean("balanced_accuracy", method=method, budget=beyond_a_shot_a_pair)
        for method in ("uniform", "aqka")
    }
    return (
        f"As the paper describes the task, the majority class is right on {majority} of the test "
        f"points. Beyond one shot a pair the balanced accuracy of uniform is {balanced['uniform']} "
        f"and AQKA's {balanced['aqka']}. The paper gives γ only as a range (we use 0.1) and does "
        "not say how it drew its five problems."
    )


def _same_gains(results: Results) -> str:
    """Say which methods gain alike."""
    words = ", ".join(
        f"{method} {results.gain(method, 'uniform', budget=beyond_a_shot_a_pair)}"
        for method in ("aqka", "bernoulli", "leverage", "aqka-oracle")
    )
    return f"Mean gains beyond one shot a pair, in pts: {words}."


def _few_seen(results: Results) -> str:
    """Say why a low-budget error measures how few pairs are seen."""
    words = [
        f"{method} sees {results.mean('seen', method=method, budget=3000) * 100} % of the pairs "
        f"and errs by {results.mean('mse', method=method, budget=3000)}"
        for method in ("uniform", "aqka", "aqka-oracle")
    ]
    return f"At this budget most pairs are unseen: {'; '.join(words)}. " + (
        "Read as 0, the diagonal too, with a ridge of 0.01, an unseen row gives α = y/0.01, so "
        "the error follows how little is seen, and AQKA, which repeats pairs, sees least. We do "
        "not know what gave the paper's factor."
        if results.protocol == "paper"
        else "With the diagonal known and a tuned ridge both errors are small."
    )


def _tuning_note(results: Results, otherwise: str) -> str:
    if results.protocol == "fair":
        return "The cross-validated ridge is not the one that the targets were planted with."
    return otherwise


def _errors(results: Results) -> str:
    """Say AQKA's and uniform's errors at every budget from one shot a pair."""
    chosen = results.where(budget=beyond_a_shot_a_pair)
    words = "; ".join(
        f"{budget:,} shots: {chosen.mean('mse', method='aqka', budget=budget)} and "
        f"{chosen.mean('mse', method='uniform', budget=budget)}"
        for budget in chosen.unique("budget")
    )
    return f"Mean squared errors of AQKA and of uniform: {words}."


def _rise(results: Results) -> Estimate:
    """Return AQKA's error at the largest budget over the one at its best budget."""
    errors = results.along("budget", lambda r: r.mean("mse"), method="aqka")
    best, last = lowest(errors), errors[max(errors)]
    relative = math.hypot(best.error / best.value, last.error / last.value)
    value = last.value / best.value
    return Estimate(value, value * relative, last.count)


def _higher_error(budget: int, words: str) -> Claim:
    """Return the claim about high budgets, for one meaning of "high".

    The paper: "target-fill drives MSE up at high B (as it under-resolves non-anchor entries)"
    and "At high budgets, target-fill methods over-concentrate shots on anchor pairs, causing
    larger MSE on the un-anchored block". It says neither how high nor larger than what, so each
    reading is a claim of its own, and a mean over budgets, which the lowest would dominate, none.
    """
    return Claim(
        "Sec. 5.1; App. C.2",
        "at high B target-fill's MSE is larger, read as: "
        f"than uniform's at B = {budget:,} ({words})",
        Estimate(1.0),
        lambda r: r.ratio("mse", "aqka", "uniform", budget=budget),
        above(),
        _errors,
        unit="times",
    )


CLAIMS = (
    Claim(
        "Fig. 1, caption",
        "the full-shot kernel has a test accuracy of 1.00",
        Estimate(1.0),
        lambda r: r.mean("accuracy", method=EXACT),
        within(0.005),
        lambda r: _tuning_note(r, "The head should find the planted coefficients and does not."),
    ),
    Claim(
        "Sec. 5.1; Fig. 1, caption",
        "target-est reaches ≈ 0.85 beyond B ≈ n_pairs",
        Estimate(0.85, count=SEEDS),
        lambda r: r.mean("accuracy", method="aqka", budget=beyond_a_shot_a_pair),
        within(0.02),
        _levels,
    ),
    Claim(
        "Sec. 5.1",
        "target-est stays within ~15 pts of the exact kernel's accuracy",
        Estimate(15.0, count=SEEDS),
        _largest_gap,
        at_most(),
        _levels,
        unit="pts",
    ),
    Claim(
        "Sec. 5.1",
        "uniform drops to 0.66 at large B",
        Estimate(0.66, count=SEEDS),
        lambda r: r.mean("accuracy", method="uniform", budget=LARGEST),
        within(),
        _levels,
    ),
    Claim(
        "Fig. 1, caption",
        "random drops below 0.7 at large B",
        Estimate(0.7, count=SEEDS),
        lambda r: r.mean("accuracy", method="random", budget=LARGEST),
        at_most(),
        _levels,
    ),
    Claim(
        "Sec. 5.1",
        "uniform first climbs: its best budget is above the smallest",
        Estimate(0.0),
        _climb,
        above(),
        lambda r: (
            "Uniform's accuracies: "
            + ", ".join(f"{level} at {b:,} shots" for b, level in _accuracies(r, "uniform").items())
            + "."
        ),
        unit="pts",
    ),
    Claim(
        "Sec. 5.1",
        "uniform then drops: its best budget is not the largest",
        Estimate(0.0),
        _fall,
        above(),
        _levels,
        unit="pts",
    ),
    Claim(
        "Sec. 5.1; Sec. 5.5",
        "the gain over uniform is +10 to +24 pts: at least +10",
        Estimate(10.0, count=SEEDS),
        lambda r: lowest(_gains(r)),
        at_least(),
        lambda r: f"{_same_gains(r)} {_levels(r)}",
        reference=0.0,
        unit="pts",
    ),
    Claim(
        "Sec. 5.1; Sec. 5.5",
        "the gain over uniform is +10 to +24 pts: up to +24",
        Estimate(24.0, count=SEEDS),
        lambda r: highest(_gains(r)),
        within(),
        lambda r: f"{_same_gains(r)} {_levels(r)}",
        reference=0.0,
        unit="pts",
    ),
    Claim(
        "App. Fig. 2, caption",
        "at B = 3000 uniform's test MSE is 7.7 times target-est's",
        Estimate(7.7, count=SEEDS),
        lambda r: r.ratio("mse", "uniform", "aqka", budget=3000),
        factor(1.5),
        _few_seen,
        reference=1.0,
        unit="times",
    ),
    _higher_error(100_000, "where App. C.5 sees uniform drop"),
    _higher_error(300_000, "'very high budgets' of App. C.17"),
    _higher_error(LARGEST, "'deep saturation' of App. C.5"),
    Claim(
        "Sec. 5.1",
        "target-fill drives MSE up at high B, read as: from its best budget to the largest",
        Estimate(1.0),
        _rise,
        above(),
        _errors,
        unit="times",
    ),
    Claim(
        "App. Fig. 2, caption",
        "the MSE of the exact kernel is below 1e-10",
        Estimate(1e-10),
        lambda r: r.mean("mse", method=EXACT),
        at_most(),
        lambda r: _tuning_note(r, "Raising small eigenvalues to 1e-6 moves the solution."),
    ),
    Claim(
        "Sec. 5.1",
        "n_pairs ≈ 25,000",
        Estimate(25_000),
        lambda r: Estimate(float(N_PAIRS)),
        factor(1.02),
        lambda r: f"225 points have {N_PAIRS} pairs.",
        unit="pairs",
    ),
    Claim(
        "Sec. 5, planted-sparse construction",
        "about 0.4 % of the pairs have |α_i α_j| > 0 at m = 10",
        Estimate(0.4),
        lambda r: Estimate(100 * N_ANCHORS * (N_ANCHORS + 1) / 2 / N_PAIRS),
        factor(1.25),
        lambda r: (
            f"m²/N² is {100 * N_ANCHORS**2 / N_TRAIN**2:.1f} % at {N_TRAIN} points and "
            f"{100 * N_ANCHORS**2 / 150**2:.1f} % at 150, the size of the quantum experiment "
            "(docs/explanation/errata.md)."
        ),
        unit="%",
    ),
)


class Synthetic(Experiment):
    """Six methods on the planted-sparse task at 225 points."""

    title = "Planted-sparse RBF: accuracy and test error against the budget"
    place = "Section 5.1, main Figure 1; Appendix C.2, Figure 2"
    full: ClassVar[Parameters] = {
        "seeds": 20,
        "budgets": [1000, 3000, 10_000, 30_000, 100_000, 300_000, LARGEST],
    }
    quick: ClassVar[Parameters] = {"seeds": 2, "budgets": [3000, 30_000, LARGEST]}
    claims = CLAIMS
    measures = ("accuracy", "balanced_accuracy", "correlation", "mse")

    def figures(self, results: Results) -> "dict[str, Figure]":
        """Draw accuracy (main Figure 1) and test error (Appendix Figure 2)."""
        from aqka_research import style

        title = f"planted-sparse RBF, N = {N_TRAIN}, m = {N_ANCHORS}"
        accuracy = style.method_panels(results, METHODS, levels=(EXACT, MAJORITY))
        accuracy.suptitle(title)
        return {"accuracy": accuracy, "mse": style.error_figure(results, METHODS, title)}
