"""Which class wins, settled at an error rate that holds at every look.

The test bets on each shot. In one round, shot i measures training point j with probability p_j,
fixed before the round, and pays

    Y = b + Σ α_l k_l + (α_j / p_j) (hit - k_j),    of mean f = b + Σ α_j K_j,

whatever the guesses k, which only lower its variance. If f <= 0, then Π (1 + λY) over all shots has
a mean of at most 1 for every λ >= 0 that keeps the factors positive and is fixed before the round;
so has a mixture over several λ. By Ville's inequality it ever reaches 1/δ with a chance of at most
δ: one may look after every round and stop. See I. Waudby-Smith and A. Ramdas, "Estimating means of
bounded random variables by betting", J. R. Stat. Soc. B 86 (2024) 1-27.

The n shots of a round are drawn one in each of n equal slices of p, so that a pair gets its share
n p_j to within two shots. Their means μ_i then differ, but average to f; and Π (1 + λμ_i) is at
most (1 + λf)^n, as a geometric mean is at most the arithmetic one.
"""

import math
from itertools import permutations

import numpy as np
from numpy.random import Generator

from aqka._util.arrays import BoolArray, FloatArray, IntArray
from aqka.core.plans import ShotPlan
from aqka.core.tolerance import Tolerance

LARGEST_STAKE = 0.5  # of the wealth that one shot may lose
BET_SPACING = 4.0  # one bet serves this range of shots, with little loss at its ends


def draw_shots(chances: FloatArray, n_shots: int, rng: Generator) -> IntArray:
    """Draw one shot in each of ``n_shots`` equal slices of the distribution ``chances``.

    Slices that lie within one entry need no draw, so the work does not grow with the shots.

    >>> draw_shots(np.array([0.5, 0.25, 0.25]), 1000, np.random.default_rng(0))
    array([500, 250, 250])
    """
    ends = np.cumsum(chances)
    ends *= n_shots / ends[-1]
    ends[-1] = n_shots
    last = np.minimum(np.floor(ends).astype(np.int64), n_shots)  # the slice an entry ends in
    shared = np.unique(last[:-1])
    shared = shared[shared < n_shots]
    first = np.concatenate([[0], np.minimum(last[:-1] + 1, n_shots)])
    whole = np.maximum(last - first, 0)
    places = shared + rng.random(shared.size)
    drawn = np.searchsorted(ends, places, side="right")
    counts = np.bincount(np.minimum(drawn, len(ends) - 1), minlength=len(ends))
    return np.asarray(whole + counts, dtype=np.int64)


class WinnerTest:
    """Wealth against every statement "class c scores at least as high as class w".

    Parameters
    ----------
    alpha, intercept : array
        Coefficients, one column per class, and one number per class.
    n_points : int
        Number of test points, each with its own test.
    error_rate : float
        Chance, per point, that a class is ever declared the winner which is not: with M classes a
        statement is rejected at wealth (M - 1) / error_rate: M - 1 of them can be false winners.
    shots_range : tuple of two floats
        Fewest and most shots of a point at which the bets are meant to decide.
    tolerance : Tolerance, default=None
        How much of a hit a shot with flipped bits is: any share is a fair bet, for its mean is K.
    """

    def __init__(
        self,
        alpha: FloatArray,
        intercept: FloatArray,
        n_points: int,
        error_rate: float,
        shots_range: tuple[float, float],
        tolerance: Tolerance | None = None,
    ) -> None:
        self._tolerance = tolerance
        self._alpha, self._intercept = alpha, intercept
        self.n_classes = alpha.shape[1]
        self._threshold = float(np.log((self.n_classes - 1) / error_rate))
        # A bet of θ standard deviations decides at the signal θ after 2 log(1/δ) / θ² shots.
        fewest, most = shots_range
        bets = 1 + math.ceil(math.log(most / fewest) / math.log(BET_SPACING))
        self._strengths = np.sqrt(2 * self._threshold / np.geomspace(fewest, most, bets))
        shape = (self.n_classes, self.n_classes, n_points)
        self._log_wealth = np.zeros((bets, *shape))
        self._best = np.zeros(shape)  # highest log-wealth so far of the mixture of bets
        self.winner: IntArray = np.full(n_points, -1)

    @property
    def settled(self) -> BoolArray:
        """Points whose winner is declared."""
        return self.winner >= 0

    def update(
        self, plan: ShotPlan, hits: IntArray, guesses: FloatArray, chances: FloatArray
    ) -> None:
        """Bet on the shots of one round, drawn by ``draw_shots`` from ``chances``."""
        points = np.unique(plan.rows)
        less = 0.0  # variance of a shot, by which it is less than that of a hit
        if self._tolerance is None:
            worths, counts = np.array([1.0, 0.0]), np.stack([hits, plan.shots - hits])
        else:
            seen = np.flatnonzero(hits.any(axis=0))
            worths, counts = self._tolerance.worths[seen], hits[:, seen].T
            less = 1 - self._tolerance.spread
        taken = np.zeros((len(worths), *chances.shape))
        taken[:, plan.rows, plan.cols] = counts
        taken, guesses, chances = taken[:, points], guesses[points], chances[points]
        for w, c in permutations(range(self.n_classes), 2):
            contrast = self._alpha[:, w] - self._alpha[:, c]
            expected = self._intercept[w] - self._intercept[c] + guesses @ contrast
            # A pair has no chance only where all classes have the same coefficient.
            weight = np.divide(contrast, chances, out=np.zeros_like(chances), where=chances > 0)
            miss = expected[:, None] - weight * guesses
            hit = miss + weight
            power = guesses * hit**2 + (1 - guesses) * miss**2
            power -= less * guesses * (1 - guesses) * weight**2
            power = np.sum(chances * power, axis=1)
            worst = np.maximum(-np.minimum(hit, miss).min(axis=1), 1e-300)
            for bet, strength in enumerate(self._strengths):
                wanted = strength / np.sqrt(np.maximum(power, 1e-300))
                stake = np.minimum(wanted, LARGEST_STAKE / worst)[:, None]
                gain = np.zeros_like(chances)
                for worth, count in zip(worths, taken, strict=True):
                    gain += count * np.log1p(stake * (miss + worth * weight))
                self._log_wealth[bet, w, c, points] += gain.sum(axis=1)
        mixture = np.logaddexp.reduce(self._log_wealth, axis=0) - np.log(len(self._strengths))
        self._best = np.maximum(self._best, mixture)
        # A class that beats every other is declared, and stays declared.
        beaten = self._best.copy()
        beaten[np.arange(self.n_classes), np.arange(self.n_classes)] = np.inf
        weakest = beaten.min(axis=1)
        new = ~self.settled & (weakest.max(axis=0) >= self._threshold)
        self.winner[new] = weakest.argmax(axis=0)[new]
