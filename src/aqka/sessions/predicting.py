"""Shots for new points: spent where the decision needs them, and no longer than it needs them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import BoolArray, FloatArray, IntArray, as_count, as_fraction
from aqka._util.shown import Shown
from aqka.backends.base import Backend, as_backend
from aqka.core.plans import Plan
from aqka.designs import Never, NewPoints, Settle, Stop
from aqka.designs.answered import AnsweredPoints, PriorAudit
from aqka.designs.prior import LazyAnswers
from aqka.errors import InputError
from aqka.learners import Decided, FittedHead
from aqka.maths.metrics import normal_quantile
from aqka.runs.driver import drive
from aqka.runs.session import Session
from aqka.runs.spend import Spend


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Values(Shown):
    """What the shots say about the values of new points.

    Parameters
    ----------
    f : array
        The values; with more than two classes a column each.
    low, high : array
        Interval for the f that unlimited shots on the points would give with this head.
    shots : array of int
        Shots spent on each point.
    level : float
        Level of the interval.
    head, table, decided : FittedHead, table of counts, Decided
        The fitted head, the counts of the new points, and what was read from them.
    total_low, total_high : array, default=None
        Interval for the f of the same learner on the exact kernel; see
        :func:`~aqka.insight.with_total_interval`. None until computed.
    unit : float or array, default=1.0
        What the values were multiplied by since the head gave them.
    """

    f: FloatArray
    low: FloatArray
    high: FloatArray
    shots: IntArray
    level: float
    head: FittedHead
    table: Any
    decided: Decided
    total_low: FloatArray | None = None
    total_high: FloatArray | None = None
    unit: Any = 1.0

    def in_units(self, scale: Any, shift: Any) -> Self:
        """Return values and intervals times ``scale`` plus ``shift``, where targets were scaled."""
        names = ("f", "low", "high", "total_low", "total_high")
        values = {name: getattr(self, name) for name in names}
        given = {name: v * scale + shift for name, v in values.items() if v is not None}
        return replace(self, unit=self.unit * scale, **given)

    def _figures(self) -> dict[str, object]:
        return {"points": len(self.f), "shots": int(self.shots.sum())}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Prediction(Values):
    """What the shots say about the classes of new points.

    Parameters
    ----------
    f, low, high : array
        Decision values, with more than two classes a column each, and their interval.
    shots, level : array of int and float
        Shots spent on each point, and the level of the interval.
    head, table, decided : FittedHead, table of counts, Decided
        The fitted head, the counts of the new points, and what was read from them.
    total_low, total_high : array, default=None
        Interval for the f of the same learner on the exact kernel; None until computed.
    unit : float or array, default=1.0
        What the values were multiplied by since the head gave them.
    labels : array
        The settled class, or the most likely one of a point that is still open.
    settled : array of bool
        Whether the class is settled at the error rate; the rest were open when the budget ran out.
    could_flip : array of bool, default=None
        Whether the learner on the exact kernel could give another class; see
        :func:`~aqka.insight.with_total_interval`. None until computed.
    by_prior, audit : array of bool and PriorAudit, default=None
        Points that the prior answered without a shot, whose f and interval are what it says; and
        what shots said of its answers. None where there is no prior.
    """

    labels: NDArray[Any]
    settled: BoolArray
    could_flip: BoolArray | None = None
    by_prior: BoolArray | None = None
    audit: PriorAudit | None = None

    @property
    def answered_by(self) -> list[str]:
        """What each class rests on: ``shots``, ``audit`` (shots too) or ``prior``."""
        words = np.full(len(self.f), "shots", dtype=object)
        if self.by_prior is not None and self.audit is not None:
            words[self.audit.points], words[self.by_prior] = "audit", "prior"
        return [str(word) for word in words]

    def _figures(self) -> dict[str, object]:
        figures = super()._figures() | {
            "settled": int(self.settled.sum()),
            "classes": ", ".join(str(label) for label in self.head.classes),
        }
        if self.by_prior is not None:
            figures["without a shot"] = int(self.by_prior.sum())
        if self.could_flip is not None:
            figures["could flip"] = int(self.could_flip.sum())
        return figures


class Predicting(Session[Plan]):
    """A shot budget for new points being spent round by round.

    Parameters
    ----------
    head : FittedHead
        The fitted head; new points are measured in its design.
    n_points : int
        Number of new points.
    budget : int
        Shots that may be spent in all.
    stop : Settle or Never, optional
        When a point gets no more shots: by default once its class, if it has one, is settled.
    seed : int, default=0
        Every draw comes from a generator seeded by (seed, round), so a session rebuilt from its
        recorded answers goes on bit for bit as the uninterrupted one.
    prior : LazyAnswers, optional
        What answers points without a shot; see :class:`~aqka.PredictionPrior`. Their shots are
        kept for the case that its audit fails.

    Examples
    --------
    >>> from aqka.designs import KernelEstimate
    >>> kernel = KernelEstimate(np.eye(2))
    >>> head = FittedHead(np.array([1.0, -1.0]), np.array(0.0), kernel, 0.1, np.array([3, 8]))
    >>> session = Predicting(head, n_points=1, budget=1000)
    >>> while not session.done:
    ...     plan = session.ask()
    ...     session.tell(np.where(plan.cols == 0, plan.shots, 0))  # K = 1 and K = 0
    >>> found = session.result()
    >>> found.labels, found.settled, session.shots_left > 800
    (array([8]), array([ True]), True)
    """

    def __init__(
        self,
        head: FittedHead,
        n_points: int,
        budget: int,
        *,
        stop: Stop | None = None,
        seed: int = 0,
        prior: LazyAnswers | None = None,
    ) -> None:
        if not isinstance(head, FittedHead):
            raise InputError(
                f"head must be a FittedHead, got {type(head).__name__}; session.fit() gives one."
            )
        if not np.all(np.isfinite(head.coefficients)):
            raise InputError("head has coefficients that are NaN or infinite; fit it anew.")
        super().__init__(budget)
        self.head = head
        self.n_points = as_count(n_points, "n_points")
        self.stop: Stop = stop or (Settle() if head.has_classes else Never())
        self.seed = as_count(seed, "seed", minimum=0)
        # Only classes can be settled, by a prior or by shots.
        self.prior = prior if isinstance(self.stop, Settle) else None
        how = self.n_points, self.budget, self.seed
        if self.prior is None:
            self.new = self._new_points(*how)
        else:
            self.new = AnsweredPoints(self._new_points, *how, self.prior)

    def _new_points(self, n_points: int, budget: int, seed: int) -> NewPoints:
        make = self.head.estimate.design.new_points
        return make(self.head, n_points, budget, self.stop, seed)  # type: ignore[no-any-return]

    @property
    def table(self) -> Any:
        """Counts of the new points."""
        return self.new.table

    @property
    def settled(self) -> BoolArray:
        """Points whose class is settled."""
        return self.new.settled

    def _figures(self) -> dict[str, object]:
        return {"points": self.n_points, "settled": int(self.settled.sum()), **super()._figures()}

    @property
    def shots_measured(self) -> int:
        """Shots whose outcomes are known."""
        return self.new.shots_measured

    @property
    def shots_left(self) -> int:
        """Shots that may still be run, but for those of points that the prior answers."""
        return super().shots_left - self.new.reserved

    def decisions(self) -> dict[str, IntArray]:
        """Return what the prior says of the points."""
        return self.new.decisions()

    def take_up_decisions(self, kept: Mapping[str, IntArray]) -> None:
        """Take what the prior said from a ledger."""
        self.new.take_up_decisions(kept)

    def take_up(self, plan: Plan) -> None:
        """Make a recorded plan the pending one."""
        self.new.expect(plan)
        super().take_up(plan)

    @property
    def done(self) -> bool:
        """Whether the budget is spent or every point is settled."""
        return self.shots_left == 0 or bool(self.settled.all())

    @property
    def _tag_name(self) -> str:
        return f"aqka-predict-{self.head.estimate.design.name}"

    def settings(self) -> dict[str, str]:
        """Return all that a run depends on besides the backend, as texts."""
        return {
            "head": self.head.identity,
            "budget": str(self.budget),
            "stop": self.stop.describe(),
            "seed": str(self.seed),
            **({} if self.prior is None else {"prior": self.prior.settings.describe()}),
        }

    def extent(self) -> dict[str, str]:
        """Return what plans may name."""
        return self.new.extent()

    @property
    def _ending(self) -> str:
        return (
            f"{self.shots_spent} of {self.budget} shots are spent and "
            f"{int(self.settled.sum())} of {self.n_points} points settled"
        )

    def _next_plan(self) -> Plan:
        return self.new.plan(self.round, self.shots_spent, self.shots_left)

    def _take(self, planned: Plan, measured: Plan, answer: Any) -> None:
        self.new.take(self.round, planned, measured, answer)

    def result(self, level: float = 0.9) -> Any:
        """Return what is known so far, as a :class:`~aqka.Prediction` or :class:`~aqka.Values`.

        Points that are not settled are flagged.
        """
        reach = normal_quantile(check_level(level))
        decided = self.new.decide()
        settled = self.new.settled_at_end()  # by the points' own shots alone
        decided = self.new.improve(decided, np.flatnonzero(~settled))
        f, half = decided.f, reach * decided.deviation
        known: dict[str, Any] = dict(f=f, low=f - half, high=f + half, level=level, head=self.head)
        known |= dict(shots=self.new.shots_per_point, table=self.table, decided=decided)
        if isinstance(self.stop, Never):
            return Values(**known)
        labels = self.head.labels(f)
        labels[settled] = self.head.classes[self.new.winners()[settled]]
        answered = dict(by_prior=self.new.by_prior, audit=self.new.audit)
        return Prediction(**known, labels=labels, settled=settled, **answered)


def check_level(level: float) -> float:
    """Return the level of an interval, strictly between 0 and 1."""
    level = as_fraction(level, "level")
    if level in (0, 1):
        raise InputError(f"level must lie strictly between 0 and 1, got {level}; for example 0.9.")
    return level


def predict(
    head: FittedHead,
    backend: Backend,
    budget: int,
    *,
    stop: Stop | None = None,
    level: float = 0.9,
    seed: int = 0,
    prior: LazyAnswers | None = None,
    **spend: Any,
) -> Any:
    """Predict a backend's points, spending at most ``budget`` shots on them.

    Parameters
    ----------
    head : FittedHead
        The fitted head.
    backend : Backend
        What runs the shots, made for the new points. For pairs it has one row per new point and one
        column per training point.
    budget : int
        Shots that may be spent in all.
    stop : Settle or Never, optional
        When a point gets no more shots; see :class:`~aqka.sessions.Predicting`.
    level : float, default=0.9
        Level of the intervals.
    seed : int, default=0
        Seed of every draw.
    prior : LazyAnswers, optional
        What answers points without a shot: ``PredictionPrior().fit(…).on(X)``.
    **spend
        The fields of :class:`~aqka.runs.Spend`; ``directory`` is not that of the training run.

    Returns
    -------
    Prediction or Values
        A :class:`~aqka.Prediction` of classes, or :class:`~aqka.Values` of real targets.

    Examples
    --------
    >>> from aqka import StatevectorBackend, acquire
    >>> X = np.array([[0.1, 0.2], [0.3, 0.1], [2.8, 2.9], [3.0, 2.7]])
    >>> head = acquire(StatevectorBackend(X), [0, 0, 1, 1], 4000, design="points").fit()
    >>> found = predict(head, StatevectorBackend(X + 0.05), budget=20_000)
    >>> found.labels.tolist(), bool(found.shots.sum() < 20_000)
    ([0, 0, 1, 1], True)
    """
    backend = as_backend(backend)
    check_level(level)
    session = Predicting(head, backend.shape[0], budget, stop=stop, seed=seed, prior=prior)
    head.estimate.design.check_backend(backend, session.n_points, head)
    backend.settle_on(head.estimate.design.name)
    drive(session, backend, Spend(**spend))
    return session.result(level)
