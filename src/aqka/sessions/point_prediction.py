"""New points measured as the training points were, and no longer than their decision needs."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aqka._util.arrays import BoolArray, FloatArray, as_count, as_fraction, digest
from aqka.backends import Backend
from aqka.backends.base import as_backend
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import PointPlan, even_plan
from aqka.core.points import PointTable
from aqka.errors import InputError
from aqka.runs.driver import drive
from aqka.runs.session import Session
from aqka.runs.spend import Ceiling, Patience, Spend
from aqka.sessions.decisions import Decisions
from aqka.sessions.point_heads import PointHead
from aqka.sessions.prediction_result import check_level, normal_quantile

LOOKS = 4
"""Looks at the counts: the first after an eighth of a point's shots, then twice as many each."""


@dataclass(frozen=True, eq=False, repr=False)
class PredictedPoints(Decisions):
    """What the shots say about new points that were measured as the training points were.

    Attributes
    ----------
    head, table
        The fitted head, and the counts of the new points.
    """

    head: PointHead
    table: PointTable

    def leading(self) -> tuple[FloatArray, FloatArray]:
        """Return f and the reach of its interval; of several classes, of the lead of the first."""
        reach = (self.high - self.low) / 2
        if self.f.ndim == 1:
            return self.f, reach
        rows, order = np.arange(len(self.f)), np.argsort(self.f, axis=1)
        best, second = order[:, -1], order[:, -2]
        return self.f[rows, best] - self.f[rows, second], reach[rows, best] + reach[rows, second]


