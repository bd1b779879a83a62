"""Shots and hits of training pairs and of test-by-train blocks, and what they say of entries."""

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aqka._util.arrays import (
    MAX_PAIRS,
    MAX_POINTS,
    BoolArray,
    FloatArray,
    IntArray,
    as_count,
    as_indices,
)
from aqka._util.text import unknown
from aqka.core.extent import Diagonal
from aqka.core.plans import ShotPlan, UnitTable
from aqka.core.tolerance import Counts, Tolerance
from aqka.errors import InputError

Scalar = TypeVar("Scalar", bound=np.generic)
FEWEST_REPEATED = 10  # pairs with two shots or more, below which their spread says nothing
DEFAULT_SPREAD = 0.1  # of the largest possible variance m(1 - m)
WEAKEST_PRIOR = 1.0
STRONGEST_PRIOR = 20.0  # a stronger one would drown a pair that differs from the rest


@lru_cache(maxsize=4)
def _upper_mask(n_points: int, first_diagonal: int) -> BoolArray:
    """Boolean upper triangle; indexing with it reads a matrix in pair order."""
    mask = np.triu(np.ones((n_points, n_points), dtype=np.bool_), k=first_diagonal)
    mask.setflags(write=False)
    return mask


class HitTable(UnitTable):
    """Shots and hits of pairs, however they are arranged."""

    PLAN = ShotPlan
    hits: Counts
    tolerance: Tolerance | None = None  # what a shot with flipped bits counts; None counts hits

    def as_hits(self) -> tuple[Counts, Counts]:
        """Return as many shots of hits or misses, and hits, as tell each entry equally well."""
        if self.tolerance is None:
            return self.shots, self.hits
        return self.shots / self.tolerance.spread, self.hits / self.tolerance.spread

    @property
    def bits(self) -> int | None:
        """Bits of an outcome, where those that are flipped count."""
        return None if self.tolerance is None else self.tolerance.bits

    @property
    def seen(self) -> BoolArray:
        """Pairs that have been measured."""
        return np.asarray(self.shots > 0)

    def on_diagonal(self) -> BoolArray:
        """Return which pairs are of a point with itself."""
        return np.zeros(self.shots.shape, dtype=np.bool_)

    def estimate(self, unseen: float = 0.0) -> FloatArray:
        """Return K-hat = hits / shots per pair (Eq. 4), with ``unseen`` where nothing is known."""
        return np.where(self.seen, self.hits / np.maximum(self.shots, 1), unseen)


