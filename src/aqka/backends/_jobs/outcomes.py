"""The outcomes of finished jobs: read from registers, put back in order, counted."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import BoolArray, FloatArray, IntArray
from aqka.backends._jobs.rows import Chunk, Ticket
from aqka.backends._tiles.deal import Deal, Sentinels
from aqka.backends.diagonal import TileHits
from aqka.backends.simulated import as_outcomes, count_bits
from aqka.core.outcomes import outcomes_shape
from aqka.core.plans import Answer
from aqka.errors import JobError

NONE = np.zeros(0, dtype=np.int64)
Bits = NDArray[np.uint8]  # packed bits, rows by shots by bytes, the last byte least significant


def all_zero(bits: Bits) -> BoolArray:
    """Return which shots gave all zeros, rows by shots."""
    return np.asarray((bits == 0).all(axis=-1))


@dataclass(frozen=True, eq=False)
class DealtRows:
    """The slots of a job's rows and of its sentinels; without tiles a row is a slot."""

    n_tiles: int
    shots: int  # of every row
    slots: IntArray  # of each row of the chunk
    sentinels: Sentinels | None  # in the first job alone
    sentinel_slots: IntArray
    which: IntArray  # of the sentinels' points is measured in each of their slots

    @classmethod
    def of(
        cls, chunk: Chunk, k: int, deal: Deal | None, sentinels: Sentinels | None
    ) -> "DealtRows":
        if deal is None:
            return cls(1, chunk.shots, np.arange(len(chunk.plan_rows)), None, NONE, NONE)
        n_tiles, slots = deal.n_tiles, deal.slots(chunk.plan_rows, k)
        if sentinels is None or k > 0:
            return cls(n_tiles, chunk.shots, slots, None, NONE, NONE)
        return cls(
            n_tiles, chunk.shots, slots, sentinels, *sentinels.slots(slots, n_tiles, chunk.shots)
        )

    @property
    def sentinel_points(self) -> IntArray:
        """The point that each sentinel slot measures."""
        return np.array(() if self.sentinels is None else self.sentinels.points, int)[self.which]

    @property
    def n_slots(self) -> int:
        """Slots of all rows of the tiled circuit, those that nothing was dealt to included."""
        last = max(self.slots.max(initial=-1), self.sentinel_slots.max(initial=-1))
        return int(last // self.n_tiles + 1) * self.n_tiles

    def side_by_side(self, values: FloatArray, beside: FloatArray) -> FloatArray:
        """Return the values of each row of the tiled circuit, tile behind tile.

        ``beside`` are the sentinels' values. Slots that nothing was dealt to hold zeros, and
        their outcomes are ignored.
        """
        laid = np.zeros((self.n_slots, values.shape[1]))
        laid[np.append(self.slots, self.sentinel_slots)] = np.concatenate([values, beside])
        return laid.reshape(-1, self.n_tiles * values.shape[1])

    def read(self, result: Any, n_qubits: int, job_id: str) -> tuple[Bits, TileHits | None]:
        """Return the bits of each row of the chunk, and what the sentinels saw."""
        try:
            data = result[0].data
            names = tuple(sorted(data.keys()))  # of registers, one for each tile
            tiles = [np.asarray(data[name].array) for name in names]
            widths = [int(data[name].num_bits) for name in names]
        except (TypeError, IndexError, KeyError, AttributeError, ValueError) as error:
            raise JobError(
                f"job {job_id} holds no outcomes; was it sent by this backend?"
            ) from error
        rows, n_bytes = self.n_slots // self.n_tiles, -(-n_qubits // 8)
        shots = min((tile.shape[1] for tile in tiles if tile.ndim == 3), default=0)
        if (
            widths != [n_qubits] * self.n_tiles
            or shots < self.shots
            or any(tile.shape != (rows, shots, n_bytes) for tile in tiles)
            or any(tile.dtype != np.uint8 for tile in tiles)
            # The first byte has room for bits that no qubit has.
            or any((tile[..., 0] >> ((n_qubits - 1) % 8 + 1)).any() for tile in tiles)
        ):
            raise JobError(
                f"job {job_id} holds {len(tiles)} registers of {sorted(set(widths))} bits and of "
                f"shapes {sorted({tile.shape for tile in tiles})}, not those of {self.n_tiles} "
                f"circuits of {n_qubits} qubits with {rows} rows of {self.shots} shots; was it "
                "sent by this backend?"
            )
        bits = np.stack(tiles, axis=1).reshape(-1, shots, n_bytes)  # by rows, then by tiles
        if self.sentinels is None:
            return bits[self.slots], None
        hits = np.zeros((self.n_tiles, len(self.sentinels.points)), dtype=np.int64)
        total, where = np.zeros_like(hits), (self.sentinel_slots % self.n_tiles, self.which)
        np.add.at(hits, where, all_zero(bits[self.sentinel_slots, : self.shots]).sum(axis=1))
        np.add.at(total, where, self.shots)
        return bits[self.slots], TileHits(names, hits, total)


class Tally:
    """Counts the shots of a ticket's jobs: hits or flipped bits of pairs, outcomes of points."""

    def __init__(self, ticket: Ticket, n_qubits: int) -> None:
        self._ticket, self._n_qubits = ticket, n_qubits
        n_rows = len(ticket.layout.shots)
        self._pairs = np.zeros((n_rows, n_qubits + 1) if ticket.flips else n_rows, dtype=np.int64)
        self._rows, self._outcomes = [NONE], [NONE.reshape(outcomes_shape(0, n_qubits))]

    def take(self, bits: Bits, chunk: Chunk) -> None:
        if not self._ticket.points and not self._ticket.flips:
            self._pairs += chunk.per_plan_row(chunk.hits(all_zero(bits)), len(self._pairs))
            return
        rows, counted = chunk.seen(bits)
        if self._ticket.flips:
            ones = np.bitwise_count(counted).sum(axis=1, dtype=np.int64)
            np.add.at(self._pairs, (rows, ones), 1)
        else:
            self._rows.append(rows)
            self._outcomes.append(as_outcomes(counted, self._n_qubits))

    def answer(self) -> Answer:
        if not self._ticket.points:
            return self._pairs
        return count_bits(np.concatenate(self._rows), np.concatenate(self._outcomes))
