"""Plans whose rows read all qubits, such as points in Pauli settings; bitstrings answer them."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray, as_count, as_counts, as_indices
from aqka.core.outcomes import WORD_BITS, OutcomeCounts, outcomes_shape, words_of
from aqka.core.plans import Plan, theta_from
from aqka.core.settings import as_settings
from aqka.errors import InputError

COLUMNS = ("rows", "outcomes", "counts")


class OutcomePlan(Plan):
    """Rows that prepare some state and read all qubits; a subclass says which state."""

    @property
    @abstractmethod
    def n_qubits(self) -> int:
        """Qubits that each row measures."""

    @abstractmethod
    def describe_row(self, row: int) -> str:
        """Return what a row measures, in words."""

    def checked(self, answer: object) -> OutcomeCounts:
        """Return the outcomes that came back, or say what of them does not fit."""
        if not isinstance(answer, OutcomeCounts):
            raise InputError(
                "the answer to a plan of points must be OutcomeCounts(rows, outcomes, counts), "
                f"got {type(answer).__name__}."
            )
        # Made anew: a backend may answer with a class of its own, or change the answer later.
        outcomes = answer.outcomes if len(answer.rows) else self.no_answer().outcomes
        answer = OutcomeCounts(answer.rows, outcomes, answer.counts)
        as_indices(answer.rows, "rows of the plan that are answered", len(self))
        shape = outcomes_shape(len(answer.rows), self.n_qubits)
        if answer.outcomes.shape != shape:
            raise InputError(
                f"outcomes of {self.n_qubits} qubits must have shape {shape}, a number for each "
                f"{WORD_BITS} qubits, got {answer.outcomes.shape}."
            )
        # All but the last number of a row are full.
        words = words_of(answer.outcomes)
        last = (self.n_qubits - 1) % WORD_BITS + 1
        bits = np.append(np.full(words.shape[1] - 1, WORD_BITS), last)
        wrong, word = np.nonzero(words >= 1 << bits)
        if wrong.size:
            k = word[0]
            of = "" if words.shape[1] == 1 else f" in number {k}"
            raise InputError(
                f"outcomes must be below 2**{bits[k]}{of} for {self.n_qubits} qubits, got "
                f"{words[wrong[0], k]} ({wrong.size} such entries)."
            )
        most = answer.counts.max(initial=0)
        if most > self.total:  # so that no sum can wrap around
            raise InputError(
                f"counts must be at most the {self.total} shots of the plan, got {most}."
            )
        seen = np.zeros(len(self), dtype=np.int64)
        np.add.at(seen, answer.rows, answer.counts)
        wrong = np.flatnonzero(seen != self.shots)
        if wrong.size:
            k = int(wrong[0])
            raise InputError(
                f"counts must sum to the shots of their row: {self.describe_row(k)} had "
                f"{self.shots[k]} shots, got {seen[k]} outcomes ({wrong.size} such rows); where a "
                "round was cut, cut its plan first (cut_to)."
            )
        return answer

    def no_answer(self) -> OutcomeCounts:
        """Return no outcomes."""
        none = np.zeros(0, dtype=np.int64)
        return OutcomeCounts(none, none.reshape(outcomes_shape(0, self.n_qubits)), none)

    def to_ledger(self) -> tuple[dict[str, Any], dict[str, IntArray]]:
        """Return the facts and columns that a ledger keeps."""
        facts, columns = super().to_ledger()
        return facts | {"qubits": self.n_qubits}, columns

    def answer_to_ledger(self, answer: OutcomeCounts) -> dict[str, IntArray]:
        """Return the columns of the outcomes, those of many qubits number after number."""
        return {name: getattr(answer, name).reshape(-1) for name in COLUMNS}

    def answer_from_ledger(self, columns: Mapping[str, IntArray]) -> OutcomeCounts:
        """Return a ledger's outcomes, checked."""
        rows, outcomes, counts = (columns[name] for name in COLUMNS)
        shape = outcomes_shape(len(rows), self.n_qubits)
        if outcomes.size == math.prod(shape):  # what does not fit is refused below
            outcomes = outcomes.reshape(shape)
        return self.checked(OutcomeCounts(rows, outcomes, counts))

    def counted(self, answer: OutcomeCounts) -> tuple[IntArray, ...]:
        """Return point, setting, outcome and count of all that was seen."""
        measured = (getattr(self, name)[answer.rows] for name in self.ROWS)
        return *measured, answer.outcomes, answer.counts


@dataclass(frozen=True, eq=False)
class PointPlan(OutcomePlan):
    """Shots to spend, one row per point and setting.

    Parameters
    ----------
    points : array of int
        Indices of the points.
    settings : array of int
        Which of the shared settings each row measures: a row of ``letters``.
    shots : array of int
        Shots for each row.
    letters : array of shape (settings, qubits)
        The Pauli settings, 0, 1, 2 for X, Y, Z of each qubit; ``aqka.core.settings`` makes some.
    theta : array of shape (settings, parameters), default=None
        Set where a map is trained; see :class:`~aqka.core.ShotPlan`.

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
    theta: FloatArray | None = None
    ROWS: ClassVar[tuple[str, ...]] = ("points", "settings")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "letters", as_settings(self.letters))
        as_indices(self.settings, "settings of the plan", len(self.letters))

    @property
    def n_qubits(self) -> int:
        """Qubits that each setting measures."""
        return int(self.letters.shape[1])

    def describe_row(self, row: int) -> str:
        """Return what a row measures, in words."""
        return f"point {self.points[row]} in setting {self.settings[row]}"

    def to_ledger(self) -> tuple[dict[str, Any], dict[str, IntArray]]:
        """Return the facts and columns that a ledger keeps: the settings row after row."""
        facts, columns = super().to_ledger()
        return facts, columns | {"letters": self.letters.reshape(-1)}

    @classmethod
    def from_ledger(cls, facts: Mapping[str, Any], columns: Mapping[str, IntArray]) -> Self:
        """Return the plan of a ledger's facts and columns."""
        rows = columns["points"], columns["settings"], columns["shots"]
        letters = columns["letters"].reshape(-1, facts["qubits"])
        return cls(*rows, letters, theta_from(facts, columns))


def even_plan(points: ArrayLike, letters: ArrayLike, shots_per_point: ArrayLike) -> PointPlan:
    """Return a plan that spreads each point's shots over all settings, as evenly as they divide.

    What is left over goes to settings that move on from point to point, so that no setting is
    favoured; rows without shots are left out. ``shots_per_point`` is one number for all points or
    one for each.
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
