"""Labels that a random unitary gives, on the plain ZZ kernel."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from aqka.learners import labels_of
from aqka_research.chosen_tasks import labelled
from aqka_research.protocols import task_choices
from aqka_research.reproduce.claims import Claim, factor, within
from aqka_research.reproduce.experiments._base import Experiment, Parameters
from aqka_research.results import Estimate, Results, Row, highest, lowest
from aqka_research.spending import (
    EXACT,
    MAJORITY,
    SIGNS,
    all_rows,
    baseline_rows,
    decision_row,
    exact_decision,
    n_pairs,
)
from aqka_research.sweep.store import Cell, Result, stable_name
from aqka_research.tasks import Task, ad_hoc

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_TRAIN, N_TEST, LARGEST = 80, 40, 1_000_000
METHODS = {
    "ridge": ("uniform", "random", "shofar", "nystrom", "aqka"),
    "SVM": ("uniform", "random", "shofar", "nystrom", "aqka-svm"),
}
LEARNERS = {"ridge": None, "SVM": "svm"}
MORE = "exact kernel, more points"


@stable_name("aqka.experiments.havlicek:measure")
def measure(cell: Cell) -> Result:
    """Measure one seed: both heads, and the exact kernel on more training points."""
    protocol, seed = cell["protocol"], cell["seed"]
    n_test = task_choices(protocol).n_test(cell["n_train"], N_TEST)
    task = labelled(protocol, ad_hoc, cell["n_train"], n_test, seed)
    rows: list[Row] = []
    for head, methods in METHODS.items():
        learner = LEARNERS[head]
        found = baseline_rows(task, protocol, learner)
        found[0]["training_accuracy"] = _training_accuracy(task, learner)
        found += all_rows(task, methods, cell["budgets"], protocol, seed, learner=learner)
        rows += [row | {"head": head} for row in found]
    for points in cell["more_points"]:
        larger = ad_hoc(points, n_test=400, seed=seed)
        for head, learner in LEARNERS.items():
            exact = exact_decision(larger, learner)
            row = decision_row(larger, exact, exact)
            rows.append(row | {"method": MORE, "head": head, "points": points})
    return {"rows": rows}


def _training_accuracy(task: Task, learner: str | None) -> float:
    """Return the accuracy of the exact kernel on the points it was trained on."""
    at_home = exact_decision(replace(task, test_kernel=task.kernel), learner)
    return float(np.mean(labels_of(at_home, SIGNS) == task.y))


def _at_largest(results: Results, head: str) -> dict[str, Estimate]:
    """Return every method's accuracy at the largest budget."""
    chosen = results.where(head=head, budget=LARGEST)
    return {method: chosen.mean("accuracy", method=method) for method in METHODS[head]}


def _why(head: str) -> Callable[[Results], str]:
    """Say what separates shot noise, too few points and a kernel that does not fit."""

    def why(results: Results) -> str:
        chosen = results.where(head=head)
        grown = ", ".join(
            f"{accuracy} ({points} points)"
            for points, accuracy in chosen.along(
                "points", lambda r: r.mean("accuracy"), method=MORE
            ).items()
        )
        words = ", ".join(f"{m} {a}" for m, a in _at_largest(results, head).items())
        exact = chosen.mean("accuracy", method=EXACT)
        return (
            f"Without any shot noise the accuracy at {N_TRAIN} training points is "
            f"{exact} ({head}); with more points: {grown}. On the training points "
            f"themselves it is {chosen.mean('training_accuracy', method=EXACT)}. "
            f"The label is a linear function of |φ⟩⟨φ|, so it lies in the kernel's space of at "
            f"most 256 dimensions (docs/explanation/errata.md); the exact kernel has no shot "
            "noise, so what it misses is due to the number of points. "
            f"At {LARGEST:,} shots: {words}; the majority class "
            f"{chosen.mean('accuracy', method=MAJORITY)}. Single problems, of another unitary "
            f"each, scatter by {exact.error * exact.count**0.5:.2f} about their mean; the paper "
            "does not say how many it took, nor its number of test points (ours: 40)."
        )

    return why


def _exact(head: str, setting: str) -> Claim:
    return Claim(
        "App. C.13; Fig. 14, caption",
        f"the exact kernel has a test accuracy of 1.00 under {head} ({setting})",
        Estimate(1.0),
        lambda r: r.mean("accuracy", method=EXACT, head=head),
        within(0.01),
        _why(head),
    )


def _plateau(head: str, which: str, pick: Callable[..., Estimate]) -> Claim:
    return Claim(
        "App. C.13; Fig. 14a and b",
        f"{head}: every method is near 0.60 at 10⁶ shots; the {which}",
        Estimate(0.60),
        lambda r: pick(_at_largest(r, head)),
        within(0.05),
        _why(head),
    )


def _floor(head: str) -> Claim:
    return Claim(
        "App. C.13; Fig. 14, caption",
        f"{head}: near 0.60 at all budgets; the mean of all methods",
        Estimate(0.60),
        lambda r: r.mean("accuracy", head=head, budget=lambda b: b > 0),
        within(0.05),
        _why(head),
    )


CLAIMS = (
    _exact("ridge", "λ = 0.5"),
    _exact("SVM", "C = 5"),
    _plateau("ridge", "lowest", lowest),
    _plateau("ridge", "highest", highest),
    _plateau("SVM", "lowest", lowest),
    _plateau("SVM", "highest", highest),
    _floor("ridge"),
    _floor("SVM"),
    Claim(
        "App. C.13",
        "AQKA inherits the limit but does not amplify it: its gain at 10⁶ shots (5 pts)",
        Estimate(0.0),
        lambda r: r.gain("aqka", "uniform", head="ridge", budget=LARGEST),
        within(5.0),
        _why("ridge"),
        unit="pts",
    ),
    Claim(
        "App. C.13",
        "10⁶ shots are about 300 a pair",
        Estimate(300),
        lambda r: Estimate(LARGEST / n_pairs(N_TRAIN)),
        factor(1.05),
        lambda r: f"{N_TRAIN} points have {n_pairs(N_TRAIN)} pairs.",
        unit="shots",
    ),
)


class Havlicek(Experiment):
    """Five methods and two heads on labels of a random unitary."""

    title = "Labels of a random unitary on the plain ZZ kernel"
    place = "Appendix C.13, Figure 14a and b"
    full: ClassVar[Parameters] = {
        "seeds": 20,
        "n_train": N_TRAIN,
        "budgets": [1000, 3000, 10_000, 30_000, 100_000, 300_000, LARGEST],
        "more_points": [320, 1280],
    }
    quick: ClassVar[Parameters] = {
        "seeds": 2,
        "n_train": N_TRAIN,
        "budgets": [3000, LARGEST],
        "more_points": [320],
    }
    claims = CLAIMS
    by = ("head", "method", "budget", "points")
    measures = ("accuracy", "balanced_accuracy", "correlation", "training_accuracy")

    def figures(self, results: Results) -> "dict[str, Figure]":
        """Draw accuracy against the budget, a panel per head."""
        from aqka_research import style

        figure, panels = style.new_figure(2, sharey=True)
        for axes, (head, methods) in zip(panels, METHODS.items(), strict=True):
            chosen = results.where(head=head)
            for baseline in (EXACT, MAJORITY):
                style.level(axes, chosen.mean("accuracy", method=baseline).value, baseline)
            for method in methods:
                style.curve(axes, style.method_means(chosen, "accuracy", method), method)
            style.budget_axis(axes)
            axes.set_title(head)
            axes.legend(fontsize=7)
        panels[0].set_ylabel("test accuracy")
        return {"accuracy": figure}
