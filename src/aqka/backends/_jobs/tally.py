"""Answers counted job by job: hits of pairs, or outcomes of points."""

import numpy as np

from aqka._util.arrays import IntArray
from aqka.backends._jobs.outcomes import Bits, all_zero
from aqka.backends._jobs.rows import Chunk
from aqka.backends._points.draw import as_numbers, count_bits
from aqka.core.outcomes import OutcomeCounts


class HitTally:
    """Counts all-zero outcomes of pairs."""

    def __init__(self, n_pairs: int) -> None:
        self._hits = np.zeros(n_pairs, dtype=np.int64)

    def take(self, bits: Bits, chunk: Chunk) -> None:
        """Count the bits of a job's rows."""
        row_hits = chunk.hits(all_zero(bits))
        self._hits += chunk.per_pair(row_hits, len(self._hits))

    def answer(self) -> IntArray:
        """Return the hits of each pair."""
        return self._hits


class OutcomeTally:
    """Counts the outcomes of points."""

    def __init__(self) -> None:
        none = np.zeros(0, dtype=np.int64)
        self._rows, self._outcomes = [none], [none]

    def take(self, bits: Bits, chunk: Chunk) -> None:
        """Count the bits of a job's rows."""
        rows, outcomes = chunk.seen(as_numbers(bits))
        self._rows.append(rows)
        self._outcomes.append(outcomes)

    def answer(self) -> OutcomeCounts:
        """Return how often each outcome was seen in each row of the plan."""
        return count_bits(np.concatenate(self._rows), np.concatenate(self._outcomes))
