"""What simulated backends share: they keep plans, and draw from a seed and the tag."""

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from aqka._util.arrays import (
    BoolArray,
    ComplexArray,
    FloatArray,
    IntArray,
    as_count,
    as_kernel,
    digest,
)
from aqka.backends.base import Backend, check_measures_pairs, check_plan
from aqka.core.calibration import CalibrationPlan
from aqka.core.outcomes import OutcomeCounts, merged_outcomes, outcomes_of_bits
from aqka.core.plans import Plan, ShotPlan
from aqka.core.point_plans import OutcomePlan, PointPlan
from aqka.core.points import MAX_DENSE_QUBITS
from aqka.core.settings import ROTATIONS
from aqka.errors import InputError

SEED_LIMIT = 2**31 - 1  # what every simulator takes as a seed


def tag_entropy(seed: int, tag: str) -> tuple[int, int]:
    """Return the two numbers that the randomness of a seed and a tag is made from."""
    digest = hashlib.sha256(tag.encode()).digest()
    return seed, int.from_bytes(digest[:16])


def tag_generator(seed: int, tag: str) -> Generator:
    """Return the generator of a seed and a tag: the same for the same two, else independent."""
    return np.random.default_rng(tag_entropy(seed, tag))


def tag_seed(seed: int, tag: str) -> int:
    """Return a simulator's seed for a tag: at least 1, for some simulators ignore a seed of 0."""
    return int(tag_generator(seed, tag).integers(1, SEED_LIMIT))


class SimulatedBackend(Backend):
    """Keeps submitted plans in memory; a subclass draws hits that depend on seed, tag and plan.

    The same tag gives the same hits at no cost, so a lost ticket is simply drawn again.
    """

    replayable = True

    def __init__(self, seed: int) -> None:
        self._seed = as_count(seed, "seed", minimum=0)
        self._plans: dict[str, Plan] = {}
        self._flip_chances: FloatArray | None = None  # of each pair, as far as it was measured

    @abstractmethod
    def _identity(self) -> list[str]:
        """Return what the hits depend on besides the seed: data, circuit, noise, ..."""

    def fingerprint(self) -> str:
        """Return a text that is the same exactly for backends with the same hits."""
        parts = ", ".join([*self._identity(), f"seed={self._seed}"])
        return f"{type(self).__name__}({parts})"

    def _draw(self, plan: ShotPlan, rng: Generator) -> IntArray:
        """Return the hits of a plan, with all randomness from ``rng``, if it measures pairs."""
        raise NotImplementedError

    def _probabilities(self, plan: Any, rows: IntArray) -> FloatArray:
        """Return the probabilities of all outcomes of rows of a plan, of pairs for flipped bits."""
        raise NotImplementedError

    def _draw_flips(self, plan: ShotPlan, rng: Generator) -> IntArray:
        """Return how many shots of each pair have 0, 1, … flipped bits."""
        assert plan.bits is not None
        if self._flip_chances is None:
            self._flip_chances = np.full((*self.shape, plan.bits + 1), np.nan)
        chances, ones = self._flip_chances, np.bitwise_count(np.arange(2**plan.bits))
        unknown = np.isnan(chances[plan.rows, plan.cols, 0])
        for rows in _batches(plan.shots * unknown, plan.bits):
            found = self._probabilities(plan, rows) @ np.eye(plan.bits + 1)[ones]
            chances[plan.rows[rows], plan.cols[rows]] = found / found.sum(axis=1, keepdims=True)
        answer, run = plan.no_answer(), plan.shots > 0
        pairs = chances[plan.rows[run], plan.cols[run]]
        answer[run] = rng.multinomial(plan.shots[run], pairs)
        return answer

    def _draw_points(self, plan: Any, rng: Generator) -> OutcomeCounts:
        """Return the outcomes of a plan of points, of a backend with ``n_qubits``."""
        return draw_outcomes(plan, partial(self._probabilities, plan), rng)

    def _draw_references(self, plan: CalibrationPlan, rng: Generator) -> OutcomeCounts:
        """Return what is read of reference states; the default reads without errors."""
        return plan.no_errors()

    def submit(self, plan: Plan, tag: str) -> str:
        """Keep the plan; the tag is the ticket."""
        if plan.n_qubits is None:
            check_measures_pairs(self)
        check_plan(plan, self.shape, self.n_qubits, self.flipped_bits)
        waiting = self._plans.get(tag)
        if waiting is not None and not waiting.equals(plan):
            raise InputError(
                f"tag {tag!r} waits with another plan; collect that first, or use another tag."
            )
        self._plans[tag] = plan
        return tag

    def collect(self, ticket: str) -> Any:
        """Draw what a plan is answered by. Each ticket is collected once."""
        if ticket not in self._plans:
            raise InputError(
                f"ticket {ticket!r} is unknown or was collected already; submit the plan again "
                "under the same tag to get the same hits."
            )
        plan = self._plans.pop(ticket)
        draw: dict[type[Plan], Any] = {
            ShotPlan: self._draw if plan.bits is None else self._draw_flips,
            PointPlan: self._draw_points,
            CalibrationPlan: self._draw_references,
        }
        return draw[type(plan)](plan, tag_generator(self._seed, ticket))


