"""Pauli settings: what a point's qubits are measured in.

A *setting* names one Pauli letter per qubit, 0, 1, 2 for X, Y, Z. Column q of the settings is
qubit q, and qubit q is bit q of an outcome: qubit 0 is the least significant bit, as in Qiskit.
A bit is 0 where the letter's eigenvalue +1 was found and 1 where -1 was.
"""

from collections import deque
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import IntArray, as_array, as_count
from aqka.errors import InputError

LETTERS = "XYZ"
_H = np.array([[1, 1], [1, -1]]) / np.sqrt(2)
ROTATIONS = np.array([_H, _H @ np.diag([1, -1j]), np.eye(2)], dtype=np.complex128)
"""What turns the eigenstates of X, Y, Z into |0⟩ and |1⟩."""
MAX_QUBITS = 256
MAX_MANY_SETTINGS_QUBITS = 8  # above it no states are fitted, and neighbours need few settings
N_NEIGHBOUR_SETTINGS = 9  # enough for the neighbours of a graph that four colours suffice for
_SETTINGS = {1: 3, 2: 9, 3: 27, 4: 32, 5: 48, 6: 48, 7: 48, 8: 48}


def choose_settings(n_qubits: int, seed: int) -> IntArray:
    """Return distinct Pauli settings to be shared by all points, one row each.

    All of them up to three qubits, 32 of the 81 at four, and 48 from five to eight: drawn from the
    seed until every two-qubit Pauli operator is measured by one of them. Above eight qubits the
    nine of :func:`neighbour_settings` for a line.
    """
    n_qubits = as_qubits(n_qubits)
    if n_qubits > MAX_MANY_SETTINGS_QUBITS:
        return neighbour_settings(n_qubits, line_edges(n_qubits))
    n_settings = _SETTINGS[n_qubits]
    if n_settings == 3**n_qubits:
        return _letters(np.arange(n_settings), n_qubits)
    random = np.random.default_rng(seed)
    while True:  # a draw in three or so will do
        numbers = random.choice(3**n_qubits, size=n_settings, replace=False)
        settings = _letters(numbers, n_qubits)
        if _covers_two_qubits(settings):
            return settings


def line_edges(n_qubits: int) -> IntArray:
    """Return the neighbours on a line, one pair of qubits a row."""
    return np.stack([np.arange(n_qubits - 1), np.arange(1, n_qubits)], axis=1)


def all_edges(n_qubits: int) -> IntArray:
    """Return all pairs of qubits, one a row."""
    return np.stack(np.triu_indices(n_qubits, k=1), axis=1)


def as_edges(edges: ArrayLike, n_qubits: int) -> IntArray:
    """Return pairs of different qubits, the smaller one first, sorted and each of them once."""
    two_a_row = "pairs must be 'neighbours', 'all' or a table of qubits, two a row"
    try:
        pairs = as_array(edges, "pairs")
    except InputError:
        raise InputError(f"{two_a_row}: states of one and of two qubits do not mix.") from None
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not len(pairs) or pairs.dtype.kind not in "iu":
        raise InputError(f"{two_a_row}, got shape {pairs.shape} and dtype {pairs.dtype}.")
    if pairs.min() < 0 or pairs.max() >= n_qubits or np.any(pairs[:, 0] == pairs[:, 1]):
        raise InputError(
            f"pairs must name two different qubits from 0 to {n_qubits - 1} a row, those of the "
            f"feature map; got {pairs.min()} to {pairs.max()}."
        )
    return np.unique(np.sort(pairs.astype(np.int64), axis=1), axis=0)


