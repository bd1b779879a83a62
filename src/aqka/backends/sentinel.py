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
    TileWatch,
    check_drift,
    estimate_depolarising,
    mitigate_depolarising,
)
from aqka.core.plans import Plan, ShotPlan
from aqka.errors import InputError, JobError

__all__ = [
    "Depolarising",
    "Drift",
    "DriftWarning",
    "SentinelBackend",
    "TileSentinelBackend",
    "check_drift",
    "estimate_depolarising",
    "mitigate_depolarising",
]


@dataclass
class SentinelBackend(Backend):
    """Wraps a backend: every plan also measures some diagonal entries, and warns of a drift.

    The sentinels' shots come on top of the budget and are left out of the hits.

    Attributes
    ----------
    backend
        What runs the shots; rows and columns must be the same points.
    points
        Points whose K_ii is measured.
    shots
        Shots of each, in every plan.
    false_alarm
        Probability that a :class:`~aqka.backends.sentinel.DriftWarning` comes without drift, in
        all rounds together: the r-th look spends false_alarm / (r (r + 1)) of it, which sums up to
        false_alarm.
    hits
        The sentinels' hits so far, one array per round.

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
    hits: list[IntArray] = field(default_factory=list)

    shape = wrapped("shape")
    replayable = wrapped("replayable")
    is_paid = wrapped("is_paid")
    rep_delay = wrapped("rep_delay")
    n_tiles = wrapped("n_tiles")
    name = wrapped("name")
    calibrated_at = wrapped("calibrated_at")
    circuit = wrapped("circuit")

    def __post_init__(self) -> None:
        self._points = as_counts(self.points, "points")
        as_count(self.shots, "shots")
        size = min(self.backend.shape)
        if not self._points.size or self._points.min() < 0 or self._points.max() >= size:
            raise InputError(
                f"points must name at least one of {size} points, got {self.points!r}."
            )
        self._extra = len(self._points)  # rows behind those of a plan
        self._shots: list[IntArray] = []  # of the sentinels, beside ``hits``
        self._collected: dict[str, int] = {}  # the place of each ticket in ``hits``
        self._plans: dict[str, ShotPlan] = {}  # by their tickets

    @property
    def usage(self) -> dict[str, float | None]:
        """QPU seconds of the wrapped backend's tickets."""
        return {f"{self._extra}|{ticket}": used for ticket, used in self.backend.usage.items()}

    def limit_seconds(self, seconds: float | None) -> None:
        """Limit the wrapped backend, whose shots include the sentinels'."""
        self.backend.limit_seconds(seconds)

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
        """Return a plan with the sentinels behind it."""
        check_plan(plan, self.shape)
        pairs = cast(ShotPlan, plan)
        if pairs.total == 0 or self._extra == 0:
            return pairs
        rows, cols = (np.append(side, self._points) for side in (pairs.rows, pairs.cols))
        return ShotPlan(rows, cols, np.append(pairs.shots, np.full(self._extra, self.shots)))

    def _with_count(self, ticket: str, plan: Plan, extended: ShotPlan) -> str:
        """Return the wrapped backend's ticket with the number of sentinels before it."""
        outer = f"{len(extended.shots) - len(plan.shots)}|{ticket}"
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
        """Return the sentinels' hits, which the plan's do not show."""
        noted = dict(self.backend.remarks(_without_count(ticket)[1]))
        if ticket in self._collected:
            k = self._collected[ticket]
            noted["sentinels"] = {"shots": self._shots[k].tolist(), "hits": self.hits[k].tolist()}
        return noted

    def collect(self, ticket: str) -> IntArray:
        """Return the plan's hits; keep the sentinels' and warn where they disagree."""
        count, inner = _without_count(ticket)
        try:
            hits: IntArray = self.backend.collect(inner)
        except JobError as error:
            partial = error.partial
            if partial is not None and count:  # what was run of the plan, without its sentinels
                partial = partial[0][:-count], partial[1][:-count]
            raise JobError(str(error), partial, error.lost) from error
        cut = len(hits) - count
        if count and ticket not in self._collected:
            self._keep(ticket, hits[cut:], np.full(count, self.shots))
        return hits[:cut]

    def _keep(self, ticket: str, hits: IntArray, shots: IntArray) -> None:
        """Keep what the sentinels of a round saw, and judge all rounds so far."""
        self._collected[ticket] = look = len(self.hits)
        self.hits.append(hits)
        self._shots.append(shots)
        if look:  # the first round has nothing to disagree with
            self._judge(self.false_alarm / (look * (look + 1)))

    def estimate(self, n_qubits: int) -> Depolarising:
        """Return the survival probability from all rounds so far."""
        return estimate_depolarising(np.ravel(self.hits), np.ravel(self._shots), n_qubits)

    def drift(self, false_alarm: float | None = None) -> Drift:
        """Test whether the rounds so far agree."""
        level = self.false_alarm if false_alarm is None else false_alarm
        size = len(self.hits), len(self._points)
        hits, shots = np.reshape(self.hits, size), np.reshape(self._shots, size)
        return check_drift(hits, shots, false_alarm=level)

    def _judge(self, false_alarm: float) -> None:
        """Warn where rounds disagree."""
        result = self.drift(false_alarm)
        if result.drifted:
            warnings.warn(
                f"the diagonal changed between rounds (p = {result.p_value:.2g} after "
                f"{len(self.hits)} rounds): the noise drifts, so rounds are not of one kernel. "
                "Recalibrate, or estimate and mitigate each round by itself.",
                DriftWarning,
                stacklevel=4,
            )