class ExactBackend(SimulatedBackend):
    """Draws each pair's hits from Binomial(shots, K_ij); a subclass computes the kernel."""

    has_kernel = True
    _kernel: FloatArray | None = None

    @abstractmethod
    def _compute_kernel(self) -> FloatArray:
        """Return the exact kernel, rows by columns."""

    def kernel(self) -> FloatArray:
        """Return the exact kernel, rows by columns; it is computed at the first call."""
        if self._kernel is None:
            self._kernel = self._compute_kernel()
        return self._kernel

    def _draw(self, plan: ShotPlan, rng: Generator) -> IntArray:
        return rng.binomial(plan.shots, self.kernel()[plan.rows, plan.cols]).astype(np.int64)


class MatrixBackend(ExactBackend):
    """Draws shots from a kernel matrix you already have.

    Parameters
    ----------
    kernel : array-like
        Square and symmetric for training; with ``rectangular``, any test-by-train block.
    rectangular : bool, default=False
        Whether rows and columns are different points.
    seed : int, default=0
        The hits depend on it, on the tag and on the plan, and on nothing else.

    Examples
    --------
    >>> from aqka.core import ShotPlan
    >>> backend = MatrixBackend([[1.0, 0.25], [0.25, 1.0]], seed=1)
    >>> ticket = backend.submit(ShotPlan([0], [1], [1000]), tag="first")
    >>> backend.collect(ticket)
    array([249])
    """

    def __init__(self, kernel: ArrayLike, *, rectangular: bool = False, seed: int = 0) -> None:
        super().__init__(seed)
        self._given = as_kernel(kernel, "kernel", square=not rectangular)

    def _compute_kernel(self) -> FloatArray:
        return self._given

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the kernel."""
        rows, cols = self._given.shape
        return rows, cols

    def _identity(self) -> list[str]:
        return [f"kernel={digest(self._given)}"]


BATCH_PROBABILITIES = 2**20  # probabilities of a batch, which bounds its memory; draws depend on it

MOST_SHOTS_ONE_BY_ONE = 10**8  # the most shots of a plan that are drawn one by one: they take 5 GB


def draw_outcomes(
    plan: OutcomePlan, probabilities: Callable[[IntArray], FloatArray], random: Generator
) -> OutcomeCounts:
    """Return outcomes of every row of a plan, drawn from the probabilities of some rows."""
    if plan.n_qubits > MAX_DENSE_QUBITS:
        check_shots_one_by_one(plan)
    parts = []
    for rows in _batches(plan.shots, plan.n_qubits):
        p = probabilities(rows)
        p /= p.sum(axis=1, keepdims=True)
        if plan.n_qubits <= MAX_DENSE_QUBITS:
            found = OutcomeCounts.of_dense(random.multinomial(plan.shots[rows], p))
            parts.append((rows[found.rows], found.outcomes, found.counts))
        else:  # far more outcomes than shots
            for row, chances in zip(rows, np.cumsum(p, axis=1), strict=True):
                drawn = np.searchsorted(chances, random.random(plan.shots[row]), side="right")
                drawn = np.minimum(drawn, len(chances) - 1).astype(np.int64)
                parts.append((np.repeat(row, len(drawn)), drawn, np.ones_like(drawn)))
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
    return OutcomeCounts(*merged_outcomes(rows, outcomes, np.ones_like(rows)))


def as_outcomes(packed: NDArray[np.uint8], n_qubits: int) -> IntArray:
    """Return outcomes from packed bits, a row each, whose last byte is the least significant.

    Examples
    --------
    >>> as_outcomes(np.array([[1, 2]], dtype=np.uint8), 9)
    array([258])
    """
    bits = np.unpackbits(packed[:, ::-1], axis=1, count=n_qubits, bitorder="little")
    return outcomes_of_bits(bits.astype(np.int64))


def _batches(shots: IntArray, n_qubits: int) -> Iterator[IntArray]:
    rows = np.flatnonzero(shots)
    size = max(1, BATCH_PROBABILITIES >> n_qubits)
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _joined(parts: list[tuple[IntArray, IntArray, IntArray]]) -> OutcomeCounts:
    none = np.zeros(0, dtype=np.int64)
    return OutcomeCounts(*(np.concatenate([none, *(part[k] for part in parts)]) for k in range(3)))


def draw_points(plan: PointPlan, states: ComplexArray, random: Generator) -> OutcomeCounts:
    """Return outcomes of every row of a plan, drawn from the states of its points."""
    letters = plan.letters[plan.settings]
    if plan.n_qubits <= MAX_DENSE_QUBITS:
        return draw_outcomes(
            plan,
            lambda rows: outcome_probabilities(states[plan.points[rows]], letters[rows]),
            random,
        )
    parts, last, state = [], -1, states[:0]
    for row in np.flatnonzero(plan.shots):
        if plan.points[row] != last:  # copied once: a simulator keeps points as columns
            last = int(plan.points[row])
            state = np.ascontiguousarray(states[last], dtype=np.complex128)
        outcomes, counts = draw_bit_by_bit(state, letters[row], int(plan.shots[row]), random)
        parts.append((np.full(len(counts), row), outcomes, counts))
    return _joined(parts)


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
