"""All that is known of points that were measured in Pauli settings."""

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import IntArray, as_count, as_indices
from aqka.core.outcomes import OutcomeCounts, merged_outcomes, outcomes_shape
from aqka.core.plans import UnitTable
from aqka.core.point_plans import PointPlan
from aqka.core.settings import as_settings
from aqka.errors import InputError

MAX_DENSE_QUBITS = 12  # beyond this the 2^n outcomes of a setting are never written out


class PointTable(UnitTable):
    """Outcome counts of every point in every setting, stored sparsely.

    Parameters
    ----------
    n_points : int
        Number of points N.
    settings : array-like of shape (settings, qubits)
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
    >>> plan = PointPlan([0, 1], [0, 0], [5, 4], table.settings)
    >>> table.add(plan, OutcomeCounts([0, 0, 1], [0, 1, 1], [3, 2, 4]))
    >>> table.dense([0, 1])[:, 0]
    array([[3, 2],
           [0, 4]])
    >>> table.shots_per_point
    array([5, 4])
    """

    PLAN = PointPlan

    def __init__(self, n_points: int, settings: ArrayLike) -> None:
        self.n_points = as_count(n_points, "n_points")
        self.settings = as_settings(settings)
        self.n_settings, self.n_qubits = self.settings.shape
        self.shots: IntArray = np.zeros((self.n_points, self.n_settings), dtype=np.int64)
        self.cells: IntArray = np.zeros(0, dtype=np.int64)
        self.outcomes: IntArray = np.zeros(outcomes_shape(0, self.n_qubits), dtype=np.int64)
        self.counts: IntArray = np.zeros(0, dtype=np.int64)

    def _figures(self) -> dict[str, object]:
        return {
            "points": self.n_points,
            "settings": self.n_settings,
            "qubits": self.n_qubits,
            "shots": self.total,
        }

    def extent(self, points: str = "points") -> dict[str, str]:
        """Return which points and settings plans may name."""
        sizes = self.n_points, self.n_settings, self.n_qubits
        return dict(zip((points, "settings", "qubits"), map(str, sizes), strict=True))

    @property
    def shots_per_point(self) -> IntArray:
        """Shots of each point, all settings together."""
        return np.asarray(self.shots.sum(axis=1))

    def add(self, plan: PointPlan, answer: OutcomeCounts) -> None:
        """Count the outcomes of an executed plan; on bad input the table is unchanged."""
        if not np.array_equal(plan.letters, self.settings):
            raise InputError("the plan measures other settings than those of the table.")
        as_indices(plan.points, "points of the plan", self.n_points)
        answer = plan.checked(answer)
        cells = plan.points * self.n_settings + plan.settings
        np.add.at(self.shots.reshape(-1), cells, plan.shots)
        self._merge(cells[answer.rows], answer.outcomes, answer.counts)

    def _merge(self, cells: IntArray, outcomes: IntArray, counts: IntArray) -> None:
        self.cells, self.outcomes, self.counts = merged_outcomes(
            np.concatenate([self.cells, cells]),
            np.concatenate([self.outcomes, outcomes]),
            np.concatenate([self.counts, counts]),
        )

    def resampled(self, random: np.random.Generator) -> "PointTable":
        """Return a table with each point's shots drawn again from its own, with replacement.

        With their settings, for in many a setting has a single shot.
        """
        point = self.cells // self.n_settings
        entries = np.bincount(point, minlength=self.n_points)
        most = max(1, entries.max(initial=0))
        # Aligned to the right: what rounding leaves over goes to the last, which is a real one.
        place = np.arange(len(point)) - np.cumsum(entries)[point] + most
        chances = np.zeros((self.n_points, most))
        chances[point, place] = self.counts / self.shots_per_point[point]
        drawn = random.multinomial(self.shots_per_point, chances)[point, place]
        again = PointTable(self.n_points, self.settings)
        np.add.at(again.shots.reshape(-1), self.cells, drawn)
        again._merge(self.cells, self.outcomes, drawn)
        return again

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
        chosen = as_indices(points, "points", self.n_points)
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
