"""Sentinels on tiles: where in a job they stand, and what they saw."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import IntArray
from aqka.backends.tile_watch import TileHits
from aqka.errors import InputError


@dataclass(frozen=True)
class Sentinels:
    """Diagonal entries that every tile measures, in the first job of a submission.

    Attributes
    ----------
    points
        Points whose K_ii is measured.
    shots
        Shots of each on every tile, at least: rows have the plan's quantum of shots, and a sentinel
        takes as many rows as it needs.
    """

    points: tuple[int, ...]
    shots: int

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

    def count(
        self,
        bits: NDArray[np.uint8],
        slots: IntArray,
        which: IntArray,
        names: tuple[str, ...],
    ) -> TileHits:
        """Return hits and shots of each tile and point from the sentinels' packed bits."""
        seen = (bits == 0).all(axis=-1).sum(axis=1)
        hits = np.zeros((len(names), len(self.points)), dtype=np.int64)
        shots = np.zeros_like(hits)
        np.add.at(hits, (slots % len(names), which), seen)
        np.add.at(shots, (slots % len(names), which), bits.shape[1])
        return TileHits(names, hits, shots)

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
