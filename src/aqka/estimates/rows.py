"""Rows of test points from few shots: linear Bayes with the training kernel's second moment.

The training points' own rows say what rows k are like: M = E[k kᵀ] = K²/N = V diag(w²/N) Vᵀ with
K = V diag(w) Vᵀ. Among linear functions vᵀk̂ of measured entries, with noise of variance D, the one
nearest to αᵀk in mean square has v = (M + D)⁻¹ M α; an entry that was not measured has v = 0.

Below the reach of the training kernel's own noise, which its most negative eigenvalue shows, only
the mean square of the eigenvalues is believed: M = rest · I + U diag(extra) Uᵀ with the few
directions U that stand out (docs/explanation/prediction.md).
"""

from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.pairs import BlockTable
from aqka.maths.spectrum import EIGENVALUE_FLOOR, Spectrum

MOST_DIRECTIONS = 200  # of a large kernel; a point costs N times their square


@dataclass(frozen=True, eq=False)
class RowPrior:
    """The second moment M = rest · I + U diag(extra) Uᵀ of rows of kernel entries."""

    directions: FloatArray  # U: eigenvectors that stand out of the kernel's noise, as columns
    extra: FloatArray  # second moment of a row along each of them, beyond the rest
    rest: float  # second moment along every other direction

    @classmethod
    def of(cls, spectrum: Spectrum) -> "RowPrior":
        """Return what the training rows say about any row, from the spectrum of their kernel."""
        values = spectrum.measured  # rising
        n_points = len(values)
        reach = max(-float(values[0]), EIGENVALUE_FLOOR)
        first = max(int(np.searchsorted(values, reach, "right")), n_points - MOST_DIRECTIONS)
        moments = values**2 / n_points
        rest = float(moments[:first].mean()) if first else 0.0
        # Not below the rest, which can be larger where directions were left out.
        extra = np.maximum(moments[first:] - rest, 1e-12 * moments[-1])
        return cls(spectrum.vectors[:, first:], extra, rest)

    def times(self, columns: FloatArray) -> FloatArray:
        """Return M times columns."""
        along = self.extra[:, None] * (self.directions.T @ columns)
        return np.asarray(self.rest * columns + self.directions @ along)

    def coefficients(self, alpha: FloatArray, noise: FloatArray) -> FloatArray:
        """Return v = (M + D)⁻¹ M α for one row, D infinite where it was not measured."""
        return self._solve(self.times(alpha), noise)

    def mean_rows(self, table: BlockTable) -> FloatArray:
        """Return M (M + D)⁻¹ k̂ for each row: what its exact entries are most likely like."""
        measured = table.estimate(0.0)
        pairs = zip(measured, noise_of(table), strict=True)
        solved = [self._solve(row[:, None], noise)[:, 0] for row, noise in pairs]
        return self.times(np.stack(solved, axis=1)).T

    def _solve(self, columns: FloatArray, noise: FloatArray) -> FloatArray:
        """Return (M + D)⁻¹ times columns, over the entries that were measured."""
        weight = 1.0 / (self.rest + noise)
        # Sherman-Morrison-Woodbury: only as many equations as there are directions.
        weighted = weight[:, None] * self.directions
        system = self.directions.T @ weighted
        system[np.diag_indices_from(system)] += 1.0 / self.extra
        along = np.linalg.solve(system, weighted.T @ columns)
        return np.asarray(weight[:, None] * columns - weighted @ along)


def noise_of(table: BlockTable) -> FloatArray:
    """Return k̄(1 - k̄) / s per entry, infinite where there are no shots."""
    mean = table.prior().mean
    noise = np.full(table.shots.shape, np.inf)
    np.divide(mean * (1 - mean), table.as_hits()[0], out=noise, where=table.seen)
    return noise


@dataclass(frozen=True, eq=False)
class RowReading:
    """What the counts of test rows say about the sums αᵀk."""

    alpha: FloatArray  # a column per output
    coefficients: FloatArray  # v of each row: rows by training points by outputs
    values: FloatArray  # vᵀk̂ of each row, a column per output
    noise: FloatArray  # variance of each entry of k̂
    prior: RowPrior | None  # what rows are like; None where v is α itself

    @classmethod
    def linear_bayes(cls, table: BlockTable, prior: RowPrior, alpha: FloatArray) -> "RowReading":
        """Read the counts of a block by the v of each row."""
        v = np.stack([prior.coefficients(alpha, noise) for noise in noise_of(table)])
        values = np.einsum("xj,xjc->xc", table.estimate(0.0), v)
        own = np.where(table.seen, table.prior().variances(table), 0.0)
        return cls(alpha, v, values, own, prior)

    @classmethod
    def as_measured(cls, table: BlockTable, alpha: FloatArray) -> "RowReading":
        """Read the counts of a block by α itself, and the mean of all entries where none are."""
        prior = table.prior()
        v = np.broadcast_to(alpha, (len(table.shots), *alpha.shape))
        return cls(alpha, v, table.estimate(prior.mean) @ alpha, prior.variances(table), None)

    def variance(self, mixture: FloatArray) -> FloatArray:
        """Return the mean square error of each row's mixture of the outputs (rows by outputs).

        The noise is that of the row's own entries; what v leaves out counts as the prior says.
        """
        v = np.einsum("xjc,xc->xj", self.coefficients, mixture)
        found = np.sum(v**2 * self.noise, axis=1)
        if self.prior is not None:
            missed = mixture @ self.alpha.T - v
            found += np.sum(missed.T * self.prior.times(missed.T), axis=0)
        return np.asarray(found)

    def variances(self) -> FloatArray:
        """Return the mean square error of each output: rows by outputs."""
        shape = self.values.shape
        alone = (np.broadcast_to(output, shape) for output in np.eye(shape[1]))
        return np.stack([self.variance(mixture) for mixture in alone], axis=1)
