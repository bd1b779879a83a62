"""What comes back for points: how often each bitstring was seen.

The bitstring of up to 62 qubits is one number. That of more is a row of numbers, 62 qubits each:
qubit q is bit q % 62 of number q // 62. Only the functions of this file know of it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import IntArray, as_array, as_column
from aqka.errors import InputError

WORD_BITS = 62  # qubits of one int64 of an outcome


def outcomes_shape(n_entries: int, n_qubits: int) -> tuple[int, ...]:
    """Return the shape of so many outcomes.

    >>> outcomes_shape(5, 62), outcomes_shape(5, 156)
    ((5,), (5, 3))
    """
    words = -(-n_qubits // WORD_BITS)
    return (n_entries,) if words == 1 else (n_entries, words)


def outcomes_of_bits(bits: IntArray) -> IntArray:
    """Return outcomes from their bits, a row each, in column q that of qubit q."""
    n_entries, n_qubits = bits.shape
    words = [
        bits[:, first : first + WORD_BITS] @ (1 << np.arange(min(WORD_BITS, n_qubits - first)))
        for first in range(0, n_qubits, WORD_BITS)
    ]
    return np.stack(words, axis=1).reshape(outcomes_shape(n_entries, n_qubits))


def bits_of(outcomes: IntArray, n_qubits: int) -> IntArray:
    """Return the bits of outcomes, a row each, in column q that of qubit q."""
    qubits = np.arange(n_qubits)
    return np.asarray((words_of(outcomes)[:, qubits // WORD_BITS] >> qubits % WORD_BITS) & 1)


def merged_outcomes(
    keys: IntArray, outcomes: IntArray, counts: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the entries sorted by key and outcome, with equal ones added up and zeros left out."""
    kept = np.flatnonzero(counts)
    order = kept[np.lexsort((*words_of(outcomes[kept]).T, keys[kept]))]
    keys, outcomes, counts = keys[order], outcomes[order], counts[order]
    new = np.ones(len(order), dtype=np.bool_)
    differs = (words_of(outcomes)[1:] != words_of(outcomes)[:-1]).any(axis=1)
    new[1:] = (keys[1:] != keys[:-1]) | differs
    first = np.flatnonzero(new)
    return keys[first], outcomes[first], np.add.reduceat(counts, first) if first.size else counts


def words_of(outcomes: IntArray) -> IntArray:
    """Return outcomes as rows of numbers, one number of up to 62 qubits."""
    return outcomes[:, None] if outcomes.ndim == 1 else outcomes


@dataclass(frozen=True, eq=False)
class OutcomeCounts:
    """What came back for a plan: how often each outcome was seen, zeros left out.

    Parameters
    ----------
    rows : array of int
        Row of the plan.
    outcomes : array of int
        The bitstring as a number, qubit 0 its least significant bit; above 62 qubits a row of
        numbers, the first one that of qubits 0 to 61.
    counts : array of int
        How often it was seen.

    Examples
    --------
    >>> OutcomeCounts([0, 0], [0, 3], [4, 1])
    OutcomeCounts(rows=array([0, 0]), outcomes=array([0, 3]), counts=array([4, 1]))
    """

    rows: IntArray
    outcomes: IntArray
    counts: IntArray

    def __post_init__(self) -> None:
        for name in ("rows", "counts"):
            object.__setattr__(self, name, as_column(getattr(self, name), name))
        outcomes = as_array(self.outcomes, "outcomes")
        column = as_column(outcomes.reshape(-1) if outcomes.ndim == 2 else outcomes, "outcomes")
        object.__setattr__(self, "outcomes", column.reshape(outcomes.shape))
        if not len(self.rows) == len(self.outcomes) == len(self.counts):
            raise InputError(
                "rows, outcomes and counts must have one length, got "
                f"{len(self.rows)}, {len(self.outcomes)} and {len(self.counts)}."
            )

    @classmethod
    def of_dense(cls, counts: ArrayLike) -> "OutcomeCounts":
        """Return the counts of a table with one row per row of the plan and 2^n columns."""
        table = np.atleast_2d(as_array(counts, "counts"))
        rows, outcomes = np.nonzero(table)
        return cls(rows, outcomes, table[rows, outcomes])
