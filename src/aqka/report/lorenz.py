"""The Lorenz curve, by which charts show how concentrated something is."""

import numpy as np

from aqka._util.arrays import FloatArray

CURVE_POINTS = 200


def lorenz_curve(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the share of the pairs, least first, and of the sum they hold.

    Examples
    --------
    >>> x, y = lorenz_curve(np.array([1.0, 3.0]))
    >>> x.tolist(), y.tolist()
    ([0.0, 0.5, 1.0], [0.0, 0.25, 1.0])
    """
    ordered = np.sort(values)
    total = ordered.sum() or 1.0
    share = np.concatenate([[0.0], np.cumsum(ordered) / total])
    keep = np.unique(np.linspace(0, ordered.size, min(ordered.size, CURVE_POINTS) + 1).astype(int))
    return keep / ordered.size, share[keep]
