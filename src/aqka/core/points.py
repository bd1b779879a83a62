"""Points measured in Pauli settings: what is asked (a plan), what came back, and all that is known.

A *setting* names one Pauli letter per qubit, 0, 1, 2 for X, Y, Z. Column q of the settings is
qubit q, and qubit q is bit q of an outcome: qubit 0 is the least significant bit, as in Qiskit.
A bit is 0 where the letter's eigenvalue +1 was found and 1 where -1 was.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import MAX_COUNT, IntArray, as_array, as_count, as_counts
from aqka.errors import InputError

LETTERS = "XYZ"
MAX_QUBITS = 62
"""An outcome is an int64."""
MAX_DENSE_QUBITS = 12
"""Beyond this the 2^n outcomes of a setting are never written out."""
MANY_SETTINGS = 96
_SETTINGS = {1: 3, 2: 9, 3: 27, 4: 32, 5: 48, 6: 48, 7: 48, 8: 48}


def choose_settings(n_qubits: int, seed: int) -> IntArray:
    """Return random distinct Pauli settings to be shared by all points, one row each.

    All of them up to three qubits, 32 of the 81 at four, 48 from five to eight and 96 above. They
    are drawn until every two-qubit Pauli operator is measured by one of them, so that all
    two-qubit reduced states follow from the counts, too.

    Examples
    --------
    >>> choose_settings(2, seed=0).tolist()[:4]
    [[0, 0], [1, 0], [2, 0], [0, 1]]
    >>> choose_settings(4, seed=0).shape
    (32, 4)
    """
    n_qubits = _as_qubits(n_qubits)
    n_settings = _SETTINGS.get(n_qubits, MANY_SETTINGS)
    if n_settings == 3**n_qubits:
        return _letters(np.arange(n_settings), n_qubits)
    random = np.random.default_rng(seed)
    while True:  # a draw in three or so will do
        if n_qubits in _SETTINGS:
            numbers = random.choice(3**n_qubits, size=n_settings, replace=False)
            settings = _letters(numbers, n_qubits)
        else:  # too many to be numbered, and so many that 96 of them are mostly distinct
            settings = random.integers(3, size=(n_settings, n_qubits))
        if len(np.unique(settings, axis=0)) == n_settings and _covers_two_qubits(settings):
            return settings


def _letters(numbers: IntArray, n_qubits: int) -> IntArray:
    """Return the digits of numbers in base 3, the least significant first."""
    return np.asarray(numbers[:, None] // 3 ** np.arange(n_qubits) % 3)


def uniform_settings(n_qubits: int) -> IntArray:
    """Return the three settings with one letter on all qubits: enough for one-qubit states."""
    return np.repeat(np.arange(3)[:, None], _as_qubits(n_qubits), axis=1)


def as_settings(settings: ArrayLike) -> IntArray:
    """Return ``settings`` as a read-only array of distinct rows of letters 0, 1, 2."""
    array = as_array(settings, "settings")
    if array.ndim != 2 or array.size == 0 or array.dtype.kind not in "iu":
        raise InputError(
            "settings must be a table of whole numbers, one row per setting and one column per "
            f"qubit, got shape {array.shape} and dtype {array.dtype}."
        )
    _as_qubits(array.shape[1])
    if array.min() < 0 or array.max() > 2:
        raise InputError(
            f"settings must hold 0, 1, 2 for X, Y, Z, got {array.min()} to {array.max()}."
        )
    if len(np.unique(array, axis=0)) < len(array):
        raise InputError("settings must be different ones; a setting is listed twice.")
    array = array.astype(np.int64)
    array.setflags(write=False)
    return array


def _as_qubits(n_qubits: int) -> int:
    if as_count(n_qubits, "n_qubits") > MAX_QUBITS:
        raise InputError(f"n_qubits must be at most {MAX_QUBITS}, got {n_qubits}.")
    return int(n_qubits)


def _covers_two_qubits(settings: IntArray) -> bool:
    """Return whether every pair of letters on every pair of qubits stands in some setting."""
    letters = (settings[:, :, None] == np.arange(3)).reshape(len(settings), -1).astype(np.float64)
    together = letters.T @ letters > 0
    qubit = np.arange(together.shape[0]) // 3
    return bool(np.all(together | (qubit[:, None] == qubit)))


@dataclass(frozen=True, eq=False)
class PointPlan:
    """Shots to spend, one row per point and setting.

    Attributes
    ----------
    points
        Indices of the points.
    settings
        Which of the shared settings each row measures.
    shots
        Shots for each row.

    Examples
    --------
    >>> plan = PointPlan([0, 0, 1], [0, 1, 0], [5, 3, 2])
    >>> len(plan), plan.total
    (3, 10)
    """

    points: IntArray
    settings: IntArray
    shots: IntArray

    def __post_init__(self) -> None:
        """Turn the three columns into int64 arrays of one length."""
        for name in ("points", "settings", "shots"):
            object.__setattr__(self, name, _column(getattr(self, name), name))
        if not len(self.points) == len(self.settings) == len(self.shots):
            raise InputError(
                "points, settings and shots must have one length, got "
                f"{len(self.points)}, {len(self.settings)} and {len(self.shots)}."
            )
        if self.shots.sum(dtype=np.float64) > MAX_COUNT:
            raise InputError(
                f"shots must be at most 2**50 in all, got {self.shots.sum(dtype=np.float64):.3g}."
            )

    def __len__(self) -> int:
        """Return the number of rows of the plan."""
        return len(self.shots)

    @property
    def total(self) -> int:
        """All shots of the plan together."""
        return int(np.sum(self.shots))

    def equals(self, other: "PointPlan") -> bool:
        """Return whether both ask for the same shots in the same rows and order."""
        return all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("points", "settings", "shots")
        )

    def without(self, done: "PointPlan") -> "PointPlan":
        """Return what is left of the plan after ``done``, which has the same rows."""
        rest = self.shots - done.shots
        left = rest > 0
        return PointPlan(self.points[left], self.settings[left], rest[left])

    def cut_to(self, shots: ArrayLike) -> "PointPlan":
        """Return the plan with the shots that each row really got, at most the planned ones."""
        done = as_counts(shots, "shots")
        if done.shape != self.shots.shape or np.any((done < 0) | (done > self.shots)):
            raise InputError(
                f"shots must be {len(self)} counts between 0 and the planned ones, "
                f"got {done.shape[0]} with a largest of {done.max(initial=0)}."
            )
        return PointPlan(self.points, self.settings, done)


def even_plan(points: ArrayLike, n_settings: int, shots_per_point: int) -> PointPlan:
    """Return a plan that spreads each point's shots over all settings, as evenly as they divide.

    What is left over goes to settings that move on from point to point, so that no setting is
    favoured; rows without shots are left out.

    Examples
    --------
    >>> even_plan([7, 8], n_settings=3, shots_per_point=4).shots
    array([2, 1, 1, 1, 2, 1])
    """
    which = as_counts(points, "points")
    n_settings = as_count(n_settings, "n_settings")
    each, rest = divmod(as_count(shots_per_point, "shots_per_point"), n_settings)
    first = np.arange(which.size)[:, None] * rest
    turn = (np.arange(n_settings) - first) % n_settings
    shots = each + (turn < rest)
    rows, settings = np.nonzero(shots)
    return PointPlan(which[rows], settings, shots[rows, settings])


@dataclass(frozen=True, eq=False)
class OutcomeCounts:
    """What came back for a plan: how often each outcome was seen, zeros left out.

    Attributes
    ----------
    rows
        Row of the plan.
    outcomes
        The bitstring as a number, qubit 0 its least significant bit.
    counts
        How often it was seen.

    Examples
    --------
    >>> OutcomeCounts([0, 0], [0, 3], [4, 1])
    OutcomeCounts(rows=array([0, 0]), outcomes=array([0, 3]), counts=array([4, 1]))
    """

    rows: IntArray
    outcomes: IntArray
    counts: IntArray

    def __post_init__(self) -> None:
        """Turn the three columns into int64 arrays of one length."""
        for name in ("rows", "outcomes", "counts"):
            object.__setattr__(self, name, _column(getattr(self, name), name))
        if not len(self.rows) == len(self.outcomes) == len(self.counts):
            raise InputError(
                "rows, outcomes and counts must have one length, got "
                f"{len(self.rows)}, {len(self.outcomes)} and {len(self.counts)}."
            )

    @classmethod
    def of_dense(cls, counts: ArrayLike) -> "OutcomeCounts":
        """Return the counts of a table with one row per row of the plan and 2^n columns."""
        table = np.atleast_2d(as_array(counts, "counts"))
        rows, outcomes = np.nonzero(table)
        return cls(rows, outcomes, table[rows, outcomes])


def _column(values: ArrayLike, name: str) -> IntArray:
    column = as_counts(values, name)
    if column.size and column.min() < 0:
        raise InputError(f"{name} must not be negative, got {column.min()}.")
    column.setflags(write=False)  # what was asked for, or seen, stays what it was
    return column


def check_outcomes(plan: PointPlan, answer: OutcomeCounts, n_qubits: int) -> None:
    """Say what of ``answer`` does not fit ``plan``: unknown rows, wrong bits, wrong sums."""
    if answer.rows.size and answer.rows.max() >= len(plan):
        raise InputError(
            f"rows must name rows of the plan, 0 to {len(plan) - 1}, got {answer.rows.max()}."
        )
    wrong = np.flatnonzero(answer.outcomes >= 2**n_qubits)
    if wrong.size:
        raise InputError(
            f"outcomes must be below 2**{n_qubits} for {n_qubits} qubits, got "
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


class PointTable:
    """Outcome counts of every point in every setting, stored sparsely.

    Parameters
    ----------
    n_points
        Number of points N.
    settings
        The shared Pauli settings, one row each, 0, 1, 2 for X, Y, Z in column q for qubit q.

    Attributes
    ----------
    shots
        Shots of each point in each setting, an N × m array.
    cells, outcomes, counts
        The non-zero counts: cell = point · m + setting, outcome, count; sorted by the first two.

    Examples
    --------
    >>> table = PointTable(2, [[2], [0]])
    >>> plan = PointPlan([0, 1], [0, 0], [5, 4])
    >>> table.add(plan, OutcomeCounts([0, 0, 1], [0, 1, 1], [3, 2, 4]))
    >>> table.dense([0, 1])[:, 0]
    array([[3, 2],
           [0, 4]])
    >>> table.shots_per_point
    array([5, 4])
    """

    def __init__(self, n_points: int, settings: ArrayLike) -> None:
        self.n_points = as_count(n_points, "n_points")
        self.settings = as_settings(settings)
        self.n_settings, self.n_qubits = self.settings.shape
        self.shots: IntArray = np.zeros((self.n_points, self.n_settings), dtype=np.int64)
        self.cells: IntArray = np.zeros(0, dtype=np.int64)
        self.outcomes: IntArray = np.zeros(0, dtype=np.int64)
        self.counts: IntArray = np.zeros(0, dtype=np.int64)

    @property
    def total(self) -> int:
        """All shots spent so far."""
        return int(self.shots.sum())

    @property
    def shots_per_point(self) -> IntArray:
        """Shots of each point, all settings together."""
        return np.asarray(self.shots.sum(axis=1))

    def read_only(self) -> "PointTable":
        """Return a copy whose counts cannot be changed, for code that is not trusted with them."""
        copy = PointTable(self.n_points, self.settings)
        copy.shots = self.shots.copy()
        copy.cells, copy.outcomes, copy.counts = (
            column.copy() for column in (self.cells, self.outcomes, self.counts)
        )
        for column in (copy.shots, copy.cells, copy.outcomes, copy.counts):
            column.setflags(write=False)
        return copy

    def add(self, plan: PointPlan, answer: OutcomeCounts) -> None:
        """Count the outcomes of an executed plan; on bad input the table is unchanged."""
        for name, limit in (("points", self.n_points), ("settings", self.n_settings)):
            column = getattr(plan, name)
            if column.size and column.max() >= limit:
                raise InputError(
                    f"{name} of the plan must lie between 0 and {limit - 1}, got {column.max()}."
                )
        check_outcomes(plan, answer, self.n_qubits)
        cells = plan.points * self.n_settings + plan.settings
        np.add.at(self.shots.reshape(-1), cells, plan.shots)
        self._merge(cells[answer.rows], answer.outcomes, answer.counts)

    def _merge(self, cells: IntArray, outcomes: IntArray, counts: IntArray) -> None:
        cells = np.concatenate([self.cells, cells])
        outcomes = np.concatenate([self.outcomes, outcomes])
        counts = np.concatenate([self.counts, counts])
        kept = np.flatnonzero(counts)
        order = kept[np.lexsort((outcomes[kept], cells[kept]))]
        cells, outcomes, counts = cells[order], outcomes[order], counts[order]
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = (cells[1:] != cells[:-1]) | (outcomes[1:] != outcomes[:-1])
        first = np.flatnonzero(new)
        self.cells, self.outcomes = cells[first], outcomes[first]
        self.counts = np.add.reduceat(counts, first) if first.size else counts

    def dense(self, points: ArrayLike) -> IntArray:
        """Return the counts of some points in full, points × settings × 2^n outcomes."""
        if self.n_qubits > MAX_DENSE_QUBITS:
            raise InputError(
                f"the outcomes of {self.n_qubits} qubits are too many to be written out, at most "
                f"{MAX_DENSE_QUBITS} qubits can be; use reduced states (a projected kernel)."
            )
        part = self.subset(points)
        table = np.zeros((part.n_points * part.n_settings, 2**self.n_qubits), dtype=np.int64)
        table[part.cells, part.outcomes] = part.counts
        return table.reshape(part.n_points, part.n_settings, -1)

    def subset(self, points: ArrayLike) -> "PointTable":
        """Return what is known of some of the points, in the order they are given."""
        chosen = as_counts(points, "points")
        if chosen.size and (chosen.min() < 0 or chosen.max() >= self.n_points):
            raise InputError(
                f"points must lie between 0 and {self.n_points - 1}, got {chosen.min()} to "
                f"{chosen.max()}."
            )
        m = self.n_settings
        part = PointTable(len(chosen), self.settings)
        part.shots = self.shots[chosen]
        first = np.searchsorted(self.cells, chosen * m)
        lengths = np.searchsorted(self.cells, (chosen + 1) * m) - first
        new_point = np.repeat(np.arange(len(chosen)), lengths)
        start = np.repeat(first - np.cumsum(lengths) + lengths, lengths)
        index = start + np.arange(len(new_point))
        part.cells = self.cells[index] + (new_point - chosen[new_point]) * m
        part.outcomes, part.counts = self.outcomes[index], self.counts[index]
        return part
