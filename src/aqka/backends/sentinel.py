"""Sentinels: a few shots on K_ii, which is 1 without noise, show the noise in every round."""

import warnings
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray, as_count, as_counts
from aqka.backends._jobs.job_backend import JobBackend
from aqka.backends.base import Backend, JobState, Workload, check_plan, wrapped
from aqka.backends.diagonal import (
    Depolarising,
    Drift,
    DriftWarning,
    TileHits,
    TileWatch,
    check_drift,
    estimate_depolarising,
    survival_of_pairs,
)
from aqka.core.plans import Plan, ShotPlan
from aqka.errors import InputError, JobError

DEVICE = "the device"  # the one tile of a backend without tiles


@dataclass
class SentinelBackend(Backend):
    """Wraps a backend: every plan also measures some diagonal entries, and warns of a drift.

    The sentinels' shots come on top of the budget and are left out of the hits. On a backend with
    tiles every tile measures them: they take a few rows of the round's first job, in which all
    tiles measure at once, and the tiles that the plan's last row leaves idle. A tile whose entries
    change between rounds is dropped from the next one, with a
    :class:`~aqka.backends.diagonal.DriftWarning` that names it; where half of the tiles or more
    have changed, it is the device that drifts, and none is dropped.

    Parameters
    ----------
    backend : Backend
        What runs the shots; rows and columns must be the same points.
    points : array-like of int
        Points whose K_ii is measured.
    shots : int
        Shots of each, in every plan; with tiles those on each of them, at least.
    false_alarm : float, default=0.01
        Probability of a :class:`~aqka.backends.diagonal.DriftWarning` without drift, in all rounds
        together: the r-th look spends false_alarm / (r (r + 1)), which sums up to false_alarm.
    tiles : TileWatch, default=TileWatch()
        What was seen of each tile, in every round; without tiles there is one, ``"the device"``.

    Notes
    -----
    Which tiles were dropped is known to this object alone: after a crash, tiles are judged anew.

    Examples
    --------
    >>> from aqka import MatrixBackend
    >>> backend = SentinelBackend(MatrixBackend([[0.9, 0.2], [0.2, 0.9]]), points=[0, 1], shots=50)
    >>> len(backend.collect(backend.submit(ShotPlan([0], [1], [10]), "first")))
    1
    >>> len(backend.hits), backend.hits[0].shape
    (1, (2,))
    """

    backend: Backend
    points: ArrayLike
    shots: int
    false_alarm: float = 0.01
    tiles: TileWatch = field(default_factory=TileWatch)

    shape = wrapped("shape")
    replayable = wrapped("replayable")
    is_paid = wrapped("is_paid")
    rep_delay = wrapped("rep_delay")
    n_tiles = wrapped("n_tiles")
    settle_on = wrapped("settle_on")
    name = wrapped("name")
    calibrated_at = wrapped("calibrated_at")
    circuit = wrapped("circuit")
    limit_seconds = wrapped("limit_seconds")
    open = wrapped("open")
    close = wrapped("close")

    def __post_init__(self) -> None:
        self._points = as_counts(self.points, "points")
        as_count(self.shots, "shots")
        size = min(self.backend.shape)
        if not self._points.size or self._points.min() < 0 or self._points.max() >= size:
            raise InputError(
                f"points must name at least one of {size} points, got {self.points!r}."
            )
        self._extra = len(self._points)  # rows behind those of a plan
        self._tiled: JobBackend | None = None
        if isinstance(self.backend, JobBackend) and self.backend.tiling is not None:
            self._tiled = self.backend.with_sentinels(tuple(self._points.tolist()), self.shots)
            self.backend, self._extra = self._tiled, 0  # it adds what each tile measures
        self._seen: dict[str, TileHits] = {}  # by their tickets, as in ``tiles``
        self._plans: dict[str, ShotPlan] = {}

    @property
    def hits(self) -> list[IntArray]:
        """The sentinels' hits so far, all tiles together: one array per round."""
        return [seen.hits.sum(axis=0) for seen in self.tiles.rounds]

    @property
    def usage(self) -> dict[str, float | None]:
        """QPU seconds of the wrapped backend's tickets."""
        return {f"{self._extra}|{ticket}": used for ticket, used in self.backend.usage.items()}

    def fingerprint(self) -> str:
        """Return what tells this backend from one of other data or other sentinels."""
        return (
            f"SentinelBackend({self.backend.fingerprint()}, {self._points.tolist()}, {self.shots})"
        )

    def recover(self, plan: Plan, tag: str) -> str | None:
        """Return the ticket of a plan that was submitted by a process that died, if there is."""
        extended = self._with_sentinels(plan)
        ticket = self.backend.recover(extended, tag)
        return None if ticket is None else self._with_count(ticket, plan, extended)

    def submit(self, plan: Plan, tag: str) -> str:
        """Submit the plan with the sentinels behind it; a plan without shots goes without."""
        extended = self._with_sentinels(plan)
        return self._with_count(self.backend.submit(extended, tag), plan, extended)

    def _with_sentinels(self, plan: Plan) -> ShotPlan:
        check_plan(plan, self.shape)
        pairs = cast(ShotPlan, plan)
        if pairs.total == 0 or self._extra == 0:
            return pairs
        rows, cols = (np.append(side, self._points) for side in (pairs.rows, pairs.cols))
        return ShotPlan(rows, cols, np.append(pairs.shots, np.full(self._extra, self.shots)))

    def _with_count(self, ticket: str, plan: Plan, extended: ShotPlan) -> str:
        """Return the wrapped backend's ticket with the number of sentinels before it."""
        outer = f"{len(extended) - len(plan)}|{ticket}"
        self._plans[outer] = cast(ShotPlan, plan)
        return outer

    def workload(self, plan: Plan) -> Workload:
        """Return what the plan and its sentinels ask of the device."""
        return self.backend.workload(self._with_sentinels(plan))

    def cancel(self, plan: Plan, tag: str, ticket: str | None) -> list[JobState]:
        """Cancel the jobs of the wrapped backend."""
        inner = None if ticket is None else _without_count(ticket)[1]
        return self.backend.cancel(self._with_sentinels(plan), tag, inner)

    def remarks(self, ticket: str) -> dict[str, Any]:
        """Return the sentinels' hits; and their share of hits on the tiles that ran each row."""
        inner = _without_count(ticket)[1]
        noted, seen = dict(self.backend.remarks(inner)), self._seen.get(ticket)
        if seen is not None:
            shots, hits = seen.shots.sum(axis=0), seen.hits.sum(axis=0)
            noted["sentinels"] = {"shots": shots.tolist(), "hits": hits.tolist()}
        if seen is not None and self._tiled is not None:
            ran = self._tiled.tile_shots(inner)
            rates = ran @ (seen.hits.sum(axis=1) / seen.shots.sum(axis=1)) / ran.sum(axis=1)
            noted["sentinels"]["rates"] = [round(float(rate), 6) for rate in rates]
        return noted

    def collect(self, ticket: str) -> IntArray:
        """Return the plan's hits; keep the sentinels', and drop tiles that drift."""
        count, inner = _without_count(ticket)
        try:
            hits: IntArray = self.backend.collect(inner)
        except JobError as error:
            partial = error.partial
            if partial is not None and count:  # what was run of the plan, without its sentinels
                partial = partial[0][:-count], partial[1][:-count]
            raise JobError(str(error), partial, error.lost) from error
        cut = len(hits) - count
        seen = None if self._tiled is None else self._tiled.tile_hits.get(inner)
        if count:
            seen = TileHits((DEVICE,), hits[None, cut:], np.full((1, count), self.shots))
        if seen is not None and ticket not in self._seen:
            self._seen[ticket] = seen
            self.tiles.rounds.append(seen)
            self._judge(len(self._seen) - 1)
        return hits[:cut]

    def _judge(self, look: int) -> None:
        """Drop tiles that changed, or say that the device did."""
        if look == 0:  # the first round has nothing to disagree with
            return
        names = sorted(self.tiles.drifting(self.false_alarm / (look * (look + 1))))
        if not names:
            return
        where = ", ".join(names)
        if self._tiled is not None and 2 * len(names) < len(self.tiles.rounds[-1].names):
            self._tiled.drop_tiles(set(names))
            said = (
                f"the tiles {where} changed between rounds (after {look + 1} rounds), and are not "
                "used any more; what they measured stays in the counts."
            )
        else:
            said = (
                f"the diagonal changed between rounds (p = {self.drift().p_value:.2g} after "
                f"{look + 1} rounds) on {where}: the noise of the device drifts, so rounds measure "
                "different kernels, and no tile is dropped. Recalibrate, or estimate and mitigate "
                "each round by itself."
            )
        warnings.warn(said, DriftWarning, stacklevel=3)

    def _counts(self) -> tuple[IntArray, IntArray]:
        """Return hits and shots of all tiles together, rounds by points."""
        size = len(self._seen), len(self._points)
        totals = [seen.shots.sum(axis=0) for seen in self.tiles.rounds]
        return np.reshape(self.hits, size), np.reshape(totals, size)

    def estimate(self, n_qubits: int) -> Depolarising:
        """Return the survival probability from all rounds so far."""
        hits, shots = self._counts()
        return estimate_depolarising(hits.ravel(), shots.ravel(), n_qubits)

    def drift(self) -> Drift:
        """Test whether the rounds so far agree."""
        return check_drift(*self._counts(), false_alarm=self.false_alarm)

    def pair_survival(self, n_qubits: int) -> FloatArray:
        """Return the survival probability of each pair's shots, a matrix of the kernel's shape.

        Passed to :func:`~aqka.backends.diagonal.mitigate_depolarising` it takes out the noise of
        just the tiles that ran them, so that uneven tiles leave nothing behind.
        """
        rounds = ((plan, self.remarks(ticket)) for ticket, plan in self._plans.items())
        mean = self.estimate(n_qubits).survival
        return survival_of_pairs(rounds, mean, self.shape[0], n_qubits)


def _without_count(ticket: str) -> tuple[int, str]:
    """Return how many sentinels a ticket has, and the wrapped backend's ticket."""
    count, bar, inner = ticket.partition("|")
    if not bar or not count.isdecimal():
        raise InputError(f"ticket {ticket!r} was not made by submit(); pass it as it was returned.")
    return int(count), inner
