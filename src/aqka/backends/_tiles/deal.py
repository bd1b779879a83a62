"""Which tile runs which row, and the sentinels beside them: a function of seed and tag alone."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import IntArray
from aqka.backends.simulated import tag_entropy
from aqka.errors import InputError

SPREAD = 4  # tiles that the shots of one request come from, at least, where they can be divided


@dataclass(frozen=True)
class Deal:
    """How the rows of jobs are dealt to tiles.

    A row of the tiled circuit has one *slot* per tile; slot s is tile s mod n of row s div n.
    Requests are shuffled, their copies kept together, and laid out slot by slot, round and round
    over the tiles in a shuffled order. So every tile runs in every row, the copies of one request
    are on different tiles, and which tile meets which request is random.
    """

    n_tiles: int
    entropy: tuple[int, int]  # the seed and a digest of the tag

    @classmethod
    def of(cls, n_tiles: int, seed: int, tag: str) -> "Deal":
        return cls(n_tiles, tag_entropy(seed, tag))

    def slots(self, requests: ArrayLike, job: int) -> IntArray:
        """Return the slot of each row of a job, given the request that it is a copy of."""
        asked = np.asarray(requests, dtype=np.int64)
        # Shuffled by sorting raw bits: these stay the same in every version of numpy, while what
        # a generator makes of them may not, and a ticket must be read as it was written.
        source = np.random.PCG64([*self.entropy, job])
        _, group = np.unique(asked, return_inverse=True)
        keys = source.random_raw(int(group.max(initial=-1)) + 1)
        order = np.lexsort((group, keys[group]))
        tiles = np.argsort(source.random_raw(self.n_tiles))
        row, turn = np.divmod(np.arange(len(asked)), self.n_tiles)
        slots = np.empty(len(asked), dtype=np.int64)
        slots[order] = row * self.n_tiles + tiles[turn]
        return slots

    def encode(self) -> str:
        """Return the deal as a short text, a part of the ticket."""
        return "-".join([str(self.n_tiles), *(f"{number:x}" for number in self.entropy)])

    @classmethod
    def decode(cls, text: str) -> "Deal":
        """Return the deal that ``encode`` wrote."""
        try:
            n_tiles, seed, tag = text.split("-")
            return cls(int(n_tiles), (int(seed, 16), int(tag, 16)))
        except ValueError as error:
            raise InputError(
                f"ticket holds no readable deal of tiles, got {text!r}; pass it as submit() "
                "returned it."
            ) from error


def spread_quantum(divisor: int, n_tiles: int, spread: int = SPREAD) -> int:
    """Return the shots of a row, from the greatest common divisor of a plan's shots.

    A divisor of it, so that the plan stays exact, for which the shots of every request come from
    ``spread`` tiles or more and the rows of the tiled circuit are no more than the untiled ones.

    >>> spread_quantum(100, 20), spread_quantum(7, 20), spread_quantum(101, 20)
    (25, 1, 101)
    """
    copies = [k for k in range(1, n_tiles + 1) if divisor % k == 0]
    return divisor // min((k for k in copies if k >= spread), default=max(copies))


@dataclass(frozen=True)
class Sentinels:
    """Diagonal entries K_ii that every tile measures, in the first job of a submission."""

    points: tuple[int, ...]
    shots: int  # of each on every tile, at least: rows have the plan's quantum of shots

    def rows(self, quantum: int) -> int:
        """Return the rows of the tiled circuit that they take."""
        return len(self.points) * -(-self.shots // quantum)

    def slots(self, taken: IntArray, n_tiles: int, quantum: int) -> tuple[IntArray, IntArray]:
        """Return the slots of the sentinels, and which of ``points`` each measures.

        The plan's last row may leave tiles idle: these are sentinels too, and counted as such.
        """
        rows = -(-len(taken) // n_tiles)
        idle = np.setdiff1d(np.arange(rows * n_tiles), taken)
        own = rows * n_tiles + np.arange(self.rows(quantum) * n_tiles)
        which = np.arange(len(own)) // n_tiles % len(self.points)
        return (
            np.concatenate([idle, own]),
            np.concatenate([np.arange(len(idle)) % len(self.points), which]),
        )

    def encode(self) -> str:
        """Return the sentinels as a short text, a part of the ticket."""
        return "-".join(map(str, (self.shots, *self.points)))

    @classmethod
    def decode(cls, text: str) -> "Sentinels":
        """Return the sentinels that ``encode`` wrote."""
        try:
            shots, *points = map(int, text.split("-"))
        except ValueError as error:
            raise InputError(
                f"ticket holds no readable sentinels, got {text!r}; pass it as submit() returned "
                "it."
            ) from error
        return cls(tuple(points), shots)
