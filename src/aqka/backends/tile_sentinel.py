"""Sentinels on every tile: each tile's noise, those that drift dropped, uneven ones evened out."""

import warnings
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray
from aqka.backends._jobs.job_backend import JobBackend
from aqka.backends.base import Backend, check_plan
from aqka.backends.drift import Drift, DriftWarning, check_drift
from aqka.backends.mitigation import Depolarising, estimate_depolarising
from aqka.backends.sentinel import SentinelBackend
from aqka.backends.tile_watch import TileWatch
from aqka.core.plans import Plan, ShotPlan
from aqka.errors import InputError

__all__ = ["TileSentinelBackend", "make_sentinels"]


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
        """Check the points, and let every plan carry the sentinels."""
        super().__post_init__()
        if not isinstance(self.backend, JobBackend) or self.backend.tiling is None:
            raise InputError(
                f"backend must have tiles, got {type(self.backend).__name__} without; make it with "
                "tiles='auto', or take SentinelBackend."
            )
        self.backend = self.backend.with_sentinels(tuple(self._points.tolist()), self.shots)
        self._rounds: list[tuple[ShotPlan, IntArray, tuple[str, ...]]] = []
        self._plans: dict[str, ShotPlan] = {}
        self._collected_shots: dict[str, IntArray] = {}

    @property
    def usage(self) -> dict[str, float | None]:
        """QPU seconds of the wrapped backend's tickets."""
        return {f"0|{ticket}": used for ticket, used in self.backend.usage.items()}

    def _with_sentinels(self, plan: Plan) -> tuple[int, ShotPlan]:
        """Return the plan as it is: the wrapped backend adds what each tile measures."""
        check_plan(plan, self.shape)
        assert isinstance(plan, ShotPlan)
        return 0, plan

    def submit(self, plan: Plan, tag: str) -> str:
        """Submit the plan, with sentinels on every tile."""
        return self._remember(super().submit(plan, tag), plan)

    def recover(self, plan: Plan, tag: str) -> str | None:
        """Return the ticket of a plan that was submitted by a process that died, if there is."""
        ticket = super().recover(plan, tag)
        return None if ticket is None else self._remember(ticket, plan)

    def _remember(self, ticket: str, plan: Plan) -> str:
        assert isinstance(plan, ShotPlan)
        self._plans[ticket] = plan
        return ticket

    def collect(self, ticket: str) -> IntArray:
        """Return the plan's hits; keep the sentinels', and drop tiles that drift."""
        hits = super().collect(ticket)
        inner = ticket.partition("|")[2]
        assert isinstance(self.backend, JobBackend)
        seen = self.backend.tile_hits(inner)
        if seen is not None and ticket not in self._collected:
            self._collected[ticket] = seen.hits.sum(axis=0)
            self._collected_shots[ticket] = seen.shots.sum(axis=0)
            self.tiles.rounds.append(seen)
            self.hits.append(seen.hits.sum(axis=0))
            if ticket in self._plans:
                plan = self._plans.pop(ticket)
                self._rounds.append((plan, self.backend.tile_shots(inner), seen.names))
            self._judge_tiles()
        return hits

    def _sentinel_shots(self, ticket: str) -> list[int]:
        """Return the shots of each sentinel, all tiles together."""
        return [int(shots) for shots in self._collected_shots[ticket]]

    def estimate(self, n_qubits: int) -> Depolarising:
        """Return the survival probability from all rounds and tiles so far."""
        return estimate_depolarising(np.ravel(self.hits), self._shots().ravel(), n_qubits)

    def drift(self, false_alarm: float | None = None) -> Drift:
        """Test whether the rounds so far agree, all tiles together."""
        level = self.false_alarm if false_alarm is None else false_alarm
        return check_drift(np.array(self.hits), self._shots(), false_alarm=level)

    def _shots(self) -> IntArray:
        return np.array([seen.shots.sum(axis=0) for seen in self.tiles.rounds])

    def _judge_tiles(self) -> None:
        """Drop tiles that changed, or say that the device did."""
        look = len(self.tiles.rounds) - 1  # the first round has nothing to disagree with
        if look == 0:
            return
        found = self.tiles.drifting(self.false_alarm / (look * (look + 1)))
        if not found:
            return
        names = sorted(found)
        said = f"{', '.join(names)} changed between rounds (after {look + 1} rounds)"
        if 2 * len(names) >= len(self.tiles.rounds[-1].names):
            remedy = (
                "so many that the device drifts and not its tiles, of which none was dropped. "
                "Recalibrate, or estimate and mitigate each round by itself."
            )
        else:
            assert isinstance(self.backend, JobBackend)
            self.backend.drop_tiles(set(names))
            remedy = "and are not used any more; what they measured stays in the counts."
        warnings.warn(f"the tiles {said}, {remedy}", DriftWarning, stacklevel=3)

    def pair_survival(self, n_qubits: int) -> FloatArray:
        """Return the survival probability of each pair's shots, a matrix of the kernel's shape.

        A pair's shots come from a few tiles, and its survival is their mean, weighted by shots.
        Passed to :func:`~aqka.backends.sentinel.mitigate_depolarising` it takes out the noise of
        just these tiles, so that uneven tiles leave nothing behind. Pairs without shots in the
        rounds that this object has submitted get the mean of all tiles.
        """
        found = {name: one.survival for name, one in self.tiles.survival(n_qubits).items()}
        kept, total = np.zeros(self.shape), np.zeros(self.shape)
        for plan, shots, names in self._rounds:
            survival = np.array([found[name] for name in names])
            np.add.at(kept, (plan.rows, plan.cols), shots @ survival)
            np.add.at(total, (plan.rows, plan.cols), shots.sum(axis=1))
        if self.shape[0] == self.shape[1]:  # of a training kernel: a pair has one entry of two
            kept, total = kept + kept.T, total + total.T
        mean = float(np.mean(list(found.values())))
        return np.where(total > 0, kept / np.maximum(total, 1), mean)


def make_sentinels(
    backend: Backend, points: ArrayLike, shots: int, false_alarm: float = 0.01
) -> SentinelBackend:
    """Return the backend with sentinels: on every tile where it has tiles."""
    tiled = isinstance(backend, JobBackend) and backend.tiling is not None
    kind = TileSentinelBackend if tiled else SentinelBackend
    return kind(backend, points, shots, false_alarm)
