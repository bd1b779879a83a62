"""The width of a Gaussian projected kernel, chosen with the ridge by the leave-one-out error."""

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.estimates.projected import gaussian_projected_kernel, median_gamma
from aqka.estimates.reduced_states import ReducedStates
from aqka.learners.ridge import RIDGE_GRID, loo_errors
from aqka.maths.spectrum import Spectrum

WIDTHS = (0.25, 1.0, 4.0, 16.0)
"""In units of the median squared distance. With few shots a wide kernel is better, because it
averages over points; with many a narrow one can be."""


def tuned_gamma(states: ReducedStates, y: FloatArray, keep_noise: bool = True) -> float:
    """Return the γ whose kernel has the smallest leave-one-out error at its best ridge.

    Parameters
    ----------
    states
        Reduced states of the training points.
    y
        Targets, one column or one for each output.
    keep_noise
        As for :func:`~aqka.estimates.projected.gaussian_projected_kernel`.
    """
    unit, ridges = median_gamma(states), np.asarray(RIDGE_GRID)
    outputs = np.asarray(y, dtype=np.float64).reshape(len(states.expectations), -1)
    errors = []
    for width in WIDTHS:
        kernel = gaussian_projected_kernel(states, unit / width, keep_noise=keep_noise)
        spectrum = Spectrum.of(kernel)
        errors.append(float(loo_errors(spectrum, outputs, ridges).mean(axis=0).min()))
    return unit / WIDTHS[int(np.argmin(errors))]
