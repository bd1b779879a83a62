"""The rows of one job on tiles: where each stands, and whose bits are whose."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka.backends._jobs.outcomes import Bits, tile_bits
from aqka.backends._jobs.rows import Chunk
from aqka.backends._tiles.deal import Deal
from aqka.backends._tiles.sentinels import Sentinels
from aqka.backends.tile_watch import TileHits
from aqka.errors import JobError


@dataclass(frozen=True, eq=False)
class DealtRows:
    """The slots of a job's rows and of its sentinels.

    Attributes
    ----------
    n_tiles, shots
        Tiles of the job, and shots of every row.
    slots
        The slot of each row of the chunk.
    sentinels
        What every tile measures beside the plan; None without, and in all jobs but the first.
    sentinel_slots, which
        The slots of the sentinels, and which of their points each measures.
    """

    n_tiles: int
    shots: int
    slots: IntArray
    sentinels: Sentinels | None
    sentinel_slots: IntArray
    which: IntArray

    @classmethod
    def of(cls, chunk: Chunk, k: int, deal: Deal, sentinels: Sentinels | None) -> "DealtRows":
        """Return the rows of the k-th job of a submission."""
        slots = deal.slots(chunk.pairs, k)
        if sentinels is None or k > 0:
            return cls(deal.n_tiles, chunk.shots, slots, None, slots[:0], slots[:0])
        more, which = sentinels.slots(slots, deal.n_tiles, chunk.shots)
        return cls(deal.n_tiles, chunk.shots, slots, sentinels, more, which)

    @property
    def sentinel_points(self) -> IntArray:
        """The point that each sentinel slot measures."""
        return np.array(() if self.sentinels is None else self.sentinels.points, int)[self.which]

    def side_by_side(self, values: FloatArray, beside: FloatArray) -> FloatArray:
        """Return the values of each row of the tiled circuit, rows by tiles by parameters.

        ``beside`` are the sentinels' values. Slots that nothing was dealt to hold zeros, and
        nobody looks at their outcomes.
        """
        taken = np.append(self.slots, self.sentinel_slots)
        rows = int(taken.max(initial=-1)) // self.n_tiles + 1
        laid = np.zeros((rows * self.n_tiles, values.shape[1]))
        laid[taken] = np.concatenate([values, beside])
        return laid.reshape(rows, self.n_tiles, values.shape[1])

    def read(self, result: Any, job_id: str) -> tuple[Bits, TileHits | None]:
        """Return the bits of each row of the chunk, and what the sentinels saw."""
        names, bits = tile_bits(result, self.n_tiles, job_id)
        last = max(self.slots.max(initial=-1), self.sentinel_slots.max(initial=-1))
        if len(bits) <= last or bits.shape[1] < self.shots:
            raise JobError(
                f"job {job_id} holds {len(bits)} slots of {bits.shape[1]} shots, fewer than sent."
            )
        if self.sentinels is None:
            return bits[self.slots], None
        seen = bits[self.sentinel_slots, : self.shots]
        counted = self.sentinels.count(seen, self.sentinel_slots, self.which, names)
        return bits[self.slots], counted
