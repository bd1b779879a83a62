"""Kernel ridge regression: with the ridge as given, or chosen by points that are left out."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray, as_positive
from aqka.core.problem import Problem
from aqka.errors import InputError
from aqka.learners._base import Estimate, FittedHead, Learner
from aqka.maths.metrics import split_folds
from aqka.maths.spectrum import FeatureSpectrum, Spectrum

AnySpectrum = Spectrum | FeatureSpectrum


class _RidgeLearner(Learner):
    @abstractmethod
    def ridge(self, estimate: Estimate, spectrum: AnySpectrum, problem: Problem) -> float:
        """Return λ."""

    def fit(self, estimate: Estimate, problem: Problem) -> FittedHead:
        """Project, choose the ridge, and solve α = (K + λI)^{-1} y."""
        spectrum = estimate.spectrum(problem.weights)
        ridge = self.ridge(estimate, spectrum, problem)
        alpha = spectrum.solve(problem.y, ridge)
        return FittedHead(
            alpha,
            np.zeros(alpha.shape[1:]),
            estimate,
            ridge,
            problem.classes,
            problem.has_classes,
            self.describe(problem),
            spectrum,
        )


@dataclass(frozen=True)
class Ridge(_RidgeLearner):
    """The problem's own ridge: the paper's learner."""

    def ridge(self, estimate: Estimate, spectrum: AnySpectrum, problem: Problem) -> float:
        """Return the problem's own."""
        return problem.ridge


RIDGE_GRID: tuple[float, ...] = tuple(np.geomspace(1e-3, 1e2, 21).tolist())
"""Four values per decade. The paper's grid ends at 0.1, where the optimum often only begins."""


def loo_errors(spectrum: AnySpectrum, outputs: FloatArray, ridges: FloatArray) -> FloatArray:
    """Return the squared leave-one-out residuals of all outputs together, points by ridges."""
    return np.asarray(sum(spectrum.loo_residuals(y, ridges) ** 2 for y in outputs.T))


def best_loo_ridge(
    spectrum: AnySpectrum, outputs: FloatArray, grid: tuple[float, ...] = RIDGE_GRID
) -> float:
    """Return the ridge of the grid with the smallest mean squared leave-one-out residual."""
    ridges = np.asarray(grid)
    return float(ridges[np.argmin(loo_errors(spectrum, outputs, ridges).mean(axis=0))])


@dataclass(frozen=True)
class _FromGrid(_RidgeLearner):
    grid: tuple[float, ...] = RIDGE_GRID  # ridges to choose from

    def __post_init__(self) -> None:
        if len(self.grid) == 0:
            raise InputError("grid must hold at least one ridge, got none.")
        for ridge in self.grid:
            as_positive(ridge, "grid")


class RidgeLoo(_FromGrid):
    """The ridge of the grid with the smallest mean squared leave-one-out residual.

    One decomposition serves the whole grid. With very uneven shots it can mislead, because
    projection has already used every entry; ``ridge-kfold`` holds points out for real.

    Parameters
    ----------
    grid : tuple of float, default=RIDGE_GRID
        Ridges to choose from; by default 21 from 0.001 to 100.
    """

    def ridge(self, estimate: Estimate, spectrum: AnySpectrum, problem: Problem) -> float:
        """Return the best of the grid."""
        return best_loo_ridge(spectrum, problem.outputs, self.grid)


def kfold_errors(
    kernel: FloatArray, y: FloatArray, ridges: FloatArray, weights: FloatArray | None = None
) -> FloatArray:
    """Return the mean squared error on held-out points, one value per ridge; y has columns.

    The training block is projected, the held-out rows are used as measured.
    """
    squared = np.zeros(len(ridges))
    weights = np.ones(len(y)) if weights is None else weights
    root = np.sqrt(weights)
    for kept, held in split_folds(len(y)):
        spectrum = Spectrum.of(kernel[np.ix_(kept, kept)], weights[kept])
        shrunk = 1.0 / (spectrum.values[:, None] + ridges)
        rows = (kernel[np.ix_(held, kept)] * root[kept]) @ spectrum.vectors
        for output in y.T:
            predicted = rows @ ((spectrum.vectors.T @ (root * output)[kept])[:, None] * shrunk)
            squared += weights[held] @ (predicted - output[held, None]) ** 2
    return squared / y.size


class RidgeKfold(_FromGrid):
    """The ridge of the grid that predicts held-out points best.

    Parameters
    ----------
    grid : tuple of float, default=RIDGE_GRID
        Ridges to choose from; by default 21 from 0.001 to 100.
    """

    def ridge(self, estimate: Estimate, spectrum: AnySpectrum, problem: Problem) -> float:
        """Return the best of the grid on held-out points."""
        ridges = np.asarray(self.grid)
        errors = kfold_errors(estimate.kernel, problem.outputs, ridges, problem.weights)
        return float(ridges[np.argmin(errors)])


LOWEST_RIDGE = 0.25  # in units of the noise
TOLERANCE = 0.25  # in standard errors: errors nearer to the smallest than this count as equal
SMALLEST_RIDGE = 1e-3  # of a kernel without noise
RIDGES_PER_DECADE = 10


@dataclass(frozen=True)
class RidgeNoise(_RidgeLearner):
    """The smallest ridge that the noise allows and that predicts left-out points as well as any.

    Shot noise has a spectrum of its own, which ends at 2σ√N (Wigner): no ridge below a quarter of
    that is any good, however small its leave-one-out error. Above, the ridge is the smallest one
    whose mean squared leave-one-out residual is within a quarter of a standard error of the best.
    One decomposition serves all ridges. docs/explanation/learners.md tells what else was tried.
    """

    def ridge(self, estimate: Estimate, spectrum: AnySpectrum, problem: Problem) -> float:
        """Return one by the noise of the estimate."""
        return ridge_above_noise(spectrum, problem, estimate.mean_variance())


def ridge_above_noise(spectrum: AnySpectrum, problem: Problem, variance: float | None) -> float:
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
