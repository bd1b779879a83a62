"""From scores to whole shots: KKT targets, ways to spend a round, exact rounding.

Every function that returns shots spends exactly what it was given, and depends on the
generator only for draws and for breaking exact ties.
"""

import numpy as np
from numpy.random import Generator

from aqka._util.arrays import BoolArray, FloatArray, IntArray

SENSITIVITY_FLOOR = 0.05  # the paper's Table 1: 5 % of the largest


def raise_to_floor(sensitivity: FloatArray, fraction: float = SENSITIVITY_FLOOR) -> FloatArray:
    """Return |sensitivity|, raised to ``fraction`` of its maximum."""
    size = np.abs(sensitivity)
    return np.asarray(np.maximum(size, fraction * size.max()))


def kkt_targets(score: FloatArray, budget: float) -> FloatArray:
    """Return s* = (B / Z) · score with score = |g| sqrt(K(1-K)), Z = Σ score (Prop. 1, Eq. 11).

    Where every score is 0 nothing distinguishes the pairs and the targets are equal.

    >>> kkt_targets(np.array([3.0, 1.0, 0.0]), budget=8)
    array([6., 2., 0.])
    """
    normaliser = score.sum()
    if normaliser == 0:
        return np.full(score.shape, budget / score.size)
    return np.asarray(score / normaliser * budget)


def round_exactly(shares: FloatArray, total: int, rng: Generator) -> IntArray:
    """Round ``shares``, which sum to ``total``, to whole shots that sum to it exactly.

    Largest remainder: each share is rounded down and the missing shots go to the largest
    fractions. Exact ties at the border are broken at random, for giving them to the first
    pairs would favour the first points.
    """
    shots = np.floor(shares).astype(np.int64)
    missing = total - int(shots.sum())
    if missing > 0:
        fractions = shares - shots
        # Most shares are often exactly 0, and selection is slow among many equal values.
        positive = fractions[fractions > 0]
        border = np.partition(positive, -missing)[-missing] if missing <= positive.size else 0.0
        shots[fractions > border] += 1
        ties = np.flatnonzero(fractions == border)
        shots[rng.choice(ties, total - int(shots.sum()), replace=False, shuffle=False)] += 1
    return shots


def round_to_multiples(shots: IntArray, quantum: int, rng: Generator) -> IntArray:
    """Round to multiples of ``quantum`` and keep the total; a rest stays with one pair."""
    total = int(shots.sum())
    rounded = quantum * round_exactly(shots / quantum, total // quantum, rng)
    rounded[np.argmax(shots)] += total % quantum
    return rounded


def fill(targets: FloatArray, spent: IntArray, shots: int, rng: Generator) -> IntArray:
    """Fill toward the targets: max(0, s* - s), scaled to the round's shots (line 9)."""
    deficit = np.maximum(0.0, targets - spent)
    if shots == 0 or deficit.sum() == 0:
        return spread(np.ones(spent.shape, dtype=np.bool_), shots, rng)
    return round_exactly(deficit * (shots / deficit.sum()), shots, rng)


def spread(where: BoolArray, shots: int, rng: Generator) -> IntArray:
    """Spread shots equally over the pairs in ``where``, the remainder at random."""
    return round_exactly(np.where(where, shots / where.sum(), 0.0), shots, rng)


def sample(weights: FloatArray, shots: int, rng: Generator) -> IntArray:
    """Draw each shot's pair independently with probability ∝ ``weights`` (multinomial)."""
    return rng.multinomial(shots, kkt_targets(weights, 1.0)).astype(np.int64)


def sample_uniformly(n_pairs: int, shots: int, rng: Generator) -> IntArray:
    """Draw each shot's pair independently and uniformly (lines 3 and 10)."""
    if shots > 8 * n_pairs:  # counting single draws would take memory for every shot
        return rng.multinomial(shots, np.full(n_pairs, 1 / n_pairs)).astype(np.int64)
    drawn = rng.integers(0, n_pairs, size=shots)
    return np.bincount(drawn, minlength=n_pairs).astype(np.int64)


def raise_lowest(spent: IntArray, shots: int, rng: Generator) -> IntArray:
    """Give shots to the pairs that have fewest, level by level (round-robin, Prop. 2).

    The highest level that every pair can reach is found by bisection; what then remains goes
    to a random choice of the pairs that stand at that level.
    """
    low, high = int(spent.min()), int(spent.min()) + shots
    while low < high:
        level = (low + high + 1) // 2
        if int(np.maximum(level - spent, 0).sum()) <= shots:
            low = level
        else:
            high = level - 1
    added = np.maximum(low - spent, 0)
    remaining = shots - int(added.sum())
    lowest = np.flatnonzero(spent + added == low)
    added[rng.choice(lowest, remaining, replace=False, shuffle=False)] += 1
    return added
