"""What comes back for points: how often each bitstring was seen."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import IntArray, as_array, as_column
from aqka.errors import InputError


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
            object.__setattr__(self, name, as_column(getattr(self, name), name))
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
