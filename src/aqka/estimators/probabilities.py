"""Probabilities from decision values, without a new shot."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from aqka._util.arrays import FloatArray


def score_per_class(decision: FloatArray) -> FloatArray:
    """Return decision values as a column per class: f of two classes becomes (-f, f) / 2.

    Centred, so that one temperature scales two classes as it does more.
    """
    if decision.ndim == 2 and decision.shape[1] > 1:
        return decision
    f = decision.reshape(-1)
    return np.stack([-f, f], axis=1) / 2


def fit_temperature(decision: FloatArray, winner: FloatArray) -> float:
    """Return the t that makes softmax(t · decision) fit the classes best.

    One number for all classes keeps the most likely class the one that is predicted
    (temperature scaling: Guo et al. 2017, "On calibration of modern neural networks").

    Parameters
    ----------
    decision
        Held-out decision values, a column per class.
    winner
        The column of each point's true class.
    """
    points = np.arange(len(decision))
    scale = float(np.abs(decision).max()) or 1.0

    def loss(log_t: float) -> float:
        t = np.exp(log_t) / scale
        return -float(np.mean(log_softmax(t * decision, axis=1)[points, winner]))

    found = minimize_scalar(loss, bounds=(-6.0, 6.0), method="bounded")
    return float(np.exp(found.x)) / scale


def probabilities(decision: FloatArray, temperature: float) -> FloatArray:
    """Return softmax(t · decision), a column per class."""
    return np.asarray(softmax(temperature * score_per_class(decision), axis=1))
