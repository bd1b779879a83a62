"""What is asked of a backend: which pairs, how many shots each."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import MAX_COUNT, IntArray, as_counts
from aqka.errors import InputError


@dataclass(frozen=True, eq=False)
class Landmarks:
    """The points whose rows were measured so that the other entries can be reconstructed.

    Attributes
    ----------
    points
        Indices of the landmark points.
    keep_block
        Whether measured entries inside the landmark rows are kept as they are (hybrid), or the
        whole matrix is replaced by its reconstruction (plain Nyström).
    """

    points: IntArray
    keep_block: bool


@dataclass(frozen=True, eq=False)
class ShotPlan:
    """Shots to spend, one row per pair.

    Attributes
    ----------
    rows, cols
        The two points of each pair: training points both, or test point and training point.
    shots
        Shots for each pair.
    landmarks
        Set by allocators whose readout reconstructs unmeasured entries.

    Examples
    --------
    >>> plan = ShotPlan([0, 0], [1, 2], [5, 3])
    >>> len(plan), plan.total
    (2, 8)
    """

    rows: IntArray
    cols: IntArray
    shots: IntArray
    landmarks: Landmarks | None = None

    def __post_init__(self) -> None:
        """Turn the three columns into int64 arrays of one length."""
        for name in ("rows", "cols", "shots"):
            column = as_counts(getattr(self, name), name)
            if column.size and column.min() < 0:
                raise InputError(f"{name} must not be negative, got {column.min()}.")
            column.setflags(write=False)  # what was asked for stays what was asked for
            object.__setattr__(self, name, column)
        if not len(self.rows) == len(self.cols) == len(self.shots):
            raise InputError(
                "rows, cols and shots must have one length, got "
                f"{len(self.rows)}, {len(self.cols)} and {len(self.shots)}."
            )
        if self.shots.sum(dtype=np.float64) > MAX_COUNT:
            raise InputError(
                f"shots must be at most 2**50 in all, got {self.shots.sum(dtype=np.float64):.3g}."
            )

    def __len__(self) -> int:
        """Return the number of pairs in the plan."""
        return len(self.shots)

    @property
    def total(self) -> int:
        """All shots of the plan together."""
        return int(np.sum(self.shots))

    def equals(self, other: "ShotPlan") -> bool:
        """Return whether both ask for the same shots on the same pairs in the same order."""
        return all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("rows", "cols", "shots")
        )

    def without(self, done: "ShotPlan") -> "ShotPlan":
        """Return what is left of the plan after ``done``, which has the same pairs."""
        rest = self.shots - done.shots
        left = rest > 0
        return ShotPlan(self.rows[left], self.cols[left], rest[left], self.landmarks)

    def cut_to(self, shots: ArrayLike) -> "ShotPlan":
        """Return the plan with the shots that each pair really got, at most the planned ones."""
        done = as_counts(shots, "shots")
        if done.shape != self.shots.shape or np.any((done < 0) | (done > self.shots)):
            raise InputError(
                f"shots must be {len(self)} counts between 0 and the planned ones, "
                f"got {done.shape[0]} with a largest of {done.max(initial=0)}."
            )
        return ShotPlan(self.rows, self.cols, done, self.landmarks)


def checked_hits(plan: ShotPlan, hits: object) -> IntArray:
    """Return ``hits`` as counts that fit ``plan``, or say what does not fit."""
    counts = as_counts(hits, "hits")  # type: ignore[arg-type]
    if len(counts) != len(plan):
        raise InputError(
            f"hits must have one entry per pair of the plan: expected {len(plan)}, "
            f"got {len(counts)}."
        )
    wrong = np.flatnonzero((counts < 0) | (counts > plan.shots))
    if wrong.size:
        k = int(wrong[0])
        raise InputError(
            f"hits must lie between 0 and the shots of their pair: pair "
            f"({plan.rows[k]}, {plan.cols[k]}) had {plan.shots[k]} shots, got {counts[k]} hits "
            f"({wrong.size} such entries)."
        )
    return counts
