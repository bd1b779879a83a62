"""Schedule: how a budget is cut into a warm-up and rounds, and how much of a round explores."""

import math
from dataclasses import dataclass
from typing import Literal

from numpy.random import Generator

from aqka._util.arrays import IntArray, as_count, as_fraction
from aqka._util.text import unknown
from aqka.allocators.targets import raise_lowest, sample_uniformly


@dataclass(frozen=True)
class Schedule:
    """Warm-up, rounds and exploration of Algorithm 1 (defaults: the paper's Table 1).

    Parameters
    ----------
    warmup : float, default=0.2
        Fraction η_w of the budget spent before anything is known.
    rounds : int, default=4
        Number T of rounds after the warm-up.
    explore : float, default=0.2
        Fraction η_e of each round spent regardless of the scores.
    exploration : {"random", "round-robin"}, default="random"
        ``"random"``: warm-up and exploration draw their pairs uniformly at random.
        ``"round-robin"``: both raise the pairs with fewest shots, so that at the end every
        pair has at least ⌊η_e B / M⌋ shots (Prop. 2).
    quantum : int, default=1
        Every pair's shots are multiples of this, so that a sampler job has that many times
        fewer rows; what the budget leaves over goes to one pair of the last round. Above 1,
        round-robin's guarantee holds only up to the quantum.
    """

    warmup: float = 0.2
    rounds: int = 4
    explore: float = 0.2
    exploration: Literal["random", "round-robin"] = "random"
    quantum: int = 1

    def __post_init__(self) -> None:
        for name in ("warmup", "explore"):
            object.__setattr__(self, name, as_fraction(getattr(self, name), name))
        as_count(self.rounds, "rounds")
        as_count(self.quantum, "quantum")
        if self.exploration not in ("random", "round-robin"):
            raise unknown("exploration", self.exploration, ("random", "round-robin"))

    def describe(self) -> str:
        """Return the settings as ledgers write them; tags depend on this text."""
        return (
            f"Schedule(warmup={self.warmup!r}, rounds={self.rounds!r}, explore={self.explore!r}, "
            f"exploration={self.exploration!r}, quantum={self.quantum!r})"
        )

    def milestones(self, budget: int) -> list[int]:
        """Return the shots spent in all after the warm-up and after each round.

        They rise strictly and end at the budget: a phase too small for one shot is left out.
        """
        warm = round(self.warmup * budget)
        rest = budget - warm
        rounds = min(self.rounds, max(rest, 1))  # a round has at least one shot
        ends = [warm + (rest * t) // rounds for t in range(rounds + 1)]
        whole = {end - end % self.quantum for end in ends[:-1]}
        return sorted((whole | {budget}) - {0})

    def has_warmup(self, budget: int) -> bool:
        """Return whether the first milestone is the warm-up's."""
        warm = round(self.warmup * budget)
        return warm == budget or warm >= self.quantum

    def exploration_shots(self, round_shots: int) -> int:
        """Return how many shots of a round explore, rounded up so that the guarantee holds."""
        # The product is taken off its last bits first: 0.2 * 5 must not become 2.
        return min(round_shots, math.ceil(round(self.explore * round_shots, 9)))

    def explore_pairs(self, spent: IntArray, shots: int, rng: Generator) -> IntArray:
        """Return how many exploration shots each pair gets, given the shots it has."""
        even = self.exploration == "round-robin"
        return raise_lowest(spent, shots, rng) if even else sample_uniformly(len(spent), shots, rng)


ONE_SHOT = Schedule(warmup=0.0, rounds=1, explore=0.0)  # where no results are looked at
EVEN_START = Schedule(warmup=0.4, rounds=2, explore=0.0, exploration="round-robin")
"""An even warm-up, then two looks, for allocators that keep a uniform share of their own."""
ONE_LOOK = Schedule(warmup=0.2, rounds=1, explore=0.0)  # where one looks once, after a warm-up
