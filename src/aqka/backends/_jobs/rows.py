"""From a shot plan to rows of one shot count and their ticket, and back to the plan's rows.

A sampler job runs every row of its values with the same number of shots, the quantum q. A pair
that needs 5q shots therefore stands five times, and a job is one PUB whatever the plan.
"""

import base64
import hashlib
import math
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aqka._util.arrays import BoolArray, IntArray, as_count, as_counts
from aqka.backends._tiles.deal import SPREAD, Deal, Sentinels, spread_quantum
from aqka.errors import InputError

MAX_EXECUTIONS = 10_000_000  # IBM's limit of executions (rows times shots) per sampler job
MAX_ROWS = 1_000_000  # a job's values are uploaded: at 16 features these are 256 MB
MAX_SHOTS = 1_000_000  # of a row: what Aer accepts


@dataclass(frozen=True, eq=False)
class Chunk:
    """One job: rows of a common shot count."""

    plan_rows: IntArray  # for each row, the row of the plan that it measures
    shots: int  # of every row
    counted: IntArray | None = None  # how many of a row's shots count; None counts all

    def hits(self, zeros: BoolArray) -> IntArray:
        """Count each row's all-zero outcomes, given as a matrix of rows by shots.

        A sampler may return more shots than requested (twirling rounds up); the first ones count.
        """
        zeros = zeros[:, : self.shots] & self._counts()
        return np.asarray(zeros.sum(axis=1, dtype=np.int64))

    def seen(self, bits: NDArray[np.uint8]) -> tuple[IntArray, NDArray[np.uint8]]:
        """Return row of the plan and bytes of every shot that counts, given rows by shots."""
        counts = np.broadcast_to(self._counts(), (len(self.plan_rows), self.shots))
        rows, shots = np.nonzero(counts)
        return self.plan_rows[rows], bits[rows, shots]

    def _counts(self) -> BoolArray:
        """Return which shots of each row count."""
        if self.counted is None:
            return np.ones((1, self.shots), dtype=np.bool_)
        return np.asarray(np.arange(self.shots) < self.counted[:, np.newaxis])

    def row_shots(self) -> IntArray:
        """Return the shots of each row that count."""
        return np.full(len(self.plan_rows), self.shots) if self.counted is None else self.counted

    def per_plan_row(self, row_values: ArrayLike, n_rows: int) -> IntArray:
        """Sum a value of each row of the job over those of each row of the plan."""
        # Weights are float64, exact for whole numbers up to 2**53.
        sums = np.bincount(self.plan_rows, row_values, minlength=n_rows)
        return np.asarray(sums, dtype=np.int64)


