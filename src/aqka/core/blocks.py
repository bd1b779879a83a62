"""BlockTable: shots and hits of a test-by-train block, and what they say about its entries."""

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import MAX_PAIRS, BoolArray, FloatArray, IntArray, as_count
from aqka._util.shown import Shown
from aqka.core.pairs import KernelPrior
from aqka.core.plans import ShotPlan
from aqka.core.tolerance import Counts, Tolerance, as_hits
from aqka.errors import InputError

WEAKEST_PRIOR = 1.0
STRONGEST_PRIOR = 20.0  # a stronger one would drown a pair that differs from the rest


class BlockTable(Shown):
    """Shots and hits of every pair (test point, training point).

    Parameters
    ----------
    n_rows, n_cols
        Numbers of test and of training points.
    tolerance
        How much of a hit a shot with flipped bits is; None counts hits.

    Examples
    --------
    >>> table = BlockTable(2, 3)
    >>> table.add(ShotPlan([0, 1], [2, 0], [10, 4]), [5, 4])
    >>> table.total, table.estimate(unseen=0.1).tolist()
    (14, [[0.1, 0.1, 0.5], [1.0, 0.1, 0.1]])
    """

    def __init__(self, n_rows: int, n_cols: int, tolerance: Tolerance | None = None) -> None:
        shape = (as_count(n_rows, "n_rows"), as_count(n_cols, "n_cols"))
        if shape[0] * shape[1] > MAX_PAIRS:
            raise InputError(
                f"n_rows times n_cols must be at most {MAX_PAIRS:,} pairs, got "
                f"{shape[0]:,} times {shape[1]:,}; take fewer test points at a time."
            )
        self.shots: IntArray = np.zeros(shape, dtype=np.int64)
        self.tolerance = tolerance
        self.hits: Counts = np.zeros(shape, dtype=np.int64 if tolerance is None else np.float64)

    def _figures(self) -> dict[str, object]:
        rows, cols = self.shots.shape
        seen = f"{int(self.seen.sum()):,} of {rows * cols:,}"
        return {"rows": rows, "columns": cols, "shots": self.total, "pairs seen": seen}

    def _picture(self) -> FloatArray:
        return self.estimate(unseen=0.0)

    @property
    def total(self) -> int:
        """All shots so far."""
        return int(self.shots.sum())

    @property
    def seen(self) -> BoolArray:
        """Pairs that have been measured."""
        return self.shots > 0

    def add(self, plan: ShotPlan, hits: ArrayLike) -> None:
        """Count the hits of an executed plan; on bad input the table is unchanged."""
        counts = plan.checked(hits)
        for name, points, size in zip(
            ("rows", "cols"), (plan.rows, plan.cols), self.shots.shape, strict=True
        ):
            if points.size and points.max() >= size:
                raise InputError(f"{name} of the plan must be below {size}, got {points.max()}.")
        np.add.at(self.shots, (plan.rows, plan.cols), plan.shots)
        won = counts if self.tolerance is None else counts @ self.tolerance.worths
        np.add.at(self.hits, (plan.rows, plan.cols), won)

    def as_hits(self) -> tuple[Counts, Counts]:
        """Return as many shots of hits or misses, and hits, as tell each entry equally well."""
        return as_hits(self.tolerance, self.shots, self.hits)

    def estimate(self, unseen: float) -> FloatArray:
        """Return K-hat = hits / shots per pair (Eq. 4), with ``unseen`` where nothing is known."""
        return np.where(self.seen, self.hits / np.maximum(self.shots, 1), unseen)

    def prior(self) -> KernelPrior:
        """Return what the measured entries say about any entry."""
        found = KernelPrior.of_counts(*(counts.ravel() for counts in self.as_hits()))
        # Away from 0 and 1, as one more shot would be: there nothing would be measured again.
        margin = 0.5 / (int(self.seen.sum()) + 1)
        return KernelPrior(
            mean=min(max(found.mean, margin), 1 - margin),
            strength=min(max(found.strength, WEAKEST_PRIOR), STRONGEST_PRIOR),
        )

    def smoothed(self, prior: KernelPrior) -> FloatArray:
        """Return the posterior mean per pair; strictly between 0 and 1."""
        weight, (shots, hits) = prior.strength, self.as_hits()
        return np.asarray((hits + weight * prior.mean) / (shots + weight))

    def variance(self, prior: KernelPrior) -> FloatArray:
        """Return the variance of ``estimate`` per pair, of an unseen one that of the prior."""
        return prior.variance(self.smoothed(prior), self.as_hits()[0])
