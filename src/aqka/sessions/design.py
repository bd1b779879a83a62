"""Pairs or points? Chosen before the first shot, by the error that each promises."""

from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import as_count
from aqka.maths.point_law import KernelSpread, equivalent_pair_shots, kernel_error
from aqka.sessions.point_heads import MAX_FIDELITY_QUBITS

DESIGNS = ("pairs", "points", "auto")


@dataclass(frozen=True)
class DesignChoice:
    """Which design a budget is better spent on, and why.

    Attributes
    ----------
    design
        ``"pairs"`` or ``"points"``.
    reason
        Why, in one sentence with the numbers.
    shots_per_pair, shots_per_point
        What the budget gives each pair, or each point, new points included.
    equivalent_shots
        Shots on every pair that the points' shots are worth; None where states cannot be fitted.
    pair_error, point_error
        Root mean square error of a kernel entry that each promises.
    """

    design: str
    reason: str
    shots_per_pair: float
    shots_per_point: float
    equivalent_shots: float | None
    pair_error: float
    point_error: float | None


def choose_design(
    n_points: int,
    n_qubits: int | None,
    budget: int,
    new_points: int = 0,
    *,
    measures_pairs: bool = True,
) -> DesignChoice:
    """Return the design whose kernel has the smaller error, by the law of points.

    Parameters
    ----------
    n_points
        Training points.
    n_qubits
        Qubits of a point's state; None where the backend cannot measure points.
    budget
        Shots for training and prediction together.
    new_points
        Points to be predicted.
    measures_pairs
        Whether the backend can measure pairs at all.

    Notes
    -----
    Pairs are taken as measured evenly, training and test pairs alike: an entry of s shots has the
    variance K(1 - K)/s. Points of S shots each are worth F²S/4 shots on every pair at most
    (``aqka.maths.point_law``), however many pairs there are. The kernel is not known yet, so
    its entries are assumed to be large, which is the cautious side for points.

    Examples
    --------
    >>> print(choose_design(100, 4, 50_000, new_points=50).reason)
    Points: 333 shots for each of 150 points are worth 60 on every pair; pairs would get 5 each.
    >>> choose_design(20, 8, 10_000).design
    'pairs'
    """
    n_points = as_count(n_points, "n_points")
    new_points = as_count(new_points, "new_points", minimum=0)
    budget = as_count(budget, "budget")
    pairs = n_points * (n_points - 1) // 2 + n_points * new_points
    shots_per_pair = budget / max(pairs, 1)
    shots_per_point = budget / (n_points + new_points)
    spread = KernelSpread.cautious(n_qubits or 1)
    # Where a pair is unlikely to get a shot at all, what is known of it is the mean.
    pair_error = float(np.sqrt(spread.shot_variance / max(shots_per_pair, 1.0)))
    if not measures_pairs:
        reason = f"Points, {_figure(shots_per_point)} shots each: the backend has no pairs."
        return DesignChoice(
            "points", reason, shots_per_pair, shots_per_point, None, pair_error, None
        )
    if n_qubits is None or n_qubits > MAX_FIDELITY_QUBITS:
        why = (
            "the backend cannot prepare the state of a point"
            if n_qubits is None
            else f"states of {n_qubits} qubits have too many numbers to be fitted (a projected "
            "kernel of points is another kernel, and a choice of yours)"
        )
        reason = f"Pairs, {_figure(shots_per_pair)} shots each: {why}."
        return DesignChoice(
            "pairs", reason, shots_per_pair, shots_per_point, None, pair_error, None
        )
    worth = equivalent_pair_shots(n_qubits, shots_per_point)
    design = "points" if worth > shots_per_pair else "pairs"
    return DesignChoice(
        design,
        _reason(design, n_points + new_points, shots_per_pair, shots_per_point, worth),
        shots_per_pair,
        shots_per_point,
        worth,
        pair_error,
        float(np.sqrt(kernel_error(n_qubits, shots_per_point))),
    )


def _reason(design: str, points: int, per_pair: float, per_point: float, worth: float) -> str:
    each = f"{_figure(per_point)} shots for each of {points} points"
    at_points = f"{each} are worth {_figure(worth)} on every pair"
    if design == "points":
        return f"Points: {at_points}; pairs would get {_figure(per_pair)} each."
    return f"Pairs, {_figure(per_pair)} shots each: {at_points} only."


def _figure(shots: float) -> str:
    return f"{shots:,.0f}" if shots >= 10 else f"{shots:.2g}"
