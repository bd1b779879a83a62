"""Accuracy while a run goes on, from its training points alone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import BoolArray, FloatArray
from aqka.core.problem import Problem
from aqka.errors import InputError
from aqka.maths.metrics import split_folds
from aqka.readouts import Readout


def cross_validated_accuracy(
    kernel: FloatArray, labels: NDArray[Any], readout: Readout, problem: Problem
) -> float | None:
    """Return the share of held-out points that a head trained on the others gets right.

    The held-out rows of the kernel are used as measured. None if a fold has no second class.

    Examples
    --------
    >>> from aqka.readouts import make_readout
    >>> labels = np.array([0, 0, 0, 1, 1, 1])
    >>> kernel = np.where(labels[:, None] == labels, 0.9, 0.1) + 0.1 * np.eye(6)
    >>> cross_validated_accuracy(kernel, labels, make_readout("ridge"), Problem(labels))
    1.0
    """
    right = cross_validated_right(kernel, labels, readout, problem)
    return None if right is None else float(right.mean())


def cross_validated_right(
    kernel: FloatArray, labels: NDArray[Any], readout: Readout, problem: Problem
) -> BoolArray | None:
    """Return for each point whether a head trained without its fold gets it right."""
    right = np.zeros(len(labels), dtype=np.bool_)
    for kept, held in split_folds(len(labels)):
        try:
            part = Problem(labels[kept], problem.ridge, problem.C, problem.reading)
        except InputError:  # too few classes are left
            return None
        head = readout.fit_kernel(kernel[np.ix_(kept, kept)], part)
        right[held] = head.predict(kernel[np.ix_(held, kept)]) == labels[held]
    return right
