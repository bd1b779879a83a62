"""Readout errors from a calibration: what is read when all qubits are 0, and when all are 1."""

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, as_array
from aqka.core.calibration import CalibrationTable
from aqka.core.outcomes import OutcomeCounts, bits_of
from aqka.errors import InputError


def confusion_matrices(answer: OutcomeCounts, n_qubits: int) -> FloatArray:
    """Return readout errors from two calibration circuits, n × 2 × 2.

    Row 0 of ``answer`` has all qubits prepared in 0, row 1 all in 1. Entry (q, r, t) of the result
    is the probability to read r where qubit q is t, with a standard error of sqrt(p(1 - p)/shots).
    """
    shots = np.array([answer.counts[answer.rows == row].sum() for row in (0, 1)])
    if shots.min() == 0 or np.any(answer.rows > 1):
        raise InputError(
            "answer must hold counts of row 0 (all qubits 0) and row 1 (all qubits 1), got "
            f"{shots[0]} and {shots[1]} shots in rows up to {answer.rows.max(initial=0)}."
        )
    bits = bits_of(answer.outcomes, n_qubits)
    confusion = np.empty((n_qubits, 2, 2))
    for true in (0, 1):
        here = answer.rows == true
        ones = answer.counts[here] @ bits[here] / shots[true]
        confusion[:, 1, true], confusion[:, 0, true] = ones, 1 - ones
    return as_confusion(confusion, n_qubits)


def known_confusion(calibration: CalibrationTable | None) -> FloatArray | None:
    """Return what a calibration shows; None without one, or until both states have been read."""
    if calibration is None or calibration.shots.min() == 0:
        return None
    try:
        return confusion_matrices(calibration.answer, calibration.n_qubits)
    except InputError as error:
        zeros, ones = calibration.shots
        raise InputError(
            f"the calibration of the readout, {zeros} shots of all qubits in 0 and {ones} of all "
            f"in 1, cannot be used: {error} Few shots can show this by chance: begin anew with "
            "more calibration_shots, or without."
        ) from error


def as_confusion(confusion: ArrayLike, n_qubits: int) -> FloatArray:
    """Return ``confusion`` as n × 2 × 2 probabilities of reading r (row) at a true bit t (column).

    A qubit that is read wrongly as often as rightly tells nothing, and is refused.
    """
    array = as_array(confusion, "confusion")
    if array.shape != (n_qubits, 2, 2) or array.dtype.kind not in "iuf":
        raise InputError(
            f"confusion must be a 2 × 2 matrix of numbers for each of {n_qubits} qubits, got shape "
            f"{array.shape} and dtype {array.dtype}."
        )
    array = array.astype(np.float64)
    if not np.all((array >= 0) & (array <= 1)) or np.any(np.abs(array.sum(axis=1) - 1) > 1e-9):
        raise InputError(
            "confusion must hold probabilities whose columns sum to 1: entry (q, r, t) is the "
            "probability to read r where qubit q is t."
        )
    wrong = array[:, 1, 0] + array[:, 0, 1]
    if wrong.max() >= 1:
        qubit = int(wrong.argmax())
        raise InputError(
            f"confusion must leave the bits distinct, but qubit {qubit} reads 1 at a 0 with "
            f"{array[qubit, 1, 0]:.3g} and 0 at a 1 with {array[qubit, 0, 1]:.3g}; was the "
            "calibration's order all zeros, then all ones?"
        )
    return array
