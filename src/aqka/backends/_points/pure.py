"""Outcomes of pure states, each in a setting of its own.

Few qubits have few outcomes, whose probabilities are written out. Of many qubits a shot is drawn
bit by bit, which takes 2^n steps in all instead of n 2^n, and no more memory than the state.
"""

import numpy as np
from numpy.random import Generator

from aqka._util.arrays import BoolArray, FloatArray, IntArray
from aqka.backends._bulk.gates import ComplexArray
from aqka.backends._points.draw import draw_outcomes
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import PointPlan
from aqka.core.points import MAX_DENSE_QUBITS
from aqka.core.settings import ROTATIONS


def draw_points(plan: PointPlan, states: ComplexArray, random: Generator) -> OutcomeCounts:
    """Return outcomes of every row of a plan, drawn from the states of its points."""
    letters = plan.letters[plan.settings]
    if plan.n_qubits <= MAX_DENSE_QUBITS:
        return draw_outcomes(
            plan,
            lambda rows: outcome_probabilities(states[plan.points[rows]], letters[rows]),
            random,
        )
    parts, last, state = [np.zeros((3, 0), dtype=np.int64)], -1, states[:0]
    for row in np.flatnonzero(plan.shots):
        if plan.points[row] != last:  # copied once: a simulator keeps points as columns
            last = int(plan.points[row])
            state = np.ascontiguousarray(states[last], dtype=np.complex128)
        outcomes, counts = draw_bit_by_bit(state, letters[row], int(plan.shots[row]), random)
        parts.append(np.stack([np.full(len(counts), row), outcomes, counts]))
    return OutcomeCounts(*np.concatenate(parts, axis=1))


def draw_bit_by_bit(
    state: ComplexArray, letters: IntArray, shots: int, random: Generator
) -> tuple[IntArray, IntArray]:
    """Return the outcomes of shots on a state in a Pauli setting, and how often each was seen.

    The most significant qubit is turned and read first, which halves the vector for each of its
    outcomes that a shot has seen; and so on with what is left of either.

    Examples
    --------
    >>> plus = np.full(4, 0.5)
    >>> draw_bit_by_bit(plus, np.array([0, 0]), 10, np.random.default_rng(0))
    (array([0]), array([10]))
    """
    left = np.ascontiguousarray(state, dtype=np.complex128)[None]  # one row per outcome seen so far
    seen, counts = np.zeros(1, dtype=np.int64), np.array([shots])
    for letter in letters[::-1]:
        halves = left.reshape(len(left), 2, -1)
        weights = _weights(halves, int(letter))
        ones = random.binomial(counts, weights[1] / weights.sum(axis=0))
        is_zero, is_one = ones < counts, ones > 0
        left = _what_is_left(halves, int(letter), is_zero, is_one)
        counts = np.concatenate([(counts - ones)[is_zero], ones[is_one]])
        seen = np.concatenate([2 * seen[is_zero], 2 * seen[is_one] + 1])
    return seen, counts


# X reads a ± b, Y reads a ± (-i)b, where a and b are the halves of the vector; and Z reads a or b.
_TURNS = {0: 1.0, 1: -1j}


def _weights(halves: ComplexArray, letter: int) -> FloatArray:
    """Return how likely the outcomes 0 and 1 of the most significant qubit are, up to a factor."""
    numbers = halves.view(np.float64)
    squares: FloatArray = np.einsum("ijk,ijk->ji", numbers, numbers)
    if letter not in _TURNS:
        return squares
    cross = 2 * (_TURNS[letter] * np.vecdot(halves[:, 0], halves[:, 1])).real
    both = squares.sum(axis=0)
    return np.asarray(np.maximum([both + cross, both - cross], 0.0))


def _what_is_left(
    halves: ComplexArray, letter: int, is_zero: BoolArray, is_one: BoolArray
) -> ComplexArray:
    """Return the vectors behind outcome 0 of some rows, then those behind 1, not normalised."""
    if letter not in _TURNS:
        return np.concatenate([halves[is_zero, 0], halves[is_one, 1]])
    turned = halves[:, 1] if letter == 0 else _TURNS[letter] * halves[:, 1]
    split = int(is_zero.sum())
    left = np.empty((split + int(is_one.sum()), halves.shape[2]), dtype=np.complex128)
    np.add(halves[is_zero, 0], turned[is_zero], out=left[:split])
    np.subtract(halves[is_one, 0], turned[is_one], out=left[split:])
    return left


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
