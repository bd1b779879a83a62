"""Kernel ridge regression by leave-one-out error that knows how noisy the kernel is."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.pairs import PairTable
from aqka.core.plans import Landmarks
from aqka.core.prior import KernelPrior
from aqka.core.problem import Problem
from aqka.estimates.pairs import estimate_kernel
from aqka.maths.spectrum import FeatureSpectrum, Spectrum
from aqka.readouts._base import FeatureHead, FittedHead, Readout
from aqka.readouts.ridge import feature_ridge, fit_ridge
from aqka.readouts.ridge_loo import Residuals, loo_residuals

LOWEST_RIDGE = 0.25  # in units of the noise
TOLERANCE = 0.25  # in standard errors: errors nearer to the smallest than this count as equal
SMALLEST_RIDGE = 1e-3  # of a kernel without noise
RIDGES_PER_DECADE = 10


@dataclass(frozen=True)
class RidgeNoise(Readout):
    """The smallest ridge that the noise allows and that predicts left-out points as well as any.

    Shot noise has a spectrum of its own, which ends at 2σ√N (Wigner): no ridge below a quarter of
    that is any good, however small its leave-one-out error. Above, the ridge is the smallest one
    whose mean squared leave-one-out residual is within a quarter of a standard error of the best.
    One decomposition serves all ridges.

    docs/explanation/readouts.md tells what else was tried.
    """

    def fit(
        self, table: PairTable, problem: Problem, landmarks: Landmarks | None = None
    ) -> FittedHead:
        """Train on the kernel as measured, with the noise that its counts have."""
        kernel = estimate_kernel(table, problem, landmarks)
        if landmarks is not None:  # its rows are completed, not counted
            return self.fit_kernel(kernel, problem)
        return _fit(Spectrum.of(kernel), problem, noise_edge(table))

    def fit_noisy(
        self, kernel: FloatArray, variances: Callable[[], FloatArray], problem: Problem
    ) -> FittedHead:
        """Train on a kernel whose entries have these variances."""
        return _fit(Spectrum.of(kernel), problem, edge_of_variances(variances()))

    def fit_kernel(self, kernel: FloatArray, problem: Problem) -> FittedHead:
        """Train on a kernel of unknown noise, which its most negative eigenvalue then measures."""
        spectrum = Spectrum.of(kernel)
        return _fit(spectrum, problem, -float(spectrum.measured[0]))

    def fit_features(
        self, features: FloatArray, mean_variance: Callable[[], float], problem: Problem
    ) -> FeatureHead:
        """Train without the kernel, whose entries have this variance on average."""
        spectrum = FeatureSpectrum.of(features)
        noise = float(2 * np.sqrt(mean_variance() * len(features)))
        return feature_ridge(spectrum, problem, _choose(spectrum.loo_residuals, problem, noise))


def noise_edge(table: PairTable) -> float:
    """Return where the spectrum of the shot noise ends: 2σ√N, σ² being the pairs' mean variance."""
    prior = KernelPrior.of(table)
    variance = float(np.mean(prior.variance(prior.posterior_mean(table), table.shots)))
    return float(2 * np.sqrt(variance * table.n_points))


def edge_of_variances(variances: FloatArray) -> float:
    """Return the same of a kernel whose entries, the diagonal left out, have these variances."""
    n_points = len(variances)
    off_diagonal = variances.sum() - np.trace(variances)
    return float(2 * np.sqrt(off_diagonal / max(n_points - 1, 1)))


def _fit(spectrum: Spectrum, problem: Problem, noise: float) -> FittedHead:
    ridge = _choose(lambda y, ridges: loo_residuals(spectrum, y, ridges), problem, noise)
    return fit_ridge(spectrum, problem, ridge)


def _choose(residuals: Residuals, problem: Problem, noise: float) -> float:
    """Return the smallest ridge that is as good as any, of those that the noise allows."""
    n_points = problem.n_points
    lowest = max(LOWEST_RIDGE * noise, SMALLEST_RIDGE)
    highest = 10.0 * max(n_points, lowest)
    count = 1 + round(RIDGES_PER_DECADE * np.log10(highest / lowest))
    ridges = np.geomspace(lowest, highest, count)
    squared = np.zeros((n_points, count))
    for output in problem.outputs.T:
        squared += residuals(output, ridges) ** 2
    return float(ridges[smallest_as_good(squared)])


def smallest_as_good(squared: FloatArray) -> int:
    """Return the first column whose mean is within the tolerance of the smallest mean's.

    ``squared`` are errors, points by rising ridges; the standard error is that of the difference
    between two columns over the points.
    """
    means = squared.mean(axis=0)
    best = int(np.argmin(means))
    spread = np.std(squared - squared[:, [best]], axis=0) / np.sqrt(len(squared))
    return int(np.argmax(means - means[best] <= TOLERANCE * spread))
