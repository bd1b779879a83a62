"""Kernel ridge regression with the ridge chosen by k-fold cross-validation."""

from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.problem import Problem
from aqka.learners._base import Estimate, FittedHead, Learner
from aqka.learners.ridge import fit_ridge
from aqka.learners.ridge_loo import RIDGE_GRID, check_grid
from aqka.maths.metrics import split_folds
from aqka.maths.spectrum import Spectrum


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


@dataclass(frozen=True)
class RidgeKfold(Learner):
    """The ridge of the grid that predicts held-out points best.

    Attributes
    ----------
    grid
        Ridges to choose from.
    """

    grid: tuple[float, ...] = RIDGE_GRID

    def __post_init__(self) -> None:
        check_grid(self.grid)

    def fit(self, estimate: Estimate, problem: Problem) -> FittedHead:
        """Score every ridge on held-out points, then fit all points with the best."""
        ridges = np.asarray(self.grid)
        errors = kfold_errors(estimate.kernel, problem.outputs, ridges, problem.weights)
        ridge = float(ridges[np.argmin(errors)])
        return fit_ridge(self, estimate, estimate.spectrum(problem.weights), problem, ridge)