def _without_count(ticket: str) -> tuple[int, str]:
    """Return how many sentinels a ticket has, and the wrapped backend's ticket."""
    count, bar, inner = ticket.partition("|")
    if not bar or not count.isdecimal():
        raise InputError(f"ticket {ticket!r} was not made by submit(); pass it as it was returned.")
    return int(count), inner


@dataclass
class TileSentinelBackend(SentinelBackend):
    """Wraps a backend with tiles: with every plan each tile measures some diagonal entries.

    They take a few rows of the round's first job, in which all tiles measure at once, and the
    tiles that the plan's last row leaves idle. A tile whose entries change between rounds is
    dropped from the next one, with a :class:`~aqka.backends.sentinel.DriftWarning` that names it;
    where half of the tiles or more have changed, it is the device that drifts, and none is dropped.

    Attributes
    ----------
    backend, points, shots, false_alarm
        As of :class:`~aqka.backends.sentinel.SentinelBackend`; ``shots`` are those of each point on
        each tile, at least.
    hits
        Hits of each round and point, all tiles together.
    tiles
        What was seen of each tile.

    Notes
    -----
    Which tiles were dropped is known to this object alone: after a crash, tiles are judged anew.
    """

    tiles: TileWatch = field(default_factory=TileWatch)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.backend, JobBackend) or self.backend.tiling is None:
            raise InputError(
                f"backend must have tiles, got {type(self.backend).__name__} without; make it with "
                "tiles='auto', or take SentinelBackend."
            )
        self._tiled = self.backend.with_sentinels(tuple(self._points.tolist()), self.shots)
        self.backend, self._extra = self._tiled, 0  # it adds what each tile measures

    def collect(self, ticket: str) -> IntArray:
        """Return the plan's hits; keep the sentinels', and drop tiles that drift."""
        hits = super().collect(ticket)
        seen = self._tiled.tile_hits(_without_count(ticket)[1])
        if seen is not None and ticket not in self._collected:
            self.tiles.rounds.append(seen)
            self._keep(ticket, seen.hits.sum(axis=0), seen.shots.sum(axis=0))
        return hits

    def remarks(self, ticket: str) -> dict[str, Any]:
        """Return the sentinels' hits; and their share of hits on the tiles that ran each row."""
        noted = super().remarks(ticket)
        if ticket in self._collected:
            seen = self.tiles.rounds[self._collected[ticket]]
            shots = self._tiled.tile_shots(_without_count(ticket)[1])
            rates = shots @ (seen.hits.sum(axis=1) / seen.shots.sum(axis=1)) / shots.sum(axis=1)
            noted["sentinels"]["rates"] = [round(float(rate), 6) for rate in rates]
        return noted

    def _judge(self, false_alarm: float) -> None:
        """Drop tiles that changed, or say that the device did."""
        names = sorted(self.tiles.drifting(false_alarm))
        if not names:
            return
        said = f"{', '.join(names)} changed between rounds (after {len(self.hits)} rounds)"
        if 2 * len(names) >= len(self.tiles.rounds[-1].names):
            remedy = (
                "so many that the device drifts and not its tiles; none was dropped. "
                "Recalibrate, or estimate and mitigate each round by itself."
            )
        else:
            self._tiled.drop_tiles(set(names))
            remedy = "and are not used any more; what they measured stays in the counts."
        warnings.warn(f"the tiles {said}, {remedy}", DriftWarning, stacklevel=4)

    def pair_survival(self, n_qubits: int) -> FloatArray:
        """Return the survival probability of each pair's shots, a matrix of the kernel's shape.

        A pair's shots come from a few tiles, and its survival is their mean, weighted by shots.
        Passed to :func:`~aqka.backends.sentinel.mitigate_depolarising` it takes out the noise of
        just these tiles, so that uneven tiles leave nothing behind. Pairs without shots in the
        rounds that this object has submitted get the mean of all tiles.
        """
        found = {name: one.survival for name, one in self.tiles.survival(n_qubits).items()}
        kept, total = np.zeros(self.shape), np.zeros(self.shape)
        for ticket, k in self._collected.items():
            if ticket not in self._plans:
                continue
            plan, shots = self._plans[ticket], self._tiled.tile_shots(_without_count(ticket)[1])
            survival = np.array([found[name] for name in self.tiles.rounds[k].names])
            np.add.at(kept, (plan.rows, plan.cols), shots @ survival)
            np.add.at(total, (plan.rows, plan.cols), shots.sum(axis=1))
        if self.shape[0] == self.shape[1]:  # of a training kernel: a pair has one entry of two
            kept, total = kept + kept.T, total + total.T
        mean = float(np.mean(list(found.values())))
        return np.where(total > 0, kept / np.maximum(total, 1), mean)
