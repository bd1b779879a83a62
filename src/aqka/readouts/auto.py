"""Kernel ridge regression that chooses its own regularisation, knowing the shot noise."""

from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray, threads_for
from aqka.core.pairs import PairTable
from aqka.core.plans import Landmarks
from aqka.core.prior import KernelPrior
from aqka.core.problem import Problem
from aqka.estimates.pairs import estimate_kernel
from aqka.maths.metrics import split_folds
from aqka.maths.spectrum import Spectrum
from aqka.readouts._base import FittedHead, Readout
from aqka.readouts._sparse import sparse_coefficients

RIDGES = 14
PENALTIES = (0.0, 0.3, 1.0, 2.0)  # of the targets' standard deviation, on the l1 norm of α
SMALLEST_NOISE = 2e-3  # the noise that a kernel without any is taken to have
LOWEST_RIDGE = 0.2  # in units of the noise, as the next two
EXPECTED_RIDGE = 0.5
RIDGE_SPREAD = 0.6  # of the logarithm, below the expected ridge
GAP_WEIGHT = 2.0


@dataclass(frozen=True)
class Auto(Readout):
    """No ridge to set: an average over ridges and sparsities, weighted by held-out error.

    Shot noise has a spectrum of its own, which ends at 2σ√N; no ridge far below that is any good.
    From there up to the number of points, and with and without a penalty on the l1 norm of α, each
    candidate predicts held-out points from rows halfway between what was measured and what the
    prior makes of it. The weights are exp(-2 gap / SE), gap and SE being those to the best
    candidate over the points.

    docs/explanation/readouts.md tells what else was tried.
    """

    def fit(
        self, table: PairTable, problem: Problem, landmarks: Landmarks | None = None
    ) -> FittedHead:
        """Train on the kernel as measured, and choose by rows that are half smoothed."""
        kernel = estimate_kernel(table, problem, landmarks)
        if landmarks is not None:  # its rows are completed, not counted
            return self.fit_kernel(kernel, problem)
        prior = KernelPrior.of(table)
        mean = prior.posterior_mean(table)
        # The spectrum of symmetric noise with deviation σ per entry ends at 2σ√N (Wigner).
        variance = float(np.mean(prior.variance(mean, table.shots)))
        noise = 2 * np.sqrt(variance * table.n_points)
        rows = (kernel + table.square(mean)) / 2
        with threads_for(table.n_points):
            return self._fit(Spectrum.of(kernel), kernel, rows, problem, noise)

    def fit_kernel(self, kernel: FloatArray, problem: Problem) -> FittedHead:
        """Train on a kernel of unknown noise, which its most negative eigenvalue then measures."""
        with threads_for(len(kernel)):
            spectrum = Spectrum.of(kernel)
            return self._fit(spectrum, kernel, kernel, problem, -float(spectrum.measured[0]))

    def _fit(
        self,
        spectrum: Spectrum,
        kernel: FloatArray,
        rows: FloatArray,
        problem: Problem,
        noise: float,
    ) -> FittedHead:
        y = problem.outputs
        n_points = len(y)
        noise = max(noise, SMALLEST_NOISE)
        ridges = np.geomspace(LOWEST_RIDGE * noise, max(n_points, 20 * noise), RIDGES)
        errors = np.zeros((n_points, len(PENALTIES) * RIDGES))
        for kept, held in split_folds(n_points):
            part = Spectrum.of(kernel[np.ix_(kept, kept)])
            projected = part.kernel()
            for output in y.T:
                alpha = _candidates(part, projected, output[kept], ridges)
                errors[held] += (rows[np.ix_(held, kept)] @ alpha - output[held, None]) ** 2
        weights = _weights(errors, np.tile(ridges, len(PENALTIES)) / noise)
        projected = spectrum.kernel()
        columns = [_candidates(spectrum, projected, output, ridges) @ weights for output in y.T]
        alpha = np.stack(columns, axis=1).reshape(problem.y.shape)
        ridge = float(np.exp(weights @ np.log(np.tile(ridges, len(PENALTIES)))))
        intercept = np.zeros(alpha.shape[1:])
        return FittedHead(alpha, intercept, projected, ridge, problem.classes, spectrum=spectrum)


def _candidates(
    spectrum: Spectrum, projected: FloatArray, y: FloatArray, ridges: FloatArray
) -> FloatArray:
    """Return one column of coefficients per penalty and ridge."""
    shrunk = 1.0 / (spectrum.values[:, None] + ridges)
    alpha = spectrum.vectors @ ((spectrum.vectors.T @ y)[:, None] * shrunk)
    blocks = [alpha]
    largest, scale = float(spectrum.values[-1]), float(np.std(y))
    for penalty in PENALTIES[1:]:
        # Each penalty starts from the one before it.
        alpha = sparse_coefficients(projected, largest, y, ridges, penalty * scale, alpha)
        blocks.append(alpha)
    return np.hstack(blocks)


def _weights(errors: FloatArray, relative_ridges: FloatArray) -> FloatArray:
    """Return the candidates' weights from squared errors, points by candidates."""
    means = errors.mean(axis=0)
    best = int(np.argmin(means))
    gaps = means - means[best]
    spread = np.std(errors - errors[:, [best]], axis=0) / np.sqrt(len(errors))
    # The best, and what equals it on every point, has no gap to weigh.
    log_weights = -GAP_WEIGHT * gaps / np.where(spread > 0, spread, 1.0)
    short = np.minimum(np.log(relative_ridges / EXPECTED_RIDGE), 0.0)
    log_weights -= (short / RIDGE_SPREAD) ** 2 / 2
    weights = np.exp(log_weights - log_weights.max())
    return np.asarray(weights / weights.sum())
