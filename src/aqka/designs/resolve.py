"""From what a user said to what is done: design and why, allocator, learner."""

from collections.abc import Mapping
from dataclasses import dataclass

from aqka._util.arrays import as_count
from aqka._util.text import unknown
from aqka.allocators import Allocator, make_allocator
from aqka.designs import Design, Pairs, Points, as_design
from aqka.designs.fidelity import MAX_FIDELITY_QUBITS
from aqka.designs.prior import PredictionPrior
from aqka.learners import Learner, make_learner
from aqka.maths.point_law import label_shots

MANY_QUBITS = 24  # beyond it a fidelity is too small for any shots, but of maps that hardly turn
PRIORS = {"auto": None, "none": None, "angles": PredictionPrior()}  # None measures every point


def as_prior(prior: str | PredictionPrior) -> PredictionPrior | None:
    """Return the prior of that name, or the given one; None where every point is measured."""
    if isinstance(prior, PredictionPrior):
        return prior
    if not isinstance(prior, str) or prior not in PRIORS:
        raise unknown("prior", prior, PRIORS, " or a PredictionPrior")
    return PRIORS[prior]


@dataclass(frozen=True)
class Choice:
    """What is measured, by which allocator, and how a head is fitted to it.

    Parameters
    ----------
    design, allocator, learner : Design, Allocator and Learner
        What is done.
    reason : str, default=""
        Why this design: a sentence with the numbers where it was chosen, empty where it was named.
    """

    design: "Pairs | Points"
    allocator: Allocator
    learner: Learner
    reason: str = ""


def resolve(
    design: str | Design = "auto",
    allocator: str | Allocator | None = None,
    learner: str | Learner | None = None,
    *,
    n_points: int,
    n_qubits: int | None,
    budget: int | Mapping[str, int],
    new_points: int | None = None,
    on_top: bool = False,
    measures_pairs: bool = True,
) -> Choice:
    """Return what to do about what the user said; nothing else makes these choices.

    Parameters
    ----------
    design, allocator, learner
        As the user gave them; None takes the default of the design. An allocator that has no
        meaning in one of the designs settles ``"auto"``.
    n_points, new_points
        Training points, and points to be predicted; None takes as many as there are for training.
    n_qubits
        Qubits of a point's state; None where the backend cannot measure points.
    budget
        Shots for training and predictions; by design where time or money buys more shots of one.
    on_top
        Whether the budget is for training alone; a new point gets as much on top of it.
    measures_pairs
        Whether the backend can measure pairs.

    Examples
    --------
    >>> resolve(n_points=100, n_qubits=4, budget=50_000, new_points=50).reason
    'Points: 333 shots for each of 150 points are worth 76 on every pair; pairs would get only 5.'
    >>> resolve("pairs", n_points=100, n_qubits=4, budget=50_000).design
    Pairs(reading='all-zero')
    """
    chosen, reason, steered_by = as_design(design), "", make_allocator(allocator)
    if chosen is None and len(steered_by.units) == 1:
        chosen = Pairs() if "pair" in steered_by.units else Points()
        name, units = type(steered_by).__name__, chosen.name
        reason = f"{units.capitalize()}: allocator {name} gives shots to {units} only."
    if chosen is None:
        chosen, reason = better_design(
            n_points, n_qubits, budget, new_points, on_top=on_top, measures_pairs=measures_pairs
        )
    return Choice(
        chosen,
        steered_by.over(chosen.unit),
        make_learner(chosen.default_learner if learner is None else learner),
        reason,
    )


def better_design(
    n_points: int,
    n_qubits: int | None,
    budget: int | Mapping[str, int],
    new_points: int | None = None,
    *,
    on_top: bool = False,
    measures_pairs: bool = True,
) -> "tuple[Pairs | Points, str]":
    """Return the design that labels better, and why in one sentence.

    Pairs are taken as measured evenly, training and test pairs alike. S shots a point label as well
    as F²S/4 shots on *every* pair (``aqka.maths.point_law``), however many pairs there are. The
    arguments are those of :func:`resolve`.
    """
    n_points = as_count(n_points, "n_points")
    new = n_points if new_points is None else as_count(new_points, "new_points", minimum=0)
    pairs = n_points * (n_points - 1) // 2 + n_points * new
    shots = budget if isinstance(budget, Mapping) else {"pairs": budget, "points": budget}
    in_all = (n_points + new) / n_points if on_top else 1.0
    per_pair = shots["pairs"] * in_all / max(pairs, 1)
    per_point = shots["points"] * in_all / (n_points + new)
    if not measures_pairs:
        return Points(), f"Points, {_figure(per_point)} shots each: the backend measures no pairs."
    if n_qubits is None:
        why = "the backend cannot prepare the state of a point"
        return Pairs(), f"Pairs, {_figure(per_pair)} shots each: {why}."
    if n_qubits > MANY_QUBITS:
        return Points(), (
            f"Points, {_figure(per_point)} shots each, for a projected kernel: the fidelity of "
            f"{n_qubits} qubits is 0 for nearly every pair."
        )
    if n_qubits > MAX_FIDELITY_QUBITS:
        why = (
            f"states of {n_qubits} qubits have too many numbers to be fitted (a projected kernel "
            "of points is another kernel, and yours to choose)"
        )
        return Pairs(), f"Pairs, {_figure(per_pair)} shots each: {why}."
    worth = label_shots(n_qubits, per_point)
    only = "" if worth > per_pair else "only "
    each = (
        f"{_figure(per_point)} shots for each of {n_points + new} points are worth "
        f"{only}{_figure(worth)} on every pair"
    )
    if worth > per_pair:
        return Points(), f"Points: {each}; pairs would get only {_figure(per_pair)}."
    return Pairs(), f"Pairs, {_figure(per_pair)} shots each: {each}."


def _figure(shots: float) -> str:
    return f"{shots:,.0f}" if shots >= 10 else f"{shots:.2g}"
