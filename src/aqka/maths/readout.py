"""Readout errors of single qubits: what a device reads when a bit is something else.

A confusion matrix C_q has the probability to read r where the bit of qubit q is t in row r and
column t, so its columns sum to 1. Qubits err independently: the probabilities of a bitstring that
are read are ⊗C_q applied to the true ones.
"""

import numpy as np

from aqka._util.arrays import FloatArray


def confuse(probabilities: FloatArray, confusion: FloatArray) -> FloatArray:
    """Return ⊗C_q applied to the last axis, of 2^n outcomes: what is read.

    Qubit by qubit, so that 2^n outcomes cost n 2^n steps. With the transposed matrices it is the
    transposed map.

    Examples
    --------
    >>> confuse(np.array([1.0, 0.0, 0.0, 0.0]), np.array([np.eye(2), [[0.9, 0.2], [0.1, 0.8]]]))
    array([0.9, 0. , 0.1, 0. ])
    """
    shape = probabilities.shape
    result = probabilities
    for qubit, matrix in enumerate(confusion):
        halves = result.reshape(-1, 2, 2**qubit)
        result = np.stack([row[0] * halves[:, 0] + row[1] * halves[:, 1] for row in matrix], axis=1)
    return result.reshape(shape)
