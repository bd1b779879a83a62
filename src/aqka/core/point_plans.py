"""Points to measure: which, in which Pauli settings, with how many shots."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import IntArray, as_count, as_counts
from aqka.core.outcomes import OutcomeCounts
from aqka.core.plans import Plan
from aqka.core.settings import as_settings
from aqka.errors import InputError


@dataclass(frozen=True, eq=False)
class PointPlan(Plan):
    """Shots to spend, one row per point and setting.

    Attributes
    ----------
    points
        Indices of the points.
    settings
        Which of the shared settings each row measures: a row of ``letters``.
    shots
        Shots for each row.
    letters
        The shared Pauli settings, 0, 1, 2 for X, Y, Z in column q for qubit q; see
        ``aqka.core.settings``.

    Examples
    --------
    >>> plan = PointPlan([0, 0, 1], [0, 1, 0], [5, 3, 2], letters=[[2, 2], [0, 0]])
    >>> len(plan), plan.total, plan.n_qubits
    (3, 10, 2)
    """

    points: IntArray
    settings: IntArray
    shots: IntArray
    letters: IntArray
    ROWS: ClassVar[tuple[str, ...]] = ("points", "settings")

    def __post_init__(self) -> None:
        """Check the columns, and that they name settings that there are."""
        super().__post_init__()
        object.__setattr__(self, "letters", as_settings(self.letters))
        if self.settings.size and self.settings.max() >= len(self.letters):
            raise InputError(
                f"settings of the plan must lie between 0 and {len(self.letters) - 1}, "
                f"got {self.settings.max()}."
            )

    @property
    def n_qubits(self) -> int:
        """Qubits that each setting measures."""
        return int(self.letters.shape[1])

    def equals(self, other: object) -> bool:
        """Return whether both ask for the same shots of the same in the same order."""
        same = super().equals(other) and isinstance(other, PointPlan)
        return same and np.array_equal(self.letters, other.letters)  # type: ignore[attr-defined]

    def checked(self, answer: object) -> OutcomeCounts:
        """Return the outcomes that came back, or say what of them does not fit."""
        if not isinstance(answer, OutcomeCounts):
            raise InputError(
                "the answer to a plan of points must be OutcomeCounts(rows, outcomes, counts), "
                f"got {type(answer).__name__}."
            )
        # Made anew, since who answers may have a class of their own, or change it later.
        answer = OutcomeCounts(answer.rows, answer.outcomes, answer.counts)
        check_outcomes(self, answer)
        return answer

    def no_answer(self) -> OutcomeCounts:
        """Return no outcomes."""
        none = np.zeros(0, dtype=np.int64)
        return OutcomeCounts(none, none, none)


def even_plan(points: ArrayLike, letters: ArrayLike, shots_per_point: ArrayLike) -> PointPlan:
    """Return a plan that spreads each point's shots over all settings, as evenly as they divide.

    What is left over goes to settings that move on from point to point, so that no setting is
    favoured; rows without shots are left out. ``shots_per_point`` is one number for all points or
    one for each.

    Examples
    --------
    >>> even_plan([7, 8], [[0], [1], [2]], shots_per_point=4).shots
    array([2, 1, 1, 1, 2, 1])
    """
    which, table = as_counts(points, "points"), as_settings(letters)
    if np.ndim(shots_per_point) == 0:
        shots_per_point = np.full(which.size, as_count(shots_per_point, "shots_per_point"))
    each, rest = np.divmod(as_counts(shots_per_point, "shots_per_point"), len(table))
    first = np.cumsum(rest) - rest
    turn = (np.arange(len(table)) - first[:, None]) % len(table)
    shots = each[:, None] + (turn < rest[:, None])
    rows, settings = np.nonzero(shots)
    return PointPlan(which[rows], settings, shots[rows, settings], table)


def check_outcomes(plan: PointPlan, answer: OutcomeCounts) -> None:
    """Say what of ``answer`` does not fit ``plan``: unknown rows, wrong bits, wrong sums."""
    if answer.rows.size and answer.rows.max() >= len(plan):
        raise InputError(
            f"rows must name rows of the plan, 0 to {len(plan) - 1}, got {answer.rows.max()}."
        )
    wrong = np.flatnonzero(answer.outcomes >= 2**plan.n_qubits)
    if wrong.size:
        raise InputError(
            f"outcomes must be below 2**{plan.n_qubits} for {plan.n_qubits} qubits, got "
            f"{answer.outcomes[wrong[0]]} ({wrong.size} such entries)."
        )
    if answer.counts.size and answer.counts.max() > plan.total:  # so that no sum can wrap around
        raise InputError(
            f"counts must be at most the {plan.total} shots of the plan, got {answer.counts.max()}."
        )
    seen = np.zeros(len(plan), dtype=np.int64)
    np.add.at(seen, answer.rows, answer.counts)
    wrong = np.flatnonzero(seen != plan.shots)
    if wrong.size:
        k = int(wrong[0])
        raise InputError(
            f"counts must sum to the shots of their row: point {plan.points[k]} in setting "
            f"{plan.settings[k]} had {plan.shots[k]} shots, got {seen[k]} outcomes "
            f"({wrong.size} such rows); where a round was cut, cut its plan first (cut_to)."
        )
