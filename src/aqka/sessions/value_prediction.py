"""Shots for real targets: spent where the error of f is, with nothing to settle."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import numpy as np

from aqka._util.arrays import FloatArray, IntArray, as_count, digest
from aqka.allocators.targets import fill, kkt_targets
from aqka.backends import Backend
from aqka.backends.base import as_backend
from aqka.core.blocks import BlockTable
from aqka.core.plans import ShotPlan
from aqka.errors import InputError
from aqka.estimates.rows import RowReading
from aqka.readouts import FittedHead
from aqka.runs.driver import drive
from aqka.runs.session import Session
from aqka.runs.spend import Ceiling, Patience, Spend
from aqka.sessions.block_sessions import check_columns, check_head, milestones
from aqka.sessions.prediction_result import check_level, estimate, normal_quantile, read_block

ROUNDS = 4  # nothing is settled on the way, so there is less to look for than with classes


@dataclass(frozen=True, eq=False)
class Values:
    """What the shots say about the values of new points; there are no classes in it.

    Attributes
    ----------
    f
        The values.
    low, high
        Interval for the f that endless shots on the points would give, the fitted model taken as
        given.
    shots
        Shots spent on each point.
    level
        Level of the intervals.
    total_low, total_high
        Interval for the f of the same readout on the exact kernel; see
        :func:`~aqka.insight.with_total_interval`. None until asked for.
    unit
        By what the values were multiplied, of those that the head learnt.
    """

    f: FloatArray
    low: FloatArray
    high: FloatArray
    shots: IntArray
    level: float
    total_low: FloatArray | None = field(default=None, kw_only=True)
    total_high: FloatArray | None = field(default=None, kw_only=True)
    unit: float = field(default=1.0, kw_only=True)

    def in_units(self, scale: float, shift: float) -> Self:
        """Return values and intervals times ``scale`` plus ``shift``, where targets were scaled."""
        names = ("f", "low", "high", "total_low", "total_high")
        values = {name: getattr(self, name) for name in names}
        given = {name: v * scale + shift for name, v in values.items() if v is not None}
        return replace(self, unit=self.unit * scale, **given)


@dataclass(frozen=True, eq=False)
class ValuePrediction(Values):
    """What shots on pairs say about the values of test points.

    Attributes
    ----------
    head, table, reading
        The fitted head, the counts of the test entries, and how f is read from them.
    """

    head: FittedHead
    table: BlockTable
    reading: RowReading


class ValueSession(Session[ShotPlan]):
    """A shot budget for the values of test points being spent round by round.

    The squared errors of f that the test shots leave, Σ α_j² K_j (1 - K_j) / s_j of each point,
    have the least sum over all points where every pair's shots are in proportion to
    |α_j| sqrt(K_j (1 - K_j)) (as in Prop. 1); each round fills toward that, with K as known so far.
    How far f lies from 0 plays no part.

    Parameters
    ----------
    head
        The fitted head, of one output.
    n_points
        Number of test points.
    budget
        Shots that will be spent in all.
    rounds
        Rounds in which they are spent, each by a common factor larger than the one before.
    seed
        Breaks ties, together with the round's number.

    Examples
    --------
    >>> head = FittedHead(np.array([1.0, -1.0]), np.array(0.0), np.eye(2), 0.1, np.array([-1, 1]))
    >>> session = ValueSession(head, n_points=1, budget=1000)
    >>> while not session.done:
    ...     plan = session.ask()
    ...     session.tell(np.where(plan.cols == 0, plan.shots, 0))  # K = 1 and K = 0
    >>> session.result().f.round(1), session.shots_left
    (array([1.]), 0)
    """

    def __init__(
        self, head: FittedHead, n_points: int, budget: int, *, rounds: int = ROUNDS, seed: int = 0
    ) -> None:
        check_head(head)
        if np.asarray(head.alpha).ndim != 1:
            raise InputError(
                f"head has {np.asarray(head.alpha).shape[1]} outputs, one for each of its classes; "
                "predict them by aqka.predict."
            )
        super().__init__(budget)
        self.head = head
        self.n_points = as_count(n_points, "n_points")
        self.rounds = min(as_count(rounds, "rounds"), self.budget)
        self.seed = as_count(seed, "seed", minimum=0)
        self.table = BlockTable(self.n_points, len(head.alpha))
        self._milestones = milestones(self.budget, self.rounds, self.table.shots.size)

    @property
    def shots_measured(self) -> int:
        """Shots in the table."""
        return self.table.total

    @property
    def _tag_name(self) -> str:
        return "aqka-values"

    def settings(self) -> dict[str, str]:
        """Return all that a run depends on besides the backend, as texts."""
        return {
            "alpha": digest(np.asarray(self.head.alpha, dtype=np.float64)),
            "budget": str(self.budget),
            "rounds": str(self.rounds),
            "seed": str(self.seed),
        }

    def extent(self) -> dict[str, str]:
        """Return the points that plans may name."""
        rows, cols = self.table.shots.shape
        return {"rows": str(rows), "cols": str(cols)}

    def _next_plan(self) -> ShotPlan:
        k = self.table.smoothed(self.table.prior())
        score = np.abs(self.head.alpha) * np.sqrt(k * (1 - k))
        end = self._milestones[min(self.round, len(self._milestones) - 1)]
        rng = np.random.default_rng([self.seed, self.round])
        targets = kkt_targets(score.ravel(), float(end))
        flat = fill(targets, self.table.shots.ravel(), end - self.shots_spent, rng)
        shots = flat.reshape(self.table.shots.shape)
        rows, cols = np.nonzero(shots)
        return ShotPlan(rows, cols, shots[rows, cols])

    def _take(self, planned: ShotPlan, measured: ShotPlan, hits: IntArray) -> None:
        self.table.add(measured, hits)

    def result(self, level: float = 0.9) -> ValuePrediction:
        """Return what is known so far."""
        reading = read_block(self.head, self.table)
        f, deviation = estimate(self.head, reading)
        reach = normal_quantile(check_level(level)) * deviation
        shots = self.table.shots.sum(axis=1)
        return ValuePrediction(
            f, f - reach, f + reach, shots, level, self.head, self.table, reading
        )


def predict_values(
    head: FittedHead,
    backend: Backend,
    budget: int,
    *,
    level: float = 0.9,
    rounds: int = ROUNDS,
    seed: int = 0,
    directory: str | Path | None = None,
    patience: Patience | None = None,
    on_round: Callable[[ValueSession], None] | None = None,
    verbose: bool = False,
    ceiling: Ceiling | None = None,
) -> ValuePrediction:
    """Predict the values of a backend's test points with a head for real targets.

    Parameters
    ----------
    head
        The fitted head.
    backend
        Who runs the shots: one row per test point, one column per training point.
    budget, rounds, seed
        See :class:`~aqka.sessions.ValueSession`.
    level
        Level of the intervals.
    directory, patience, on_round, verbose, ceiling
        See :func:`~aqka.acquire`; the directory must be another than the training run's.

    Examples
    --------
    >>> from aqka import MatrixBackend, acquire
    >>> from aqka.demo.tasks import planted_sparse
    >>> task = planted_sparse(60, 40, 4, seed=3)
    >>> head = acquire(MatrixBackend(task.kernel), task.y, 50_000).fit()
    >>> test = MatrixBackend(task.test_kernel, rectangular=True)
    >>> found = predict_values(head, test, budget=100_000)
    >>> exact = head.decision_function(task.test_kernel)
    >>> bool(np.corrcoef(found.f, exact)[0, 1] > 0.95), int(found.shots.sum())
    (True, 100000)
    """
    backend = as_backend(backend)
    check_level(level)
    session = ValueSession(head, backend.shape[0], budget, rounds=rounds, seed=seed)
    check_columns(head, backend)
    spend = Spend(directory, ceiling, patience or Patience(), on_round, verbose)
    drive(session, backend, spend)
    return session.result(level)
