"""Points to measure: which, in which Pauli settings, with how many shots."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray, as_count, as_counts
from aqka.core.extent import Extent, check_below
from aqka.core.outcome_plans import OutcomePlan
from aqka.core.plans import theta_from
from aqka.core.settings import as_settings
from aqka.errors import InputError


@dataclass(frozen=True, eq=False)
class PointPlan(OutcomePlan):
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
    theta: FloatArray | None = None
    ROWS: ClassVar[tuple[str, ...]] = ("points", "settings")

    def __post_init__(self) -> None:
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
        letters = getattr(other, "letters", None)
        return super().equals(other) and np.array_equal(self.letters, letters)  # type: ignore[arg-type]

    def describe_row(self, row: int) -> str:
        """Return what a row measures, in words."""
        return f"point {self.points[row]} in setting {self.settings[row]}"

    @property
    def _measured(self) -> tuple[IntArray, IntArray]:
        return self.points, self.settings

    def check_within(self, extent: Extent) -> None:
        """Refuse a plan that names what its run does not have."""
        if self.letters.shape != extent.pauli:
            raise InputError(
                f"its settings have shape {self.letters.shape}, but the run has {extent.pauli}"
            )
        for size in (extent.points, extent.new_points):
            check_below(self.points, size, "point")

    def to_ledger(self) -> tuple[dict[str, Any], dict[str, IntArray]]:
        """Return the facts and columns that a ledger keeps: the settings row after row."""
        facts, columns = super().to_ledger()
        return facts, columns | {"letters": self.letters.reshape(-1)}

    @classmethod
    def from_ledger(cls, facts: Mapping[str, Any], columns: Mapping[str, IntArray]) -> Self:
        """Return the plan of a ledger's facts and columns."""
        letters, qubits = columns["letters"], facts["qubits"]
        if not isinstance(qubits, int) or qubits < 1 or len(letters) % qubits:
            raise InputError("its settings cannot be read: qubits must divide their letters")
        rows = columns["points"], columns["settings"], columns["shots"]
        return cls(*rows, letters.reshape(-1, qubits), theta_from(facts, columns))


def even_plan(points: ArrayLike, letters: ArrayLike, shots_per_point: ArrayLike) -> PointPlan:
    """Return a plan that spreads each point's shots over all settings, as evenly as they divide.

    What is left over goes to settings that move on from point to point, so that no setting is
    favoured; rows without shots are left out. ``shots_per_point`` is one number for all points or
    one for each.

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
