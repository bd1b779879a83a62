"""Outcome probabilities of pure states, each in a setting of its own."""

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka.backends._bulk.gates import ComplexArray
from aqka.core.settings import ROTATIONS


def outcome_probabilities(states: ComplexArray, letters: IntArray) -> FloatArray:
    """Return the probabilities of all outcomes of each state in its row of letters.

    Examples
    --------
    >>> outcome_probabilities(np.array([[1, 0], [1, 0]]), np.array([[2], [0]])).round(3)
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    turned = states.astype(np.complex128)
    for qubit, column in enumerate(letters.T):
        if np.all(column == 2):
            continue  # Z is measured as it is
        parts = turned.reshape(len(states), -1, 2, 2**qubit)
        rotation = ROTATIONS[column][:, :, :, None, None]
        zero, one = parts[:, :, 0], parts[:, :, 1]
        turned = np.stack(
            [rotation[:, k, 0] * zero + rotation[:, k, 1] * one for k in (0, 1)], axis=2
        )
    turned = turned.reshape(len(states), -1)
    return np.asarray(turned.real**2 + turned.imag**2)
