"""Kernel ridge regression by leave-one-out error that knows how noisy the kernel is."""

from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.problem import Problem
from aqka.learners._base import Estimate, FittedHead, Learner
from aqka.learners.ridge import fit_ridge
from aqka.learners.ridge_loo import loo_errors
from aqka.maths.spectrum import FeatureSpectrum, Spectrum

LOWEST_RIDGE = 0.25  # in units of the noise
TOLERANCE = 0.25  # in standard errors: errors nearer to the smallest than this count as equal
SMALLEST_RIDGE = 1e-3  # of a kernel without noise
RIDGES_PER_DECADE = 10


@dataclass(frozen=True)
class RidgeNoise(Learner):
    """The smallest ridge that the noise allows and that predicts left-out points as well as any.

    Shot noise has a spectrum of its own, which ends at 2σ√N (Wigner): no ridge below a quarter of
    that is any good, however small its leave-one-out error. Above, the ridge is the smallest one
    whose mean squared leave-one-out residual is within a quarter of a standard error of the best.
    One decomposition serves all ridges.

    docs/explanation/learners.md tells what else was tried.
    """

    def fit(self, estimate: Estimate, problem: Problem) -> FittedHead:
        """Choose the ridge by the noise of the estimate, and solve."""
        spectrum = estimate.spectrum(problem.weights)
        ridge = ridge_above_noise(spectrum, problem, estimate.mean_variance())
        return fit_ridge(self, estimate, spectrum, problem, ridge)


def ridge_above_noise(
    spectrum: Spectrum | FeatureSpectrum, problem: Problem, variance: float | None
) -> float:
    """Return the smallest ridge that is as good as any, of those that the noise allows.

    ``variance`` is the mean of an entry. The spectrum of the shot noise ends at 2σ√N; where the
    variance is unknown, the most negative eigenvalue measures that.
    """
    noise = (
        -float(spectrum.measured[0])
        if variance is None
        else float(2 * np.sqrt(variance * spectrum.n_points))
    )
    lowest = max(LOWEST_RIDGE * noise, SMALLEST_RIDGE)
    highest = 10.0 * max(problem.n_points, lowest)
    count = 1 + round(RIDGES_PER_DECADE * np.log10(highest / lowest))
    ridges = np.geomspace(lowest, highest, count)
    return float(ridges[smallest_as_good(loo_errors(spectrum, problem.outputs, ridges))])


def smallest_as_good(squared: FloatArray) -> int:
    """Return the first column whose mean is within the tolerance of the smallest mean's.

    ``squared`` are errors, points by rising ridges; the standard error is that of the difference
    between two columns over the points.
    """
    means = squared.mean(axis=0)
    best = int(np.argmin(means))
    spread = np.std(squared - squared[:, [best]], axis=0) / np.sqrt(len(squared))
    return int(np.argmax(means - means[best] <= TOLERANCE * spread))
