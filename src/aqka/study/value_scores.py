"""How good predicted values are, in the units of the target."""

from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray


@dataclass(frozen=True)
class ValueScores:
    """Scores of predicted values.

    Attributes
    ----------
    rmse, rmse_error
        Root mean square error, and its standard error.
    mean_absolute_error
        Mean size of the errors.
    r2
        Share of the targets' variance that is explained; below 0, worse than their mean.
    mean_rmse
        Root mean square error of always answering the training points' mean.
    gain, gain_error
        By how much the squared errors are smaller than that answer's, point by point, and its
        standard error.
    """

    rmse: float
    rmse_error: float
    mean_absolute_error: float
    r2: float
    mean_rmse: float
    gain: float
    gain_error: float

    @classmethod
    def of(cls, truth: FloatArray, predicted: FloatArray, training_mean: float) -> "ValueScores":
        """Score predictions against the truth.

        Examples
        --------
        >>> scores = ValueScores.of(np.array([1.0, 2.0, 6.0]), np.array([1.0, 3.0, 5.0]), 3.0)
        >>> round(scores.rmse, 3), round(scores.r2, 3), round(scores.mean_rmse, 3)
        (0.816, 0.857, 2.16)
        """
        squared = (predicted - truth) ** 2
        plain = (truth - training_mean) ** 2
        n_points = len(truth)
        rmse, more = float(np.sqrt(squared.mean())), plain - squared
        variance = float(np.var(truth))
        return cls(
            rmse=rmse,
            # To first order: the deviation of a root is that of its square over twice the root.
            rmse_error=float(np.std(squared) / np.sqrt(n_points) / (2 * rmse)) if rmse else 0.0,
            mean_absolute_error=float(np.mean(np.sqrt(squared))),
            r2=1 - rmse**2 / variance if variance else float("nan"),
            mean_rmse=float(np.sqrt(plain.mean())),
            gain=float(more.mean()),
            gain_error=float(np.std(more) / np.sqrt(n_points)),
        )