class PairTable(HitTable):
    """Shots and hits of every pair that can be measured, in row-major upper-triangle order.

    Parameters
    ----------
    n_points : int
        Number of training points N.
    diagonal : {"known", "measured"}, default="known"
        ``"known"``: K_ii = 1 costs nothing and is not in the table of N(N-1)/2 pairs.
        ``"measured"``: it is measured like any pair; the table has the paper's M = N(N+1)/2 pairs.
    bits : int, default=None
        Bits of an outcome where those that are flipped count: ``flips`` has the shots of each pair
        with 0, 1, … of them, ``tolerance`` what they are worth, and ``hits`` are fractions then.

    Examples
    --------
    >>> table = PairTable(3)
    >>> table.add(ShotPlan([0, 1], [1, 2], [10, 4]), [5, 4])
    >>> table.square(table.estimate())
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 1. ],
           [0. , 1. , 1. ]])
    >>> table.seen
    array([ True, False,  True])
    """

    def __init__(
        self, n_points: int, diagonal: Diagonal = "known", bits: int | None = None
    ) -> None:
        self.n_points = as_count(n_points, "n_points", minimum=2)
        if self.n_points > MAX_POINTS:
            raise InputError(
                f"n_points must be at most {MAX_POINTS:,}, got {self.n_points:,}, which have "
                f"{self.n_points * (self.n_points - 1) // 2:,} pairs; take a sample of the points."
            )
        if diagonal not in ("known", "measured"):
            raise unknown("diagonal", diagonal, ("known", "measured"))
        self.diagonal: Diagonal = diagonal
        self.n_pairs = self.n_points * (self.n_points - 1) // 2
        if diagonal == "measured":
            self.n_pairs += self.n_points
        self.shots: IntArray = np.zeros(self.n_pairs, dtype=np.int64)
        self.hits: Counts = np.zeros(self.n_pairs, dtype=np.int64)
        self.flips: IntArray | None = None
        if bits is not None:
            if self.n_pairs * (bits + 1) > MAX_PAIRS:
                raise InputError(
                    f"flipped bits of {self.n_pairs:,} pairs of {bits} qubits are more than "
                    f"{MAX_PAIRS:,} counts; take fewer points, or reading='all-zero'."
                )
            self.flips = np.zeros((self.n_pairs, bits + 1), dtype=np.int64)
            self.tolerance = Tolerance(bits)

    @property
    def counts(self) -> IntArray:
        """What was counted: flipped bits, or hits."""
        return self.hits if self.flips is None else self.flips

    def _figures(self) -> dict[str, object]:
        return {
            "points": self.n_points,
            "pairs": self.n_pairs,
            "shots": self.total,
            "unseen": int(np.sum(~self.seen)),
        }

    def extent(self) -> dict[str, str]:
        """Return the points that plans may name, and whether a point with itself."""
        found = {"points": str(self.n_points), "diagonal": self.diagonal}
        return found if self.bits is None else found | {"bits": str(self.bits)}

    def _picture(self) -> FloatArray:
        return self.square(self.estimate())

    @property
    def _mask(self) -> BoolArray:
        return _upper_mask(self.n_points, 0 if self.diagonal == "measured" else 1)

    def pairs(self, index: IntArray | None = None) -> tuple[IntArray, IntArray]:
        """Return the row and column points of the pairs at ``index`` (all by default)."""
        positions = np.flatnonzero(self._mask)
        return np.divmod(positions if index is None else positions[index], self.n_points)

    def index(self, rows: ArrayLike, cols: ArrayLike) -> IntArray:
        """Return the table positions of pairs given by their two points, in either order."""
        first, second = (
            as_indices(points, f"{name} of the pairs", self.n_points)
            for name, points in (("rows", rows), ("cols", cols))
        )
        i, j = np.minimum(first, second), np.maximum(first, second)
        if self.diagonal == "measured":
            return np.asarray(i * self.n_points - i * (i + 1) // 2 + j, dtype=np.int64)
        if np.any(i == j):
            raise InputError(
                "a pair (i, i) was given, but the diagonal of this table is known to be 1; "
                "use diagonal='measured' to spend shots on it."
            )
        return np.asarray(i * (self.n_points - 1) - i * (i - 1) // 2 + (j - i - 1), dtype=np.int64)

    def add(self, plan: ShotPlan, hits: ArrayLike) -> None:
        """Count the hits of an executed plan; on bad input the table is unchanged."""
        counts = plan.checked(hits)
        index = self.index(plan.rows, plan.cols)
        # np.add.at sums a pair that stands several times in one plan.
        if self.flips is not None and plan.bits != self.flips.shape[1] - 1:
            raise InputError("the plan counts other flipped bits than the table.")
        np.add.at(self.shots, index, plan.shots)
        if self.flips is not None:
            np.add.at(self.flips, index, counts)
            self.tolerance = Tolerance.of(self.flips[~self.on_diagonal()])
            self.hits = self.flips @ self.tolerance.worths
        else:
            np.add.at(self.hits, index, counts if plan.bits is None else counts[:, 0])

    def square(self, values: FloatArray, known_diagonal: float = 1.0) -> FloatArray:
        """Return ``values`` of pairs as a symmetric matrix, ``known_diagonal`` on a known one."""
        matrix = np.empty((self.n_points, self.n_points))
        matrix[self._mask] = values
        matrix.T[self._mask] = values
        if self.diagonal == "known":
            np.fill_diagonal(matrix, known_diagonal)
        return matrix

    def condense(self, matrix: NDArray[Scalar]) -> NDArray[Scalar]:
        """Return the entries of a symmetric matrix in pair order (the inverse of ``square``)."""
        if matrix.shape != (self.n_points, self.n_points):
            raise InputError(
                f"matrix must have shape {(self.n_points, self.n_points)}, got {matrix.shape}."
            )
        return np.asarray(matrix[self._mask])

    def subset(self, points: ArrayLike) -> "PairTable":
        """Return the measurements among some of the points, in the order they are given."""
        chosen = as_indices(points, "points", self.n_points)
        if np.unique(chosen).size != chosen.size:
            raise InputError("points must be different ones; a point is listed twice.")
        part = PairTable(chosen.size, self.diagonal)
        rows, cols = part.pairs()
        index = self.index(chosen[rows], chosen[cols])
        part.shots, part.hits, part.tolerance = self.shots[index], self.hits[index], self.tolerance
        part.flips = None if self.flips is None else self.flips[index]
        return part

    def on_diagonal(self) -> BoolArray:
        """Return which pairs are (i, i); none when the diagonal is known."""
        return np.eye(self.n_points, dtype=np.bool_)[self._mask]


@dataclass(frozen=True)
class KernelPrior:
    """A Beta prior for kernel entries, fitted to the counts of many (empirical Bayes)."""

    mean: float  # m
    strength: float  # shots that it is worth: ν, so that a pair reads (hits + νm) / (shots + ν)

    @classmethod
    def of_counts(cls, shots: Counts, hits: Counts) -> "KernelPrior":
        """Fit mean and variance by moments.

        h(h-1) / s(s-1) is unbiased for K² where s ≥ 2, so the variance of the *entries* is found
        without that of the shots. A Beta variable of variance m(1-m)/(ν+1) has strength ν.
        """
        seen = shots > 0
        if not seen.any():
            return cls(0.5, 1.0)
        mean = float(np.mean(hits[seen] / shots[seen]))
        largest = max(mean * (1 - mean), np.finfo(float).tiny)
        repeated = shots >= 2
        variance = DEFAULT_SPREAD * largest
        if repeated.sum() >= FEWEST_REPEATED:
            s, h = shots[repeated].astype(float), hits[repeated].astype(float)
            weight = (s - 1) / np.sum(s - 1)
            square = float(np.sum(weight * h * (h - 1) / (s * (s - 1))))
            variance = square - float(np.sum(weight * h / s)) ** 2
        # Strengths from a tenth of a shot to ten thousand.
        variance = min(max(variance, 1e-4 * largest), largest / 1.1)
        return cls(mean, largest / variance - 1)

    @classmethod
    def of(cls, table: PairTable) -> "KernelPrior":
        """Fit the off-diagonal entries of a training kernel."""
        off_diagonal = ~table.on_diagonal()
        shots, hits = table.as_hits()
        return cls.of_counts(shots[off_diagonal], hits[off_diagonal])

    def posterior_mean(self, table: HitTable) -> FloatArray:
        """Return (hits + νm) / (shots + ν) per pair; a measured diagonal is expected at 1."""
        mean = np.where(table.on_diagonal(), 1.0, self.mean)
        shots, hits = table.as_hits()
        return np.asarray((hits + self.strength * mean) / (shots + self.strength))

    def variances(self, table: HitTable) -> FloatArray:
        """Return the variance of K-hat per pair; of an unseen one, that of the prior."""
        k = self.posterior_mean(table)  # at K-hat = 0 its plug-in variance would claim certainty
        shots = table.as_hits()[0]
        return np.asarray(k * (1 - k) / np.where(shots == 0, self.strength + 1, shots))


class BlockTable(HitTable):
    """Shots and hits of every pair (test point, training point).

    Parameters
    ----------
    n_rows, n_cols : int
        Numbers of test and of training points.
    tolerance : Tolerance, default=None
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

    def extent(self) -> dict[str, str]:
        """Return the points that plans may name."""
        found = dict(zip(("rows", "cols"), map(str, self.shots.shape), strict=True))
        return found if self.bits is None else found | {"bits": str(self.bits)}

    def _picture(self) -> FloatArray:
        return self.estimate()

    def add(self, plan: ShotPlan, hits: ArrayLike) -> None:
        """Count the hits of an executed plan; on bad input the table is unchanged."""
        counts = plan.checked(hits)
        n_rows, n_cols = self.shots.shape
        as_indices(plan.rows, "rows of the plan", n_rows)
        as_indices(plan.cols, "cols of the plan", n_cols)
        np.add.at(self.shots, (plan.rows, plan.cols), plan.shots)
        won = counts if self.tolerance is None else counts @ self.tolerance.worths
        np.add.at(self.hits, (plan.rows, plan.cols), won)

    def prior(self) -> KernelPrior:
        """Return what the measured entries say about any entry."""
        found = KernelPrior.of_counts(*(counts.ravel() for counts in self.as_hits()))
        # Away from 0 and 1, as one more shot would be: there nothing would be measured again.
        margin = 0.5 / (int(self.seen.sum()) + 1)
        return KernelPrior(
            mean=min(max(found.mean, margin), 1 - margin),
            strength=min(max(found.strength, WEAKEST_PRIOR), STRONGEST_PRIOR),
        )
