"""Kernel ridge regression with the ridge chosen by k-fold cross-validation."""

from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray, as_count
from aqka.core.problem import Problem
from aqka.maths.metrics import FOLDS, split_folds
from aqka.maths.spectrum import Spectrum
from aqka.readouts._base import FittedHead, Readout
from aqka.readouts.ridge import fit_ridge
from aqka.readouts.ridge_loo import RIDGE_GRID, check_grid


def kfold_errors(kernel: FloatArray, y: FloatArray, ridges: FloatArray, folds: int) -> FloatArray:
    """Return the mean squared error on held-out points, one value per ridge; y has columns.

    The training block is projected, the held-out rows are used as measured.
    """
    squared = np.zeros(len(ridges))
    for kept, held in split_folds(len(y), folds):
        spectrum = Spectrum.of(kernel[np.ix_(kept, kept)])
        shrunk = 1.0 / (spectrum.values[:, None] + ridges)
        rows = kernel[np.ix_(held, kept)] @ spectrum.vectors
        for output in y.T:
            predicted = rows @ ((spectrum.vectors.T @ output[kept])[:, None] * shrunk)
            squared += np.sum((predicted - output[held, None]) ** 2, axis=0)
    return squared / y.size


@dataclass(frozen=True)
class RidgeKfold(Readout):
    """The ridge of the grid that predicts held-out points best: the practical default.

    Attributes
    ----------
    grid
        Ridges to choose from.
    folds
        Number of folds.
    """

    grid: tuple[float, ...] = RIDGE_GRID
    folds: int = FOLDS

    def __post_init__(self) -> None:
        """Check the grid and the number of folds."""
        check_grid(self.grid)
        as_count(self.folds, "folds", minimum=2)

    def fit_kernel(self, kernel: FloatArray, problem: Problem) -> FittedHead:
        """Score every ridge on held-out points, then fit all points with the best."""
        ridges = np.asarray(self.grid)
        errors = kfold_errors(kernel, problem.outputs, ridges, self.folds)
        return fit_ridge(Spectrum.of(kernel), problem, float(ridges[np.argmin(errors)]))
