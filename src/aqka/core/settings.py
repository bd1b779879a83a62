"""Pauli settings: what a point's qubits are measured in.

A *setting* names one Pauli letter per qubit, 0, 1, 2 for X, Y, Z. Column q of the settings is
qubit q, and qubit q is bit q of an outcome: qubit 0 is the least significant bit, as in Qiskit.
A bit is 0 where the letter's eigenvalue +1 was found and 1 where -1 was.
"""

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import IntArray, as_array, as_count
from aqka.errors import InputError

LETTERS = "XYZ"
_H = np.array([[1, 1], [1, -1]]) / np.sqrt(2)
ROTATIONS = np.array([_H, _H @ np.diag([1, -1j]), np.eye(2)], dtype=np.complex128)
"""What turns the eigenstates of X, Y, Z into |0⟩ and |1⟩."""
MAX_QUBITS = 62
"""An outcome is an int64."""
MANY_SETTINGS = 96
_SETTINGS = {1: 3, 2: 9, 3: 27, 4: 32, 5: 48, 6: 48, 7: 48, 8: 48}


def choose_settings(n_qubits: int, seed: int) -> IntArray:
    """Return random distinct Pauli settings to be shared by all points, one row each.

    All of them up to three qubits, 32 of the 81 at four, 48 from five to eight and 96 above. They
    are drawn until every two-qubit Pauli operator is measured by one of them, so that all
    two-qubit reduced states follow from the counts, too.

    Examples
    --------
    >>> choose_settings(2, seed=0).tolist()[:4]
    [[0, 0], [1, 0], [2, 0], [0, 1]]
    >>> choose_settings(4, seed=0).shape
    (32, 4)
    """
    n_qubits = _as_qubits(n_qubits)
    n_settings = _SETTINGS.get(n_qubits, MANY_SETTINGS)
    if n_settings == 3**n_qubits:
        return _letters(np.arange(n_settings), n_qubits)
    random = np.random.default_rng(seed)
    while True:  # a draw in three or so will do
        if n_qubits in _SETTINGS:
            numbers = random.choice(3**n_qubits, size=n_settings, replace=False)
            settings = _letters(numbers, n_qubits)
        else:  # too many to be numbered, and so many that 96 of them are mostly distinct
            settings = random.integers(3, size=(n_settings, n_qubits))
        if len(np.unique(settings, axis=0)) == n_settings and _covers_two_qubits(settings):
            return settings


def _letters(numbers: IntArray, n_qubits: int) -> IntArray:
    """Return the digits of numbers in base 3, the least significant first."""
    return np.asarray(numbers[:, None] // 3 ** np.arange(n_qubits) % 3)


def uniform_settings(n_qubits: int, period: int = 1) -> IntArray:
    """Return all settings whose letters repeat after ``period`` qubits.

    Three with one letter on all qubits are enough for one-qubit states, nine of period 2 for those
    of neighbouring qubits.

    >>> uniform_settings(3).tolist()
    [[0, 0, 0], [1, 1, 1], [2, 2, 2]]
    """
    period = min(period, _as_qubits(n_qubits))
    return _letters(np.arange(3**period), period)[:, np.arange(n_qubits) % period]


def as_settings(settings: ArrayLike) -> IntArray:
    """Return ``settings`` as a read-only array of distinct rows of letters 0, 1, 2."""
    array = as_array(settings, "settings")
    if array.ndim != 2 or array.size == 0 or array.dtype.kind not in "iu":
        raise InputError(
            "settings must be a table of whole numbers, one row per setting and one column per "
            f"qubit, got shape {array.shape} and dtype {array.dtype}."
        )
    _as_qubits(array.shape[1])
    if array.min() < 0 or array.max() > 2:
        raise InputError(
            f"settings must hold 0, 1, 2 for X, Y, Z, got {array.min()} to {array.max()}."
        )
    if len(np.unique(array, axis=0)) < len(array):
        raise InputError("settings must be different ones; a setting is listed twice.")
    array = array.astype(np.int64)
    array.setflags(write=False)
    return array


def _as_qubits(n_qubits: int) -> int:
    if as_count(n_qubits, "n_qubits") > MAX_QUBITS:
        raise InputError(f"n_qubits must be at most {MAX_QUBITS}, got {n_qubits}.")
    return int(n_qubits)


def _covers_two_qubits(settings: IntArray) -> bool:
    """Return whether every pair of letters on every pair of qubits stands in some setting."""
    letters = (settings[:, :, None] == np.arange(3)).reshape(len(settings), -1).astype(np.float64)
    together = letters.T @ letters > 0
    qubit = np.arange(together.shape[0]) // 3
    return bool(np.all(together | (qubit[:, None] == qubit)))