class PointPrediction(Session[PointPlan]):
    """A shot budget for new points being spent round by round.

    Every round gives each open point as many shots as it has, over all settings evenly. A point
    whose class is settled gets no more, so the session may end before the budget does; what it
    leaves over goes to the points that are still open.

    Parameters
    ----------
    head
        The fitted head.
    n_points
        Number of new points.
    budget
        Shots that may be spent in all.
    error_rate
        Chance, per point, that it is declared settled with another class than its exact state
        would give. A quarter of it is spent at each look: a class is settled where f is further
        from the decision than the normal quantile of that share. The law of f is normal where
        shots are many; docs/explanation/points.md has the rates that were measured.
    seed
        Of the draws that calibrate the deviations of f.

    Examples
    --------
    >>> from aqka import StatevectorBackend, acquire
    >>> X = np.array([[0.1], [0.3], [2.8], [3.0]])
    >>> import qiskit
    >>> qubit = qiskit.QuantumCircuit(1)
    >>> qubit.ry(qiskit.circuit.Parameter("x"), 0) and None
    >>> y = [0, 0, 1, 1]
    >>> training = acquire(StatevectorBackend(X, qubit), y, 400, design="points")
    >>> found = predict_points(training.fit(), StatevectorBackend(X + 0.1, qubit), budget=2000)
    >>> found.labels.tolist(), bool(found.shots.sum() < 2000)
    ([0, 0, 1, 1], True)
    """

    def __init__(
        self,
        head: PointHead,
        n_points: int,
        budget: int,
        *,
        error_rate: float = 0.05,
        seed: int = 0,
    ) -> None:
        if not isinstance(head, PointHead):
            raise InputError(
                f"head must be a PointHead, got {type(head).__name__}; fit() of a session with "
                "design='points' gives one."
            )
        super().__init__(budget)
        self.head = head
        self.error_rate = as_fraction(error_rate, "error_rate")
        if not 0 < self.error_rate < 0.5:
            raise InputError(
                f"error_rate must lie above 0 and below 0.5, got {error_rate!r}; for example 0.05."
            )
        self.seed = as_count(seed, "seed", minimum=0)
        self.table = PointTable(as_count(n_points, "n_points"), head.settings)
        least = head.least_shots * self.table.n_points
        if self.budget < least:
            raise InputError(
                f"budget must give every point {_shots_text(head.least_shots)}, {least} in all: "
                f"{self.budget} shots for {self.table.n_points} points."
            )
        ends = self.budget / 2.0 ** np.arange(LOOKS - 1, -1, -1)
        self._milestones: list[int] = sorted({max(least, int(end)) for end in ends})
        self.settled: BoolArray = np.zeros(self.table.n_points, dtype=np.bool_)
        self._known: tuple[FloatArray, FloatArray] | None = None

    @property
    def shots_measured(self) -> int:
        """Shots in the table."""
        return self.table.total

    @property
    def done(self) -> bool:
        """Whether the budget is spent or every point is settled."""
        return self.shots_left == 0 or bool(self.settled.all())

    @property
    def _tag_name(self) -> str:
        return "aqka-predict-points"

    def settings(self) -> dict[str, str]:
        """Return all that a run depends on besides the backend, as texts."""
        return {
            "design": "points",
            "head": _head_digest(self.head),
            "budget": str(self.budget),
            "error_rate": repr(self.error_rate),
            "seed": str(self.seed),
        }

    def extent(self) -> dict[str, str]:
        """Return which points and settings plans may name."""
        return {
            "new_points": str(self.table.n_points),
            "settings": str(self.table.n_settings),
            "qubits": str(self.table.n_qubits),
        }

    @property
    def _ending(self) -> str:
        return (
            f"{self.budget - self.shots_left} of {self.budget} shots are spent and "
            f"{int(self.settled.sum())} of {self.table.n_points} points settled"
        )

    def _next_plan(self) -> PointPlan:
        open_points = np.flatnonzero(~self.settled)
        # Counted from what is measured, so shots that a failed round did not use come along; the
        # shots that settled points leave over stay for the last round.
        milestone = self._milestones[min(self.round, len(self._milestones) - 1)]
        share = len(open_points) / self.table.n_points
        last = self.round >= len(self._milestones) - 1
        shots = self.shots_left if last else int((milestone - self._before()) * share)
        shots = max(1, min(shots, self.shots_left))
        each = np.full(len(open_points), shots // len(open_points))
        each[: shots % len(open_points)] += 1
        asked = each > 0
        return even_plan(open_points[asked], self.table.settings, each[asked])

    def _before(self) -> int:
        """Return the milestone before this round."""
        return 0 if self.round == 0 else self._milestones[min(self.round, LOOKS) - 1]

    def _take(self, planned: PointPlan, measured: PointPlan, answer: OutcomeCounts) -> None:
        self.table.add(measured, answer)
        self._known = None
        whole = measured.total == planned.total
        if whole and self.round < len(self._milestones) - 1:  # the last look stops nothing
            self._settle()

    def _settle(self) -> None:
        f, deviation = self._decide()
        quantile = normal_quantile(1 - 2 * self.error_rate / LOOKS)
        self.settled = self.settled | (_margin(f, deviation) > quantile)

    def _decide(self) -> tuple[FloatArray, FloatArray]:
        if self._known is None:
            self._known = self.head.decide(self.table, self.seed)
        return self._known

    def result(self, level: float = 0.9) -> PredictedPoints:
        """Return what is known so far; points that are not settled are flagged."""
        reach = normal_quantile(check_level(level))
        f, deviation = self._decide()
        quantile = normal_quantile(1 - 2 * self.error_rate / LOOKS)
        return PredictedPoints(
            labels=self.head.labels(f),
            f=f,
            low=f - reach * deviation,
            high=f + reach * deviation,
            settled=self.settled | (_margin(f, deviation) > quantile),
            shots=self.table.shots_per_point,
            level=level,
            head=self.head,
            table=self.table,
        )


def _shots_text(shots: int) -> str:
    return "a shot" if shots == 1 else f"{shots} shots"


def _margin(f: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return how many standard deviations a point is from another class."""
    if f.ndim == 1:
        return np.asarray(np.abs(f) / np.maximum(deviation, 1e-300))
    order = np.argsort(f, axis=1)
    rows = np.arange(len(f))
    best, next_best = order[:, -1], order[:, -2]
    gap = f[rows, best] - f[rows, next_best]
    # The two share the point's shots; the sum of their deviations bounds that of the gap.
    return np.asarray(gap / np.maximum(deviation[rows, best] + deviation[rows, next_best], 1e-300))


def _head_digest(head: PointHead) -> str:
    """Return a digest of the numbers that decide."""
    parts = [
        digest(np.asarray(value, dtype=np.complex128).view(np.float64))
        for name, value in sorted(vars(head).items())
        if name in ("operators", "alpha", "intercept", "settings")
    ]
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:16]


def predict_points(
    head: PointHead,
    backend: Backend,
    budget: int,
    *,
    error_rate: float = 0.05,
    level: float = 0.9,
    seed: int = 0,
    directory: str | Path | None = None,
    patience: Patience | None = None,
    on_round: Callable[[PointPrediction], None] | None = None,
    verbose: bool = False,
    ceiling: Ceiling | None = None,
) -> PredictedPoints:
    """Predict the points of a backend, spending at most ``budget`` shots on them.

    Parameters
    ----------
    head
        The fitted head.
    backend
        Who runs the shots, made for the new points.
    budget, error_rate, seed
        See :class:`~aqka.sessions.PointPrediction`.
    level
        Level of the intervals.
    directory, patience, on_round, verbose, ceiling
        See :func:`~aqka.acquire`; the directory must be another than the training run's.
    """
    backend = as_backend(backend)
    check_level(level)
    session = PointPrediction(head, backend.shape[0], budget, error_rate=error_rate, seed=seed)
    spend = Spend(directory, ceiling, patience or Patience(), on_round, verbose)
    drive(session, backend, spend)
    return session.result(level)