def neighbour_settings(n_qubits: int, edges: ArrayLike) -> IntArray:
    """Return few settings in which every two-qubit operator of every edge is measured.

    Nine where at most four colours make all neighbours differ, as two do on lines and on heavy-hex
    and square lattices: qubits of one colour share a letter. For all pairs of qubits they are 15
    up to 12 qubits, 21 up to 36, 27 up to 108 and 33 above: a covering array.

    >>> neighbour_settings(4, line_edges(4))[1]
    array([0, 1, 0, 1])
    >>> [len(neighbour_settings(n, all_edges(n))) for n in (9, 60, 100, 156)]
    [15, 27, 27, 33]
    """
    colours = _colours(as_qubits(n_qubits), as_edges(edges, n_qubits))
    a, b = np.divmod(np.arange(N_NEIGHBOUR_SETTINGS), 3)
    # Any two of these four columns hold all nine pairs of letters.
    settings = np.stack([a, b, (a + b) % 3, (a + 2 * b) % 3], axis=1)[:, colours % 4]
    unequal = np.array(list(permutations(range(3))))
    # Where the column is the same, pairs of equal letters are there already, and these six rows
    # hold the others for any two digits that differ.
    for level in range(len(np.base_repr(colours.max() // 4, 3)) if colours.max() >= 4 else 0):
        settings = np.concatenate([settings, unequal[:, colours // 4 // 3**level % 3]])
    _, first = np.unique(settings, axis=0, return_index=True)
    return np.asarray(settings[np.sort(first)])


def _colours(n_qubits: int, edges: IntArray) -> IntArray:
    """Return a colour for each qubit, different for neighbours: two where two will do."""
    neighbours: list[list[int]] = [[] for _ in range(n_qubits)]
    for a, b in edges.tolist():
        neighbours[a].append(b)
        neighbours[b].append(a)
    colours = np.full(n_qubits, -1)
    for root in range(n_qubits):
        waiting = deque([root])
        while waiting:
            qubit = waiting.popleft()
            if colours[qubit] >= 0:
                continue
            taken = set(colours[neighbours[qubit]].tolist())
            colours[qubit] = next(k for k in range(n_qubits) if k not in taken)
            waiting.extend(neighbours[qubit])
    return colours


def _letters(numbers: IntArray, n_qubits: int) -> IntArray:
    """Return the digits of numbers in base 3, the least significant first."""
    return np.asarray(numbers[:, None] // 3 ** np.arange(n_qubits) % 3)


def uniform_settings(n_qubits: int) -> IntArray:
    """Return the three settings with one letter on all qubits, enough for one-qubit states."""
    return np.repeat(np.arange(3)[:, None], as_qubits(n_qubits), axis=1)


def as_settings(settings: ArrayLike) -> IntArray:
    """Return ``settings`` as a read-only array of distinct rows of letters 0, 1, 2."""
    array = as_array(settings, "settings")
    if array.ndim != 2 or array.size == 0 or array.dtype.kind not in "iu":
        raise InputError(
            "settings must be a table of whole numbers, one row per setting and one column per "
            f"qubit, got shape {array.shape} and dtype {array.dtype}."
        )
    as_qubits(array.shape[1])
    if array.min() < 0 or array.max() > 2:
        raise InputError(
            f"settings must hold 0, 1, 2 for X, Y, Z, got {array.min()} to {array.max()}."
        )
    if len(np.unique(array, axis=0)) < len(array):
        raise InputError("settings must be different ones; a setting is listed twice.")
    array = array.astype(np.int64)
    array.setflags(write=False)
    return array


def as_qubits(n_qubits: int) -> int:
    """Return a number of qubits; refuse one that is too large."""
    if as_count(n_qubits, "n_qubits") > MAX_QUBITS:
        raise InputError(
            f"n_qubits must be at most {MAX_QUBITS}, got {n_qubits}; reduce the data to fewer "
            "columns first (PCA), one qubit each."
        )
    return int(n_qubits)


def _covers_two_qubits(settings: IntArray) -> bool:
    """Return whether every pair of letters on every pair of qubits stands in some setting."""
    letters = (settings[:, :, None] == np.arange(3)).reshape(len(settings), -1).astype(np.float64)
    together = letters.T @ letters > 0
    qubit = np.arange(together.shape[0]) // 3
    return bool(np.all(together | (qubit[:, None] == qubit)))