@dataclass(frozen=True)
class JobShape:
    """How plans become jobs.

    Parameters
    ----------
    quantum : int, default=None
        Shots of a row; a pair's shots are so many copies of its row. None takes the greatest common
        divisor of the plan's shots: every plan is exact and, below the limits, one job. Where its
        rows exceed ``max_rows``, it takes the multiple that needs the fewest jobs. With another
        quantum, what a pair needs beyond multiples of it is a second job of fewer shots a row;
        :class:`~aqka.Schedule` makes plans of multiples of a quantum.
    max_rows : int, default=1_000_000
        Most rows of one job; a plan above it, or above IBM's 10 million executions (rows times
        shots), becomes several.
    free_shots : bool, default=False
        For simulators, whose cost is per row and not per shot: each pair is one row, every
        row runs the plan's largest count, and the first shots of each are counted.
    """

    quantum: int | None = None
    max_rows: int = MAX_ROWS
    free_shots: bool = False

    def __post_init__(self) -> None:
        as_count(self.max_rows, "max_rows")
        if self.quantum is None:
            return
        as_count(self.quantum, "quantum")
        if self.free_shots:
            raise InputError("quantum must be None with free_shots, which copies no rows.")
        if self.quantum > MAX_EXECUTIONS:
            raise InputError(
                f"quantum must be at most {MAX_EXECUTIONS:,}, the executions of one job, got "
                f"{self.quantum}; lower quantum."
            )

    def layout(
        self,
        shots: ArrayLike,
        tiles: int = 1,
        sentinels: Sentinels | None = None,
        on_all_tiles: bool = False,
    ) -> "Layout":
        """Return how a plan's shots are laid out, with so many rows side by side.

        Sentinels take rows of a job's quantum, for which room is left and which must not exceed
        their shots. The shots of each of the plan's rows come from several tiles where they can be
        divided; ``on_all_tiles`` from nearly all of them, if need be with a second job for the rest
        of the division.
        """
        counts = as_counts(shots, "shots")
        if counts.size and counts.min() < 0:
            raise InputError(f"shots must not be negative, got {counts.min()}.")
        limit, executions = min(MAX_EXECUTIONS, MAX_SHOTS), MAX_EXECUTIONS
        if sentinels is not None:
            limit = min(limit, sentinels.shots)
            room = len(sentinels.points) * (sentinels.shots + (self.quantum or limit))
            executions = max(executions - room, self.quantum or limit)
        if self.free_shots and tiles == 1 and counts.size and counts.max() <= limit:
            return Layout(counts, 0, executions, self.max_rows)
        quantum = self.quantum or self._choose_quantum(counts, limit, tiles, on_all_tiles)
        return Layout(counts, quantum, executions, self.max_rows, tiles)

    def _choose_quantum(self, counts: IntArray, limit: int, tiles: int, on_all_tiles: bool) -> int:
        """Return the quantum that needs the fewest jobs, and of those the one of fewest rows."""
        quantum = _divisor_at_most(int(np.gcd.reduce(counts)) or 1, limit)
        quantum = spread_quantum(quantum, tiles, tiles if on_all_tiles else SPREAD)
        fewest = int(counts[counts > 0].min(initial=limit))
        if on_all_tiles and 2 * (fewest // quantum) < tiles:  # most would have none of its shots
            quantum = max(1, fewest // tiles)
        candidates = [quantum]
        if counts.sum() // candidates[0] > self.max_rows * tiles:
            while 2 * candidates[-1] <= min(limit, int(counts.max())):
                candidates.append(2 * candidates[-1])
        return min(candidates, key=lambda q: self._cost(counts, q, tiles))

    def _cost(self, counts: IntArray, quantum: int, tiles: int) -> tuple[int, int]:
        """Return the jobs and the rows of a layout, without laying it out."""
        jobs, total = 0, 0
        for repeats, shots in _rows_and_shots(counts, quantum):
            rows = int(repeats.sum())
            jobs += -(-rows // (tiles * min(self.max_rows, MAX_EXECUTIONS // shots)))
            total += rows
        return jobs, total


@dataclass(frozen=True, eq=False)
class Layout:
    """How one plan's shots are laid out as rows of jobs; made by :meth:`JobShape.layout`.

    >>> layout = JobShape().layout([10, 0, 25])
    >>> layout.quantum, [chunk.plan_rows.tolist() for chunk in layout.chunks()]
    (5, [[0, 0, 2, 2, 2, 2, 2]])
    >>> layout.chunks()[0].per_plan_row([5, 4, 0, 1, 0, 0, 1], n_rows=3)
    array([9, 0, 2])
    """

    shots: IntArray  # of the plan, which the rows of a pair sum up to exactly
    quantum: int  # shots of a row; 0: one row per pair, whose first shots are counted
    max_executions: int = MAX_EXECUTIONS
    max_rows: int = MAX_ROWS
    tiles: int = 1  # rows side by side, which count as one for the limits; not part of the text

    def chunks(self) -> list[Chunk]:
        """Return the jobs: as few as the limits allow, and none for a plan without shots."""
        if self.quantum == 0:
            return self._split_free()
        # Two shot counts in one job are deprecated by IBM, so the rest is its own job.
        return [
            chunk
            for repeats, shots in _rows_and_shots(self.shots, self.quantum)
            for chunk in self._split(repeats, shots)
        ]

    def _split(self, repeats: IntArray, shots: int) -> list[Chunk]:
        rows = np.repeat(np.arange(len(repeats), dtype=np.int64), repeats)
        size = self.tiles * min(self.max_rows, self.max_executions // shots)
        return [Chunk(rows[start : start + size], shots) for start in range(0, len(rows), size)]

    def _split_free(self) -> list[Chunk]:
        rows = np.flatnonzero(self.shots)
        if not rows.size:
            return []
        most = int(self.shots.max())
        size = min(self.max_rows, self.max_executions // most)
        parts = (rows[start : start + size] for start in range(0, len(rows), size))
        return [Chunk(part, most, self.shots[part]) for part in parts]

    def encode(self) -> str:
        """Return the layout as a short text, so that a ticket needs nothing else to be read."""
        head = np.array([self.quantum, self.max_executions, self.max_rows], dtype="<i8")
        packed = zlib.compress(head.tobytes() + self.shots.astype("<i8").tobytes(), 9)
        return base64.urlsafe_b64encode(packed).decode("ascii")

    @classmethod
    def decode(cls, text: str, tiles: int = 1) -> "Layout":
        """Return the layout that ``encode`` wrote, for so many rows side by side."""
        try:
            packed = zlib.decompress(base64.urlsafe_b64decode(text.encode("ascii")))
            numbers = np.frombuffer(packed, dtype="<i8").astype(np.int64)
            quantum, max_executions, max_rows = (int(number) for number in numbers[:3])
        except (ValueError, zlib.error) as error:
            raise InputError(
                "ticket does not end in a readable layout; pass it as submit() returned it."
            ) from error
        return cls(numbers[3:], quantum, max_executions, max_rows, tiles)


def _rows_and_shots(shots: IntArray, quantum: int) -> list[tuple[IntArray, int]]:
    """Return rows per pair and their shots: those of the quantum, and those of the rest."""
    repeats, rest = np.divmod(shots, quantum)
    rest_quantum = int(np.gcd.reduce(rest)) or 1
    return [(repeats, quantum), (rest // rest_quantum, rest_quantum)]


def _divisor_at_most(number: int, limit: int) -> int:
    """Return the largest divisor of ``number`` that does not exceed ``limit``."""
    if number <= limit:
        return number
    small = [k for k in range(1, math.isqrt(number) + 1) if number % k == 0]
    return max(k for k in small + [number // k for k in small] if k <= limit)


TAG_LENGTH = 80  # IBM limits the length of a job tag
POINTS, FLIPS, TILES, SENTINELS = "points", "flips", "tiles", "sentinels"


@dataclass(frozen=True, eq=False)
class Ticket:
    """What is needed to collect a submission, in any process that can reach its jobs."""

    job_ids: list[str]  # one per chunk of the layout
    layout: Layout
    points: bool  # whether the rows read all qubits, as those of points do, not hits of pairs
    deal: Deal | None = None  # which tile ran which row; None without tiles
    sentinels: Sentinels | None = None
    flips: bool = False  # whether ones are counted, where pairs are measured

    def write(self) -> str:
        """Return the ticket as a text: words with a dot behind each, and the layout."""
        words = [POINTS] if self.points else [FLIPS] if self.flips else []
        if self.deal is not None:
            words.append(f"{TILES}-{self.deal.encode()}")
        if self.sentinels is not None:
            words.append(f"{SENTINELS}-{self.sentinels.encode()}")
        return f"{'+'.join(self.job_ids)}:{'.'.join([*words, self.layout.encode()])}"

    @classmethod
    def read(cls, text: str) -> "Ticket":
        names, colon, rest = text.rpartition(":")
        if not colon:
            raise InputError(
                f"ticket {text!r} was not made by submit(); pass it as it was returned."
            )
        *words, encoded = rest.split(".")  # no layout's text has a dot
        said = {name: text for name, _, text in (word.partition("-") for word in words)}
        deal = Deal.decode(said[TILES]) if TILES in said else None
        sentinels = Sentinels.decode(said[SENTINELS]) if SENTINELS in said else None
        layout = Layout.decode(encoded, 1 if deal is None else deal.n_tiles)
        job_ids = names.split("+") if names else []
        expected = len(layout.chunks())
        if len(job_ids) != expected:
            raise InputError(f"ticket names {len(job_ids)} jobs but its layout needs {expected}.")
        return cls(job_ids, layout, POINTS in said, deal, sentinels, FLIPS in said)


def part_name(key: str, k: int, parts: int, n_tiles: int | None = None) -> str:
    """Return the name of the k-th job of a submission, on so many tiles."""
    tiles = "" if n_tiles is None else f"-on{n_tiles}"
    return f"aqka-{key}-{k + 1}of{parts}{tiles}"


def tiles_sent(key: str, tags: Iterable[str]) -> int | None:
    """Return on how many tiles a job of a submission was sent, from its tags; None: not its job.

    >>> tiles_sent("ab12", ["round 3", part_name("ab12", 0, 2, n_tiles=21)])
    21
    """
    for tag in tags:
        found = re.fullmatch(rf"aqka-{key}-\d+of\d+-on(\d+)", tag)
        if found is not None:
            return int(found[1])
    return None


def shorten_tag(tag: str) -> str:
    """Return the tag, shortened where it exceeds what IBM takes."""
    if len(tag) <= TAG_LENGTH:
        return tag
    return f"{tag[: TAG_LENGTH - 17]}-{hashlib.sha256(tag.encode()).hexdigest()[:16]}"
