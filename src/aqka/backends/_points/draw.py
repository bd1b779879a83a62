"""Outcomes of points, drawn from their probabilities or counted from bits."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray
from aqka.core.outcome_plans import OutcomePlan
from aqka.core.outcomes import OutcomeCounts
from aqka.core.points import MAX_DENSE_QUBITS
from aqka.errors import InputError

BATCH_PROBABILITIES = 2**20
"""Probabilities of a batch, which bounds its memory; draws depend on it."""

MOST_SHOTS_ONE_BY_ONE = 10**8
"""Of a plan whose every shot is drawn by itself: they take 5 GB."""

Probabilities = Callable[[IntArray], FloatArray]
"""From rows of a plan to the probabilities of all their outcomes, a row each."""


def draw_outcomes(
    plan: OutcomePlan, probabilities: Probabilities, random: Generator
) -> OutcomeCounts:
    """Return outcomes of every row of a plan, drawn from its probabilities."""
    if plan.n_qubits > MAX_DENSE_QUBITS:
        check_shots_one_by_one(plan)
    parts = []
    for rows in _batches(plan):
        p = probabilities(rows)
        p /= p.sum(axis=1, keepdims=True)
        if plan.n_qubits <= MAX_DENSE_QUBITS:
            found = OutcomeCounts.of_dense(random.multinomial(plan.shots[rows], p))
            parts.append((rows[found.rows], found.outcomes, found.counts))
        else:  # far more outcomes than shots
            parts += [
                (np.repeat(row, len(drawn)), drawn, np.ones_like(drawn))
                for row, drawn in zip(rows, _by_shots(p, plan.shots[rows], random), strict=True)
            ]
    return _joined(parts)


def check_shots_one_by_one(plan: OutcomePlan) -> None:
    """Refuse more shots than can be drawn one by one, before the memory for them is taken."""
    if plan.total > MOST_SHOTS_ONE_BY_ONE:
        raise InputError(
            f"budget must be at most {MOST_SHOTS_ONE_BY_ONE:,} shots a round where a simulator "
            f"draws them one by one, as those of many qubits do; got {plan.total:,}; lower it, or "
            "take more rounds."
        )


def count_bits(rows: IntArray, outcomes: IntArray) -> OutcomeCounts:
    """Return how often each outcome was seen in each row, from one entry per shot."""
    order = np.lexsort((outcomes, rows))
    rows, outcomes = rows[order], outcomes[order]
    new = np.ones(len(rows), dtype=np.bool_)
    new[1:] = (rows[1:] != rows[:-1]) | (outcomes[1:] != outcomes[:-1])
    first = np.flatnonzero(new)
    return OutcomeCounts(rows[first], outcomes[first], np.diff(np.append(first, len(rows))))


def as_numbers(packed: NDArray[np.uint8]) -> IntArray:
    """Return outcomes as numbers from packed bits, whose last byte is the least significant.

    Examples
    --------
    >>> as_numbers(np.array([[1, 2]], dtype=np.uint8))
    array([258])
    """
    numbers = np.zeros(packed.shape[:-1], dtype=np.int64)
    for k in range(packed.shape[-1]):
        numbers = (numbers << 8) | packed[..., k]
    return numbers


def _batches(plan: OutcomePlan) -> Iterator[IntArray]:
    rows = np.flatnonzero(plan.shots)
    size = max(1, BATCH_PROBABILITIES >> plan.n_qubits)
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _by_shots(p: FloatArray, shots: IntArray, random: Generator) -> Iterator[IntArray]:
    for row, count in zip(np.cumsum(p, axis=1), shots, strict=True):
        drawn = np.searchsorted(row, random.random(count), side="right")
        yield np.minimum(drawn, len(row) - 1).astype(np.int64)


def _joined(parts: list[tuple[IntArray, IntArray, IntArray]]) -> OutcomeCounts:
    none = np.zeros(0, dtype=np.int64)
    return OutcomeCounts(*(np.concatenate([none, *(part[k] for part in parts)]) for k in range(3)))
