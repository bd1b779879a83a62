"""How much a kernel's entries differ, against what shots can tell apart."""

import math
from dataclasses import dataclass

import numpy as np

from aqka._util.arrays import FloatArray


@dataclass(frozen=True)
class Concentration:
    """Off-diagonal entries and spectrum of a kernel.

    Attributes
    ----------
    mean, spread
        Mean and standard deviation of the off-diagonal entries.
    effective_rank
        exp of the entropy of the eigenvalues' shares (Roy and Vetterli 2007): 1 where all points
        look alike, N where every point looks like itself alone.
    n_points
        N.
    shots_per_pair
        What a budget gives every pair if it is spread evenly; None without a budget.
    shot_error
        Root mean square of sqrt(K (1 - K) / shots) over the entries; None without a budget.
    """

    mean: float
    spread: float
    effective_rank: float
    n_points: int
    shots_per_pair: float | None = None
    shot_error: float | None = None

    @property
    def words(self) -> str:
        """What that means, in a sentence."""
        if self.effective_rank > 0.9 * self.n_points:
            shape = "concentrated: every point is like itself alone, so little can be learned"
        elif self.effective_rank < 1.5:
            shape = "flat: all points look alike"
        else:
            shape = "neither concentrated nor flat"
        if self.shots_per_pair is None or self.shot_error is None:
            return f"The kernel is {shape}."
        ratio = self.spread / self.shot_error if self.shot_error > 0 else math.inf
        if ratio >= 2:
            reach = "tell entries apart one by one"
        elif ratio >= 0.5:
            reach = "tell groups of entries apart, not single ones"
        else:
            reach = "hardly tell any entries apart"
        return f"The kernel is {shape}; {self.shots_per_pair:.1f} shots a pair {reach}."


def concentration(kernel: FloatArray, shots_per_pair: float | None = None) -> Concentration:
    """Return how concentrated a kernel is, and what so many shots a pair can resolve of it.

    Examples
    --------
    >>> concentration(np.eye(50), shots_per_pair=10).words
    'The kernel is concentrated: every point is like itself alone, so little can be learned; ...
    """
    entries = kernel[np.triu_indices(len(kernel), 1)]
    error = None
    if shots_per_pair is not None:
        error = float(np.sqrt(np.mean(entries * (1 - entries)) / shots_per_pair))
    return Concentration(
        float(entries.mean()),
        float(entries.std()),
        effective_rank(kernel),
        len(kernel),
        shots_per_pair,
        error,
    )


def effective_rank(kernel: FloatArray) -> float:
    """Return exp of the entropy of the eigenvalues' shares.

    Examples
    --------
    >>> round(effective_rank(np.eye(3)), 6)
    3.0
    """
    values = np.linalg.eigvalsh(kernel)
    shares = values[values > 1e-12 * values[-1]]
    shares = shares / shares.sum()
    return float(np.exp(-np.sum(shares * np.log(shares))))
